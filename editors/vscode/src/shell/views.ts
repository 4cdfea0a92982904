// Views for commands of work ahead. The native program makes them, and what a command changed in one is staged.
import type { Overlay, ViewOutput, ViewRequest, Views } from "headstart";
import type { Disk } from "../files/disk.js";
import { WorkspaceDisk } from "./disk.js";
import { type ViewChange, stage } from "./stage.js";
import { ViewProcess, type ViewProcessOptions } from "./view-process.js";

/** How long the answer to a command may come after its time is up. */
const GRACE_MS = 30_000;
/** How many of the last commands are known with the documents that they saw. */
const MOST_SEEN = 200;

/** The answer of the program to a command. */
interface Ran extends ViewOutput {
  staged: { changes: ViewChange[] };
  beganMs: number;
  timeUs: number;
}

/** What views need to know of the editor's documents. */
export interface Documents {
  /** The documents of the folder with unsaved changes. */
  unsaved: () => string[];
  /** The text of a document that is open. */
  textOf: (path: string) => string | undefined;
}

/** The views of a workspace folder. */
export class WorkspaceViews {
  /** Why there are no views; `undefined` if there are. */
  missing: string | undefined = "they were not tried yet";
  readonly #documents: Documents;
  #options: ViewProcessOptions | undefined;
  #process: Promise<ViewProcess> | undefined;
  #disk: WorkspaceDisk | undefined;
  #tier: Views["tier"];
  #conversations = 0;
  /** What ends the command that runs in a view. */
  readonly #stops = new Map<string, (why: Error) => void>();
  /** By the moments at which commands began, the texts of the unsaved documents that they saw. */
  readonly #seen = new Map<number, Map<string, string | undefined>>();

  constructor(documents: Documents) {
    this.#documents = documents;
  }

  /** Has this program make the views from now on, or none without a program. */
  async makeBy(options: ViewProcessOptions | { missing: string }): Promise<void> {
    this.dispose();
    if ("missing" in options) return void (this.missing = options.missing);
    this.#options = options;
    this.#disk = new WorkspaceDisk(options.root, () => this.#running());
    try {
      await this.#running();
    } catch {
      // The reason is in `missing`.
    }
  }

  /** The disk of the folder, to which the program writes. There is none without views. */
  get disk(): Disk | undefined {
    return this.missing === undefined ? this.#disk : undefined;
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
      changedSince: (unixMs) => this.#changedSince(unixMs),
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
    const texts = new Map(this.#documents.unsaved().map((path) => [path, this.#documents.textOf(path)]));
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
      this.#remember(ran.beganMs, texts);
      const changedMeanwhile = [...(ran.changedMeanwhile ?? []), ...(await stage(changed, changes))];
      return { ...ran, changedMeanwhile, timeMs: timeUs / 1_000 };
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

  /** Notes the documents that a command has seen. */
  #remember(beganMs: number, texts: Map<string, string | undefined>): void {
    // Of two commands in the same view at the same moment the first one counts, because more may have changed since.
    if (!this.#seen.has(beganMs)) this.#seen.set(beganMs, texts);
    const [oldest] = this.#seen.keys();
    if (oldest !== undefined && MOST_SEEN < this.#seen.size) this.#seen.delete(oldest);
  }

  /**
   * The files that changed since a command began: those on disk, and documents that have another text than the one that
   * it saw. A document that was saved as it was then has not changed.
   */
  async #changedSince(beganMs: number): Promise<string[]> {
    const seen = this.#seen.get(beganMs) ?? new Map<string, string>();
    const { unsaved, textOf } = this.#documents;
    const process = await this.#running();
    const { paths } = (await process.call({ type: "changedSince", sinceMs: beganMs } as { type: string })) as unknown as { paths: unknown[] };
    const onDisk = paths.filter((path) => typeof path === "string");
    const changed = new Set([...onDisk, ...unsaved(), ...seen.keys()].filter((path) => !seen.has(path) || seen.get(path) !== textOf(path)));
    return [...changed].sort();
  }

  /**
   * The changes with the documents that are not saved, because work ahead sees them in the editor. `seen` shows the
   * workspace with these changes.
   */
  async #withUnsaved(below: ChangesOnly, seen: Overlay): Promise<ChangesOnly> {
    const paths = this.#documents.unsaved().filter((path) => !below.changes.some((change) => change.path === path));
    const shown = await Promise.all(paths.map(async (path) => {
      const content = Buffer.from(await seen.read(path)).toString("base64");
      const { executable = false } = (await seen.metadata(path)) ?? {};
      return { path, base: null, kind: { type: "write", content: { base64: content }, executable } };
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
