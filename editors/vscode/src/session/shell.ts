import type { AgentOptions, ToolPolicies, Views } from "headstart";
import type { Disk } from "../files/disk.js";
import type { Settings } from "../settings.js";

/** Runs the commands of a conversation on this machine. */
export interface Shell extends Required<Pick<Defined, "runCommand" | "look">> {
  /** The folder of the workspace, with links resolved. */
  readonly root: string;
  /** Why commands cannot be confined, so that none runs without a question; `undefined` if they can. */
  readonly unconfined: string | undefined;
  /** Why there are no views, so that a command that writes stops work ahead; `undefined` if there are some. */
  readonly withoutViews: string | undefined;
  /** The disk of the folder, which has links and executable bits; `undefined` while there are no views. */
  readonly disk: Disk | undefined;
  /** The views of a new conversation. They know at each moment whether there are any. */
  viewsForConversation(): Views;
  /** Looks for the program that confines commands and makes views, and tests it. An empty name means the one on the PATH. */
  confineBy(binary: string): Promise<void>;
  /** Ends all commands that still run. */
  dispose(): void;
}

type Defined = { [Name in keyof AgentOptions]-?: NonNullable<AgentOptions[Name]> };

export interface ShellOptions {
  /** The workspace folder of the conversation, and all workspace folders: absolute paths. */
  root: string;
  folders: string[];
  /** The program `headstart` as the user's own settings name it; empty for the one on the PATH. */
  binary: string;
  /** The documents of the folder with unsaved changes. */
  unsaved: () => string[];
  /** The text of a document of the folder that is open. */
  textOf: (path: string) => string | undefined;
}

/** How a host opens a shell. If something is missing, the answer completes the sentence "there is no shell here: ". */
export type OpenShell = (options: ShellOptions) => Promise<Shell | { missing: string }>;

/** Makes each command ask the user, and none run ahead, if nothing confines commands. */
export function withShell<Of extends Pick<Settings, "tools">>(settings: Of, shell: Shell | undefined): Of {
  if (shell?.unconfined === undefined) return settings;
  const { user, project } = settings.tools;
  const stricter: ToolPolicies = { ...project, shell: project.shell === "exclude" ? "exclude" : "ask" };
  return { ...settings, tools: { user, project: stricter } };
}

/** What the user is told about commands before the first prompt. */
export function aboutCommands(shell: Shell | { missing: string } | undefined): string {
  if (shell === undefined) return "";
  if ("missing" in shell) {
    return `There is no shell here: ${shell.missing}. Tests and builds are not run, nor run ahead. The program headstart does that in a terminal.`;
  }
  if (shell.unconfined !== undefined) {
    return `Each command asks you before it runs, and none runs ahead, for nothing confines them here: ${shell.unconfined}.`;
  }
  const reading = "Commands that only read run by themselves, also ahead, confined by the program headstart.";
  if (shell.withoutViews !== undefined) {
    return `${reading} Every other command asks you, and none of those runs ahead, for there is no view here to run it in: ${shell.withoutViews}.`;
  }
  return `${reading} Every other command asks you. Ahead it runs in a view, a copy of the project that nothing else sees, and what it changes there is staged.`;
}
