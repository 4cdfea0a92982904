import { type ChangeSummary, type Conflict, type ItemRow, type ToolCall, visible } from "headstart";

/** The result of a call. */
export type CallResult = { output: string } | { error: string };

/** One line of the conversation as it is shown. */
export type Entry =
  | { kind: "user"; text: string }
  /** `key` is that of the agent; it is absent after a reload. */
  | { kind: "model"; key?: number; text: string; ahead: boolean }
  | { kind: "call"; key?: number; call: ToolCall; result?: CallResult; rows?: ItemRow[]; ahead: boolean }
  /** Of the work, `savedMs` came before the user took it and `restMs` after. */
  | { kind: "applied"; changes: ChangeSummary[]; merged: string[]; tookMs: number; savedMs: number; restMs: number }
  /** Work that was not applied because of conflicts; its prompt ran again. */
  | { kind: "conflict"; conflicts: Conflict[] }
  /** A prompt that failed, perhaps after a part of its work; it can be sent again. */
  | { kind: "failed"; prompt: string; text: string }
  | { kind: "note"; text: string; tone: "plain" | "bad" };

/** A call in a few words, for its line. */
export function title({ name, args }: ToolCall): string {
  const told = args["command"] ?? args["file_path"] ?? args["pattern"] ?? args["query"] ?? args["path"] ?? "";
  return `${name} ${visible(String(told).replace(/\s+/g, " "))}`.trim();
}

/** The result of a call in a few words, for its line. */
export function outcome(call: ToolCall, result: CallResult, ahead: boolean): string {
  if ("error" in result) return result.error.split("\n")[0] ?? "";
  const lines = result.output.trim() === "" ? 0 : result.output.trim().split("\n").length;
  if (call.name === "shell") return /\[exit code \d+\]/.exec(result.output)?.[0].slice(1, -1) ?? `${lines} lines`;
  if (["edit", "multi_edit", "write_file", "create_file"].includes(call.name)) return ahead ? "staged" : "written";
  return lines === 1 ? "1 line" : `${lines} lines`;
}
