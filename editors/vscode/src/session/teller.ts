import type { Finished, RunEvent, Status, ToolCall } from "headstart";
import type { Item, ItemAction } from "../view/protocol.js";

type CallItem = Item & { kind: "call" };

let keys = 0;

/** A key that no other item of this window has. */
export function newKey(): string {
  keys += 1;
  return `item-${keys}`;
}

/** Turns what a run tells into the lines of a conversation. */
export class Teller {
  readonly items: Item[] = [];
  readonly #calls = new Map<string, CallItem>();
  /** Hears of each item that is new or has changed. */
  grew: (item: Item) => void;

  constructor(grew: (item: Item) => void) {
    this.grew = grew;
  }

  get calls(): CallItem[] {
    return [...this.#calls.values()];
  }

  tell(event: RunEvent): void {
    switch (event.type) {
      case "text":
        return this.#text(event.text);
      case "toolCall":
        return this.#call(event.call);
      case "toolResult": {
        const item = this.#calls.get(event.result.id);
        if (item === undefined) return;
        const failed = "error" in event.result;
        item.state = failed ? "failed" : "done";
        if (failed) item.detail = firstLine(String((event.result as { error: string }).error));
        this.grew(item);
      }
    }
  }

  /** No result comes for what is still open. */
  ended(status: Status, pending?: ToolCall): void {
    for (const [id, item] of this.#calls) {
      if (item.state !== "running") continue;
      item.state = id === pending?.id ? "waits" : "failed";
      if (item.state === "failed") item.detail = status === "aborted" ? "stopped" : "did not run";
      this.grew(item);
    }
  }

  /** A call waits for its user's word, or no longer does. */
  waits(id: string, waits: boolean): void {
    const item = this.#calls.get(id);
    if (item === undefined) return;
    item.state = waits ? "waits" : "running";
    this.grew(item);
  }

  #text(text: string): void {
    let last = this.items.at(-1);
    if (last?.kind !== "model") {
      if (text.trim() === "") return;
      last = { key: newKey(), kind: "model", text: "" };
      this.items.push(last);
    }
    last.text += text;
    this.grew(last);
  }

  #call(call: ToolCall): void {
    // The call at which the work ahead stopped is told once more by the turn that goes on with it.
    const known = this.#calls.get(call.id);
    if (known !== undefined) {
      known.state = "running";
      return this.grew(known);
    }
    const item: CallItem = { key: newKey(), kind: "call", tool: call.name, subject: subjectOf(call), state: "running" };
    this.#calls.set(call.id, item);
    this.items.push(item);
    this.grew(item);
  }
}

/** What a call is about, in one line. */
export function subjectOf(call: { name: string; args: Record<string, unknown> }): string {
  const { file_path, path, pattern, query, command } = call.args;
  const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
  const where = text(file_path) ?? text(path);
  const what = text(pattern) ?? text(query) ?? text(command);
  if (what !== undefined) return where === undefined ? firstLine(what) : `${firstLine(what)} in ${where}`;
  return where ?? (Object.keys(call.args).length === 0 ? "" : firstLine(JSON.stringify(call.args)));
}

/** What a call would write, whole: the user is asked about it. */
export function contentOf(call: ToolCall): string | undefined {
  const { content, old_string, new_string, command } = call.args;
  if (typeof content === "string") return content;
  if (typeof new_string === "string") {
    const marked = (mark: string, text: unknown) =>
      typeof text === "string" && text !== "" ? text.replace(/\n$/, "").split("\n").map((line) => `${mark} ${line}`) : [];
    return [...marked("-", old_string), ...marked("+", new_string)].join("\n");
  }
  return typeof command === "string" ? command : JSON.stringify(call.args, null, 2);
}

export function note(tone: "info" | "warning" | "error", text: string, actions?: ItemAction[]): Item {
  return { key: newKey(), kind: "note", tone, text, ...(actions && { actions }) };
}

/** How a run ended, if that is worth a line. */
export function endingNote(ending: Finished["ending"], prompt: string): Item | undefined {
  switch (ending.status) {
    case "completed":
      return undefined;
    case "boundary":
      return note("warning", `Stopped: ${ending.verdict.detail}.`);
    case "exhausted":
      return note("warning", `Stopped at the limit: ${ending.limit}.`);
    case "failed":
      return note("error", ending.error, [
        { title: "Try again", action: "submit", text: prompt },
        ...(/\bkey\b/.test(ending.error) ? [{ title: "Set API key", action: "command", command: "headstart.setApiKey" } as const] : []),
      ]);
    case "aborted":
      return note("info", "Stopped.");
  }
}

function firstLine(text: string): string {
  const line = text.split("\n", 1)[0] ?? "";
  return line.length < text.length || 160 < line.length ? `${line.slice(0, 160)}…` : line;
}

export function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
