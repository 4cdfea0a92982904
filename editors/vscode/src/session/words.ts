import type { Acceptance, Conflict, ToolCall, Verdict } from "headstart";
import type { Question } from "../view/protocol.js";
import type { Ahead } from "./ahead.js";
import { contentOf, counted, subjectOf } from "./teller.js";

/** Whether a call may run. */
export function callQuestion(call: ToolCall, verdict: Verdict): Question {
  const content = contentOf(call);
  return { id: call.id, tool: call.name, subject: subjectOf(call), reason: verdict.detail, ...(content !== undefined && { content }) };
}

/** Whether what ran ahead may be written: all of it, with its diff. */
export function changesQuestion(work: Ahead, { changes, pendingCall }: Acceptance & { type: "asksFirst" }): Question {
  const sum = (lines: number[]) => lines.reduce((before, more) => before + more, 0);
  const added = sum(changes.map((change) => change.added));
  const removed = sum(changes.map((change) => change.removed));
  const then = pendingCall === undefined ? "" : ` After that it asks: ${pendingCall.name} ${subjectOf(pendingCall)}.`;
  return {
    id: `${work.id}-changes`,
    title: "Write what ran ahead?",
    tool: "",
    subject: `${counted(changes.length, "file")} +${added} −${removed}`,
    reason: `The mode asks before edits.${then}`,
    content: work.changes().diff(),
  };
}

export function conflictLine({ path, kind }: Conflict): string {
  switch (kind) {
    case "modified":
      return `You edited ${path} in the same place meanwhile; your edit is kept.`;
    case "deleted":
      return `${path} is gone meanwhile.`;
    case "created":
      return `${path} is there already.`;
    case "replaced":
      return `${path} is something else now.`;
    case "staleRead":
      return `${path}, which the work read, has changed meanwhile.`;
    case "ref":
      return `${path} has commits that the work does not rest on.`;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
