// The process of the native program that makes views of the workspace: `headstart shadow serve --here`. Messages are
// lines of JSON, as docs/formats.md describes them.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { Views } from "headstart";

/** The version of the messages. */
const VERSION = 1;
/** How long the program may take to say whether there are views. The first time it makes one to find out. */
const GREETING_MS = 15_000;
/** The program ends by itself if it hears nothing for two minutes. */
const ALIVE_EVERY_MS = 15_000;
/** How long the program has to end its views, before it is ended by force. */
const ENDING_MS = 5_000;
/** The most bytes of a message. */
const MOST_BYTES = 16 * 1024 * 1024;

export interface ViewProcessOptions {
  program: string;
  root: string;
  environment: Record<string, string>;
}

/** A message of the program. */
interface Message {
  type: string;
  id?: number;
}

/** A process that makes views. When it ends, all its views end with it. */
export class ViewProcess {
  readonly tier: NonNullable<Views["tier"]>;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting = new Map<number, { resolve: (message: Message) => void; reject: (error: Error) => void }>();
  #ended: Error | undefined;
  #last = 0;

  private constructor(child: ChildProcessWithoutNullStreams, tier: NonNullable<Views["tier"]>, lines: Lines) {
    this.#child = child;
    this.tier = tier;
    lines.onLine = (line) => this.#take(line);
    const alive = setInterval(() => this.#send({ type: "alive" }), ALIVE_EVERY_MS);
    child.on("close", () => {
      clearInterval(alive);
      this.#fail("the program that makes views has ended");
    });
  }

  /** Starts the process. Rejects with the reason if there are no views. */
  static async start({ program, root, environment }: ViewProcessOptions): Promise<ViewProcess> {
    const child = spawn(program, ["shadow", "serve", "--here", root], { cwd: "/", env: environment, detached: true, stdio: "pipe" });
    // A pipe that the program has closed is noticed by its end.
    child.stdin.on("error", () => {});
    const lines = new Lines();
    let said = "";
    child.stderr.on("data", (bytes: Buffer) => (said = (said + bytes.toString()).slice(0, 1_000)));
    try {
      const greeting = await new Promise<string>((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`${program} does not answer`)), GREETING_MS);
        const over = (settle: () => void) => (clearTimeout(late), settle());
        child.on("error", (error) => over(() => reject(error)));
        child.on("close", () => over(() => reject(new Error(said.trim().split("\n")[0] || `${program} has ended`))));
        lines.onLine = (line) => over(() => resolve(line));
        child.stdout.on("data", (bytes: Buffer) => {
          if (!lines.push(bytes)) child.kill("SIGKILL");
        });
        child.stdin.write(`${JSON.stringify({ type: "hello", version: VERSION, program: "headstart for VS Code", client: "editor", workspace: root })}\n`);
      });
      return new ViewProcess(child, tierOf(greeting), lines);
    } catch (error) {
      child.kill("SIGKILL");
      throw error;
    }
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** Sends a call and waits for its answer. A `failed` answer, and the end of the process, are errors. */
  call(message: { type: string }): Promise<Message> {
    const id = (this.#last += 1);
    return new Promise((resolve, reject) => {
      if (this.#ended) return reject(this.#ended);
      this.#waiting.set(id, { resolve, reject });
      const line = JSON.stringify({ ...message, id });
      if (MOST_BYTES < Buffer.byteLength(line)) return reject(new Error("what is staged is too large for a view"));
      this.#child.stdin.write(`${line}\n`);
    });
  }

  /** Says that a view is not needed any more. */
  end(view: string): void {
    this.#send({ type: "end", view });
  }

  /** Ends the process and all its views. */
  dispose(): void {
    this.#fail("the window is closed");
    this.#child.stdin.end();
    const late = setTimeout(() => this.#child.kill("SIGKILL"), ENDING_MS);
    this.#child.on("close", () => clearTimeout(late));
  }

  /** Ends the process at once, because it does not do what it should. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }

  #send(message: object): void {
    if (!this.#ended) this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  #take(line: string): void {
    let message: Message;
    try {
      message = JSON.parse(line) as Message;
    } catch {
      return this.kill();
    }
    const call = message.id === undefined ? undefined : this.#waiting.get(message.id);
    if (message.id === undefined || call === undefined) return;
    this.#waiting.delete(message.id);
    if (message.type === "failed") call.reject(new Error((message as Message & { why: string }).why));
    else call.resolve(message);
  }

  #fail(why: string): void {
    this.#ended ??= new Error(why);
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
  }
}

function tierOf(greeting: string): NonNullable<Views["tier"]> {
  const { type, version, tier, notes } = JSON.parse(greeting) as { type?: string; version?: number; tier?: string | null; notes?: string[] };
  if (type !== "hello" || version !== VERSION) throw new Error("the program speaks another version of the exchange");
  if (tier === "kernel" || tier === "clone" || tier === "copy") return tier;
  throw new Error(notes?.[0] ?? "it says no reason");
}

/** Splits a stream into lines. */
class Lines {
  onLine: (line: string) => void = () => {};
  #parts: Buffer[] = [];
  #length = 0;

  /** Returns whether all is well; a line without an end is not. */
  push(bytes: Buffer): boolean {
    let from = 0;
    for (let end = bytes.indexOf(10); 0 <= end; end = bytes.indexOf(10, from)) {
      this.#parts.push(bytes.subarray(from, end));
      const line = Buffer.concat(this.#parts).toString();
      [this.#parts, this.#length, from] = [[], 0, end + 1];
      this.onLine(line);
    }
    this.#parts.push(bytes.subarray(from));
    this.#length += bytes.length - from;
    return this.#length <= MOST_BYTES;
  }
}
