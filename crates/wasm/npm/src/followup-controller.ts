import { call, toJson } from "./call.js";
import { DisposedError } from "./errors.js";
import { type Fields, plainOptions, required } from "./options.js";
import { raw } from "./raw.js";
import type { ControllerConfig, ControllerEvent, Effect } from "./types.js";

const CONFIG: Fields<ControllerConfig> = {
  enabled: "boolean", showDelayMs: "whole", acceptLockMs: "whole", tabDelayMs: "whole", slipMs: "whole",
};

/**
 * Decides when a suggestion shows and what a key does to it. It has no timer of its own: it is told events, and answers with what to
 * do.
 *
 * ```js
 * const controller = new FollowupController();
 * function tell(event) {
 *   for (const effect of controller.handle(event)) {
 *     if (effect.type === "show") ghost.textContent = effect.rest ?? effect.suggestion;
 *     if (effect.type === "hide") ghost.textContent = "";
 *     if (effect.type === "insert") input.value = effect.text;
 *     if (effect.type === "wakeAt") setTimeout(() => tell({ type: "wake" }), effect.at - Date.now());
 *   }
 * }
 * tell({ type: "suggested", request: 1, suggestion: "run the tests" });
 * ```
 *
 * No sequence of events and no time makes it fail; only an event that is not one throws an `InputError`.
 */
export class FollowupController implements Disposable {
  #raw: InstanceType<typeof raw.FollowupController> | undefined;

  constructor(config: ControllerConfig = {}) {
    this.#raw = call(() => new raw.FollowupController(toJson("config", plainOptions("config", config, CONFIG))));
  }

  /**
   * Takes an event, and says what to do, in order.
   *
   * @param now Milliseconds on one clock of your choice; `wakeAt` is on the same clock.
   */
  handle(event: ControllerEvent, now: number = Date.now()): Effect[] {
    return JSON.parse(call(() => this.#get().handle(toJson("event", required("event", event, "object")), required("now", now, "number")))) as Effect[];
  }

  /** The suggestion on screen. */
  get visible(): string | undefined {
    return call(() => this.#get().visible);
  }

  /** Frees its memory. */
  dispose(): void {
    this.#raw?.free();
    this.#raw = undefined;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #get() {
    if (this.#raw === undefined) throw new DisposedError("disposed", "the controller was disposed of");
    return this.#raw;
  }
}
