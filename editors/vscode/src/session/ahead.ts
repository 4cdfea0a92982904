import type { ChangeSummary, View } from "headstart";
import type { AheadCard, FileLine } from "../view/protocol.js";
import { callItem, counted, subjectOf } from "./items.js";

type Work = NonNullable<View["ahead"]>;

/** The work behind the suggestion on screen. */
export interface AheadWork {
  id: string;
  files: FileLine[];
  card: AheadCard;
}

const WORDS: Record<Work["state"], string> = { running: "Working ahead", ready: "Ready", waits: "Waits for your consent", stopped: "Stopped early" };

/** `hasViews` says whether commands that write run ahead. */
export function aheadWork({ id, state, calls, staged, git, failures = [], ending, pendingCall }: Work, hasViews: boolean): AheadWork {
  const done = calls.filter(({ state }) => state === "done" || state === "errored").length;
  const files = fileLines(staged, id);
  const facts = [
    ...(done === 0 ? [] : [counted(done, "call")]),
    ...(files.length === 0 ? [] : [`${counted(files.length, "file")} staged`]),
    ...(git === undefined ? [] : [git]),
  ].join(", ");
  const lines = calls.map((call, index) => ({ ...callItem(call), key: `${id}-${index}` }));
  const waitsFor = ending?.status === "boundary" && pendingCall ? `${pendingCall.name} ${subjectOf(pendingCall)}: ${ending.verdict.detail}` : undefined;
  const hasFailed = state === "ready" && 0 < failures.length;
  const word = hasFailed ? `${failures.length} failed` : WORDS[state];
  const card = { state: hasFailed ? ("stopped" as const) : state, headline: facts === "" ? word : `${word}: ${facts}`, calls: lines, files, ...(waitsFor !== undefined && { waitsFor }), ...(hasFailed && { failed: true }), ...(!hasViews && { untested: true }) };
  return { id, files, card };
}

export function fileLines(changes: ChangeSummary[], staged: string, merged: string[] = [], undone: string[] = []): FileLine[] {
  return changes.map(({ path, type, from, added, removed }) => ({
    path,
    ...(from !== undefined && { from }),
    change: type,
    added,
    removed,
    staged,
    ...(merged.includes(path) && { merged: true }),
    ...(undone.includes(path) && { undone: true }),
  }));
}
