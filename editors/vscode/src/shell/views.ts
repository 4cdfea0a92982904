// Views for commands of work ahead. The native program makes them, and what a command changed in one is staged.
import type { Overlay, ViewOutput, ViewRequest, Views } from "headstart";
import { type ViewChange, stage } from "./stage.js";
import { ViewProcess, type ViewProcessOptions } from "./view-process.js";

/** How long the answer to a command may come after its time is up. */
const GRACE_MS = 30_000;

/** The answer of the program to a command. */
interface Ran extends ViewOutput {
  staged: { changes: ViewChange[] };
  timeUs: number;
}

/** The views of a workspace folder. */
export class WorkspaceViews {
  /** Why there are no views; `undefined` if there are. */
  missing: string | undefined = "they were not tried yet";
  readonly #unsaved: () => string[];
  #options: ViewProcessOptions | undefined;
  #process: Promise<ViewProcess> | undefined;
  #tier: Views["tier"];
  #conversations = 0;
  /** What ends the command that runs in a view. */
  readonly #stops = new Map<string, (why: Error) => void>();

  /** `unsaved` gives the documents of the folder with unsaved changes. */
  constructor(unsaved: () => string[]) {
    this.#unsaved = unsaved;
  }

  /** Has this program make the views from now on, or none without a program. */
  async makeBy(options: ViewProcessOptions | { missing: string }): Promise<void> {
    this.dispose();
    if ("missing" in options) return void (this.missing = options.missing);
    this.#options = options;
    try {
      await this.#running();
    } catch {
      // The reason is in `missing`.
    }
  }

  /** The views of a conversation. */
  forConversation(): Views {
    const tier = () => this.#tier;
    // Conversations name their views alike, and one may begin while another one ends.
    const prefix = `${(this.#conversations += 1)}-`;
    return {
      get tier() {
        return tier();
      },
      run: (request, changes, signal) => this.#run({ ...request, view: prefix + request.view }, changes, signal),
      end: (view) => this.#end(prefix + view),
    };
  }

  /** Ends all views. */
  dispose(): void {
    void this.#process?.then((process) => process.dispose()).catch(() => {});
    [this.#process, this.#options, this.#tier] = [undefined, undefined, undefined];
    this.missing = "the window is closed";
  }

  #end(view: string): void {
    this.#stops.get(view)?.(new Error("the view has ended"));
    void this.#process?.then((process) => process.end(view)).catch(() => {});
  }

  async #run(request: ViewRequest, changes: Overlay, signal: AbortSignal): Promise<ViewOutput> {
    signal.throwIfAborted();
    const process = await this.#running();
    const { below, staged, secrets, timeLimitMs, outputLimit, ...fields } = request;
    const call = process.call({
      type: "runLocal",
      ...fields,
      below: await this.#withUnsaved(below.toJSON() as ChangesOnly, changes),
      staged: staged.toJSON(),
      secretsOpen: secrets === "open",
      timeMs: timeLimitMs,
      outputBytes: outputLimit,
    } as { type: string });
    // The program ends a command whose time is up. If it does not, it is ended itself, and every view with it.
    const late = setTimeout(() => process.kill(), timeLimitMs + GRACE_MS);
    const stop = () => this.#stops.get(request.view)?.(signal.reason as Error);
    signal.addEventListener("abort", stop);
    try {
      const stopped = new Promise<never>((_, reject) => this.#stops.set(request.view, reject));
      const { staged: { changes: changed }, timeUs, ...ran } = (await Promise.race([call, stopped])) as unknown as Ran;
      const { changedMeanwhile, notes } = await stage(changed, changes);
      return {
        ...ran,
        changedMeanwhile: [...(ran.changedMeanwhile ?? []), ...changedMeanwhile],
        notes: [...(ran.notes ?? []), ...notes],
        timeMs: timeUs / 1_000,
      };
    } catch (error) {
      process.end(request.view);
      throw error;
    } finally {
      clearTimeout(late);
      this.#stops.delete(request.view);
      signal.removeEventListener("abort", stop);
      call.catch(() => {});
    }
  }

  /**
   * The changes with the documents that are not saved, because work ahead sees them in the editor. `seen` shows the
   * workspace with these changes.
   */
  async #withUnsaved(below: ChangesOnly, seen: Overlay): Promise<ChangesOnly> {
    const paths = this.#unsaved().filter((path) => !below.changes.some((change) => change.path === path));
    const shown = await Promise.all(paths.map(async (path) => {
      const content = Buffer.from(await seen.read(path)).toString("base64");
      return { path, base: null, kind: { type: "write", content: { base64: content }, executable: false } };
    }));
    return { changes: [...below.changes, ...shown], reads: [] };
  }

  /** The process. If it has ended, it is started once more. */
  #running(): Promise<ViewProcess> {
    const options = this.#options;
    if (options === undefined) return Promise.reject(new Error(this.missing));
    const known = this.#process;
    const start = () => this.#start(options);
    this.#process = known === undefined ? start() : known.then((process) => (process.hasEnded ? start() : process), start);
    return this.#process;
  }

  async #start(options: ViewProcessOptions): Promise<ViewProcess> {
    const started = await ViewProcess.start(options).catch((error: unknown) => String(error instanceof Error ? error.message : error));
    if (this.#options !== options) {
      if (typeof started !== "string") started.dispose();
      throw new Error("another program makes views by now");
    }
    if (typeof started === "string") {
      [this.#tier, this.missing] = [undefined, started];
      throw new Error(started);
    }
    [this.#tier, this.missing] = [started.tier, undefined];
    return started;
  }
}

interface ChangesOnly {
  changes: { path: unknown }[];
  reads: never[];
}
