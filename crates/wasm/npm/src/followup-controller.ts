import { InputError, mistyped, shown } from "./errors.js";
import { wellFormed } from "./filter.js";
import { filter, inWords } from "./followup/filter.js";
import { DEFAULTS, type Event, Machine } from "./followup/machine.js";
import { type Fields, optional, plainOptions, required } from "./options.js";
import type { AcceptMethod, ControllerConfig, ControllerEvent, Effect } from "./types-controller.js";

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
export class FollowupController {
  readonly #machine: Machine;

  constructor(config: ControllerConfig = {}) {
    const given = Object.entries(plainOptions("config", config, CONFIG)).filter(([, value]) => value !== undefined);
    this.#machine = new Machine({ ...DEFAULTS, ...Object.fromEntries(given) });
  }

  /**
   * Takes an event, and says what to do, in order.
   *
   * @param now Milliseconds on one clock of your choice; `wakeAt` is on the same clock.
   */
  handle(event: ControllerEvent, now: number = Date.now()): Effect[] {
    const read = readEvent(required("event", event, "object"));
    if (!(0 <= required("now", now, "number") && now <= Number.MAX_SAFE_INTEGER)) throw mistyped("now", "milliseconds, 0 or more", now);
    return this.#machine.handle(read, Math.trunc(now));
  }

  /** The suggestion on screen. */
  get visible(): string | undefined {
    return this.#machine.visible;
  }
}

function readEvent(event: ControllerEvent): Event {
  const { type } = event;
  switch (type) {
    case "requested":
      return { type, request: field("request", event.request, "id") };
    case "suggested": {
      const best = optional("suggestion", event.suggestion, "string");
      const others: readonly string[] = event.others ?? [];
      if (!Array.isArray(others)) throw mistyped("others", "an array of strings", others);
      const all = others.map((text: string, at) => suggestion(`others[${at}]`, required(`others[${at}]`, text, "string")));
      return { type, request: field("request", event.request, "id"), suggestions: best === undefined ? all : [suggestion("suggestion", best), ...all] };
    }
    case "suppressed":
      return { type, request: field("request", event.request, "id"), reason: wellFormed(field("reason", event.reason, "string")) };
    case "enabled":
      return { type, enabled: field("enabled", event.enabled, "boolean") };
    case "accept": {
      const fallbackText = optional("fallbackText", event.fallbackText, "string");
      const skipInsert = optional("skipInsert", event.skipInsert, "boolean") ?? false;
      return { type, method: acceptMethod(field("method", event.method, "string")), fallbackText: fallbackText && wellFormed(fallbackText), skipInsert };
    }
    case "keystroke":
      return { type, typed: field("typed", event.typed, "boolean") };
    case "edited":
      return { type, text: wellFormed(field("text", event.text, "string")) };
    case "dismiss": case "clear": case "nextCandidate": case "previousCandidate": case "wake": case "cleanup":
      return { type };
    default:
      throw new InputError(`type: there is no event ${shown(field("type", type, "string"))}`, "type");
  }
}

/** A field that has to be there; null counts as missing. */
function field<T>(name: string, value: T, kind: Parameters<typeof required>[2]): T {
  return required(name, value ?? (undefined as T), kind);
}

/** A text that has to pass the filter. */
function suggestion(name: string, text: string): string {
  const found = filter(wellFormed(text));
  if ("suggestion" in found) return found.suggestion;
  throw new InputError(`${name}: the filter refuses this text (${found.reason}): ${inWords(found.reason)}`, name);
}

function acceptMethod(method: AcceptMethod): AcceptMethod {
  if (["tab", "enter", "right"].includes(method)) return method;
  throw mistyped("method", '"tab", "enter" or "right"', method);
}
