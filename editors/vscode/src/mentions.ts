// The mentions of a prompt that only VS Code can resolve. The agent leaves out what belongs to files that rules close.
import * as vscode from "vscode";
import type { AgentOptions, MentionPart } from "headstart";
import { pathIn } from "./files/path-in.js";
import { diffOf } from "./repository.js";

/** How many problems are given to the model at most. */
const MOST_PROBLEMS = 200;

const WORDS: Readonly<Record<vscode.DiagnosticSeverity, string>> = {
  [vscode.DiagnosticSeverity.Error]: "error",
  [vscode.DiagnosticSeverity.Warning]: "warning",
  [vscode.DiagnosticSeverity.Information]: "information",
  [vscode.DiagnosticSeverity.Hint]: "hint",
};

/** The resolvers for a conversation in this folder. */
export function mentionsOf(root: vscode.Uri): NonNullable<AgentOptions["mentions"]> {
  return {
    open: () => {
      const { document, path } = edited(root);
      return [{ path, text: `${path}:\n${document.getText()}` }];
    },
    selection: () => {
      const { document, path, selection } = edited(root);
      if (selection.isEmpty) throw new Error("nothing is selected in the editor");
      return [{ path, text: `${path}, from line ${selection.start.line + 1}:\n${document.getText(selection)}` }];
    },
    problems: () => problems(root),
    diff: () => diffOf(root),
  };
}

/** The editor that was used last. Throws if there is none, or if its file is not in the folder. */
function edited(root: vscode.Uri): { document: vscode.TextDocument; path: string; selection: vscode.Selection } {
  const editor = vscode.window.activeTextEditor ?? vscode.window.visibleTextEditors[0];
  if (editor === undefined) throw new Error("no editor is open");
  const { document, selection } = editor;
  const path = pathIn(root, document.uri);
  if (path === undefined) throw new Error("the file in the editor is none of this project");
  return { document, path, selection };
}

/** The problems that language extensions report, errors first. */
function problems(root: vscode.Uri): MentionPart[] {
  const all = vscode.languages.getDiagnostics().flatMap(([uri, found]) => {
    const path = pathIn(root, uri);
    return path === undefined ? [] : found.map((problem) => ({ path, problem }));
  });
  all.sort((one, other) => one.problem.severity - other.problem.severity);
  if (all.length === 0) return [{ text: "The editor complains of nothing." }];
  const parts: MentionPart[] = all.slice(0, MOST_PROBLEMS).map(({ path, problem: { message, range, severity, source } }) => {
    const { line, character } = range.start;
    return { path, text: `${path}:${line + 1}:${character + 1}: ${WORDS[severity]}: ${message}${source === undefined ? "" : ` (${source})`}` };
  });
  return MOST_PROBLEMS < all.length ? [...parts, { text: `… ${all.length - MOST_PROBLEMS} more` }] : parts;
}
