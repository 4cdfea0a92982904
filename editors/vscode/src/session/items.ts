import { type Ending, type RulesTold, type ToolCall, type ViewCall, type ViewItem, itemRows, visible } from "headstart";
import type { Item, ItemAction } from "../view/protocol.js";
import { fileLines } from "./ahead.js";

type CallItem = Item & { kind: "call" };

/** How many characters of a command's output are shown at most; its end is shown. */
const MOST_OUTPUT = 4_096;
/** How many files that changed are named. */
const MOST_STALE = 5;

let keys = 0;

/** A key that no other item of this window has. */
export function newKey(): string {
  keys += 1;
  return `item-${keys}`;
}

const STATES: Record<ViewCall["state"], CallItem["state"]> = {
  generating: "running", generated: "running", calling: "running", done: "done", errored: "failed", canceled: "failed", boundary: "waits",
};

/** The line of the chat for a call. */
export function callItem(told: ViewCall): CallItem {
  const { call, state, waiting, error, printed, output } = told;
  const said = printed ?? (call.name === "shell" && typeof output === "string" ? output : "");
  // Escape sequences for a terminal's colours are removed, because they are not text.
  const text = said.replace(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, "").slice(-MOST_OUTPUT);
  const rows = itemRows(told);
  const [named, listed] = [rows.find(({ isNamed }) => isNamed), rows.filter(({ isNamed }) => !isNamed)];
  const line = named?.place?.lines?.[0];
  const detail = error !== undefined ? firstLine(error) : state === "canceled" ? "stopped" : named?.status;
  return {
    key: "",
    kind: "call",
    tool: call.name,
    subject: visible(subjectOf(call)),
    state: waiting ? "waits" : STATES[state],
    ...(line !== undefined && { line }),
    ...(detail !== undefined && { detail }),
    ...(0 < listed.length && { rows: listed }),
    ...(text !== "" && { output: text }),
  };
}

/** The item that lists what was applied. */
export function changesItem({ id, changes, merged, undone }: ViewItem & { type: "applied" }): Item & { kind: "changes" } {
  const title = 0 < merged.length ? "Applied, merged with your edits" : "Applied";
  return { key: "", kind: "changes", title, files: fileLines(changes, id, merged, undone) };
}

/** The warning that files have changed since the last command of accepted work; `undefined` if none has. */
export function staleNote(stale: string[]): Item | undefined {
  const [first] = stale;
  if (first === undefined) return undefined;
  const shown = stale.slice(0, MOST_STALE);
  const more = shown.length < stale.length ? ` and ${stale.length - shown.length} more` : "";
  const words = stale.length === 1 ? "1 file changed since the last command ran ahead, which has not seen it" : `${stale.length} files changed since the last command ran ahead, which has not seen them`;
  return note("warning", `${words}: ${shown.join(", ")}${more}.`);
}

/** The subject of a call, in one line. */
export function subjectOf(call: { name: string; args: Record<string, unknown> }): string {
  const { file_path, path, directory, pattern, query, command } = call.args;
  const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
  const where = text(file_path) ?? text(path) ?? text(directory);
  const what = text(pattern) ?? text(query) ?? text(command);
  if (what !== undefined) return where === undefined ? firstLine(what) : `${firstLine(what)} in ${where}`;
  return where ?? (Object.keys(call.args).length === 0 ? "" : firstLine(JSON.stringify(call.args)));
}

/** The arguments that a question about a built-in tool shows in a form of their own, here or in its subject. */
const SHOWN: Record<string, string[]> = {
  shell: ["command", "directory", "description"],
  run_in_background: ["command", "directory", "description"],
  write_file: ["file_path", "content"],
  create_file: ["file_path", "content"],
  edit: ["file_path", "old_string", "new_string"],
  create_rule: ["rule"],
};

/** Everything that a call would write or run. It is not shortened, because the user is asked about it. */
export function contentOf(call: ToolCall): string | undefined {
  const shown = SHOWN[call.name] ?? [];
  const rest = Object.entries(call.args).filter(([name]) => !shown.includes(name));
  const text = shown.length === 0 ? undefined : formOf(call.args);
  if (text !== undefined && rest.length === 0) return text;
  return [...(text === undefined ? [] : [text]), JSON.stringify(text === undefined ? call.args : Object.fromEntries(rest), null, 2)].join("\n");
}

function formOf({ content, rule, old_string, new_string, command }: Record<string, unknown>): string | undefined {
  if (typeof new_string === "string") {
    const marked = (mark: string, text: unknown) =>
      typeof text === "string" && text !== "" ? text.replace(/\n$/, "").split("\n").map((line) => `${mark} ${line}`) : [];
    return [...marked("-", old_string), ...marked("+", new_string)].join("\n");
  }
  return [rule, content, command].find((text) => typeof text === "string");
}

export function note(tone: "info" | "warning" | "error", text: string, actions?: ItemAction[]): Item {
  return { key: newKey(), kind: "note", tone, text, ...(actions && { actions }) };
}

/**
 * Notes about the project's rules that go to the model, and about problems with rules. A problem that was already
 * reported is left out.
 */
export function rulesNotes({ rules, gone, problems }: RulesTold, said: Set<string>): Item[] {
  const notes: Item[] = [];
  const open = rules.slice(0, 3).map(({ path }): ItemAction => ({ title: `Open ${path}`, action: "open", path }));
  if (0 < rules.length) notes.push(note("info", `The project's rules go to the model: ${rules.map(({ path }) => path).join(", ")}.`, open));
  if (0 < gone.length) notes.push(note("info", `Rules that count no more: ${gone.join(", ")}.`));
  for (const problem of problems) {
    if (!said.has(problem)) notes.push(note("warning", `Rules: ${problem}.`));
    said.add(problem);
  }
  return notes;
}

/** The note after an answer in the mode `plan`. */
export function planned(): Item {
  return note("info", "In the mode Plan nothing is written.", [{ title: "Carry out the plan", action: "command", command: "headstart.carryOut" }]);
}

/** The note about how a run ended; `undefined` if there is nothing to say. */
export function endingNote(ending: Ending, prompt: string): Item | undefined {
  switch (ending.status) {
    case "completed":
      return undefined;
    case "boundary":
      return note("warning", `Stopped: ${ending.verdict.detail}.`);
    case "exhausted":
      return note("warning", `Stopped at the limit: ${ending.limit}.`);
    case "failed":
      // The prompt was not sent, and is in the line again, so no button is needed.
      if (ending.code === "prompt") return note("warning", `Not sent: ${ending.error}.`);
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
