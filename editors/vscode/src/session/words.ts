import { type ChangeSet, type Conflict, type Tool, type ViewQuestion, visible, visibleLines } from "headstart";
import type { Settings } from "../settings.js";
import type { Choice, Question } from "../view/protocol.js";
import { contentOf, counted, subjectOf } from "./items.js";

const RUN: Choice[] = [
  { title: "Run", key: "Y", answer: "yes", primary: true },
  { title: "Decline", key: "N", answer: "no" },
  { title: "Decline, and say why", key: "D", answer: "why" },
  { title: "Stop the turn", key: "S", answer: "stop" },
];
const WRITE: Choice[] = [
  { title: "Write", key: "Y", answer: "yes", primary: true },
  { title: "Drop it", key: "N", answer: "no" },
];
const DECIDE: Choice[] = [
  { title: "Run again on the new content", key: "R", answer: "anew", primary: true },
  { title: "Keep mine, take the rest", key: "M", answer: "yours" },
  { title: "Take the work's", key: "W", answer: "work" },
  { title: "Drop it", key: "N", answer: "no" },
];

/**
 * A question to the user in words. `changes` are those of the work that was taken; `unconfined` says why nothing
 * confines commands.
 */
export function questionOf(question: ViewQuestion, changes: ChangeSet | undefined, unconfined?: string): Question {
  const { id } = question;
  switch (question.type) {
    case "call":
      return callQuestion(id, question, unconfined);
    case "changes": {
      const { pendingCall } = question;
      const sum = (lines: number[]) => lines.reduce((before, more) => before + more, 0);
      const added = sum(question.changes.map((change) => change.added));
      const removed = sum(question.changes.map((change) => change.removed));
      const then = pendingCall === undefined ? "" : ` After that it asks: ${pendingCall.name} ${visible(subjectOf(pendingCall))}.`;
      return {
        id,
        title: "Write what ran ahead?",
        tool: "",
        subject: `${counted(question.changes.length, "file")} +${added} −${removed}${question.git === undefined ? "" : `, ${question.git}`}`,
        reason: `The mode asks before edits.${then}`,
        choices: WRITE,
        ...(changes && { content: changes.diff() }),
      };
    }
    default:
      return {
        id,
        title: question.type === "commits" ? "Git was used since the work began." : "Your edits and the work do not fit.",
        tool: "",
        subject: "",
        reason: `Nothing was changed. ${question.conflicts.map(conflictLine).join(" ")}`,
        choices: question.type === "conflicts" ? DECIDE : DECIDE.filter(({ answer }) => answer === "anew" || answer === "no"),
        ...(changes && { content: changes.diff() }),
      };
  }
}

/** The question whether a call may run. `always` names what an answer for the rest of the conversation would allow. */
function callQuestion(id: string, { call, verdict, diff, always }: ViewQuestion & { type: "call" }, unconfined: string | undefined): Question {
  // Several edits are shown as a diff.
  const content = "edits" in call.args && diff !== undefined ? diff : contentOf(call);
  // "Always" is the last choice, away from the answer that has the focus, so that a slip does not allow more than was
  // asked.
  const choices = always === undefined ? RUN : [...RUN, { title: `Always: ${always.replaceAll("`", "")}`, key: "A", answer: "always" } as const];
  // If nothing confines commands, the policy that asks comes from `withShell`, so the reason is given here.
  const reason = call.name === "shell" && verdict.reason === "policy" && unconfined !== undefined ? `Nothing confines commands here: ${unconfined}.` : verdict.detail;
  const { command, description } = call.args;
  return {
    id,
    tool: call.name,
    subject: visible(subjectOf(call)),
    reason,
    choices,
    ...(content !== undefined && { content: visibleLines(content) }),
    // Nothing holds a model to the truth about its command, so these are shown as its words and nobody else's.
    ...(typeof command === "string" && typeof description === "string" && { said: visible(description) }),
  };
}

export function conflictLine({ path, kind }: Conflict): string {
  switch (kind) {
    case "modified":
      return `You edited ${path} in the same place meanwhile.`;
    case "deleted":
      return `${path} is gone meanwhile.`;
    case "created":
      return `${path} is there already.`;
    case "replaced":
      return `${path} is something else now.`;
    case "staleRead":
      return `${path}, which the work read, has changed meanwhile.`;
    case "ref":
      return refLine(path.replace(/^\.git\//, ""));
  }
}

/** A conflict in the git repository. */
function refLine(name: string): string {
  if (name === "HEAD") return "Another branch or commit is checked out than when the work began.";
  if (name === "index") return "Another git is at work on the index.";
  const [, kind, rest = name] = /^refs\/(heads|tags)\/(.*)$/.exec(name) ?? [];
  const word = kind === "heads" ? "The branch " : kind === "tags" ? "The tag " : "";
  return `${word}${rest} has moved since the work began: git was used meanwhile.`;
}

/** The settings and tools that decide what a model is offered. If this text changes, another agent is needed. */
export function offered({ rules, tools }: Pick<Settings, "rules" | "tools">, own: readonly Tool[]): string {
  const said = [tools.user, tools.project].map((table) => Object.entries(table).filter(([name, policy]) => policy === "exclude" || name === "create_rule"));
  return JSON.stringify([rules, said, ...own.map(({ name }) => name)]);
}

/** A message of the module about an option, with the name that the option has in the settings. */
export function ofSettings(message: string): string {
  return message.replace(/^toolPolicies/, "headstart.tools").replace(/^projectToolPolicies/, "headstart.tools of the workspace");
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
