import type { ChangeSummary, Conflict, RunEvent, ToolCall } from "headstart";

/** What became of a call. */
export type CallResult = { output: string } | { error: string };

/** One line of the conversation as it is shown. */
export type Entry =
  | { kind: "user"; text: string }
  | { kind: "model"; text: string; ahead: boolean }
  | { kind: "call"; call: ToolCall; result?: CallResult; ahead: boolean }
  /** `savedMs` of the work came before the user took it, `restMs` after. */
  | { kind: "applied"; changes: ChangeSummary[]; merged: string[]; tookMs: number; savedMs: number; restMs: number }
  | { kind: "conflict"; prompt: string; conflicts: Conflict[] }
  /** A prompt that came to nothing, or to a part; it can be sent again. */
  | { kind: "failed"; prompt: string; text: string }
  | { kind: "note"; text: string; tone: "plain" | "bad" };

/** Adds what a run tells to the lines. A call that is told again, as by the turn that goes on with it, is not repeated. */
export function tell(entries: Entry[], event: RunEvent, ahead: boolean): void {
  const last = entries.at(-1);
  if (event.type === "text") {
    if (last?.kind === "model" && last.ahead === ahead) last.text += event.text;
    else entries.push({ kind: "model", text: event.text, ahead });
  } else if (event.type === "toolCall") {
    if (!findCall(entries, event.call.id)) entries.push({ kind: "call", call: event.call, ahead });
  } else {
    const entry = findCall(entries, event.result.id);
    const { result } = event;
    if (entry) entry.result = "error" in result ? { error: result.error } : { output: asText(result.output) };
  }
}

function findCall(entries: readonly Entry[], id: string): Extract<Entry, { kind: "call" }> | undefined {
  for (const entry of [...entries].reverse()) {
    if (entry.kind === "user") return undefined;
    if (entry.kind === "call" && entry.call.id === id) return entry;
  }
  return undefined;
}

const asText = (output: unknown) => (typeof output === "string" ? output : JSON.stringify(output));

/** A call in a few words. */
export function title({ name, args }: ToolCall): string {
  const told = args["command"] ?? args["file_path"] ?? args["pattern"] ?? args["query"] ?? args["path"] ?? "";
  return `${name} ${String(told)}`.trim();
}

/** What came of it, in a few words. */
export function outcome(call: ToolCall, result: CallResult, ahead: boolean): string {
  if ("error" in result) return result.error.split("\n")[0] ?? "";
  const lines = result.output.trim() === "" ? 0 : result.output.trim().split("\n").length;
  if (call.name === "shell") return /\[exit code \d+\]/.exec(result.output)?.[0].slice(1, -1) ?? `${lines} lines`;
  if (call.name === "edit" || call.name === "write_file") return ahead ? "staged" : "written";
  return lines === 1 ? "1 line" : `${lines} lines`;
}
