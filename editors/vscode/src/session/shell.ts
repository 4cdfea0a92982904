import type { AgentOptions, ToolPolicies } from "headstart";
import type { Settings } from "../settings.js";

/** Runs the commands of a conversation on this machine. */
export interface Shell extends Required<Pick<Defined, "runCommand" | "look">> {
  /** The folder of the workspace, without links. */
  readonly root: string;
  /** Why no command runs that nobody was asked about, where that is so. */
  readonly unconfined: string | undefined;
  /** Looks for the program that confines, and has it run something. Empty: the one on the PATH. */
  confineBy(binary: string): Promise<void>;
  /** Ends what still runs. */
  dispose(): void;
}

type Defined = { [Name in keyof AgentOptions]-?: NonNullable<AgentOptions[Name]> };

export interface ShellOptions {
  /** The folder of the workspace in which the conversation works, and all of them: absolute paths. */
  root: string;
  folders: string[];
  /** The program `headstart`, as its user's own settings name it; empty: the one on the PATH. */
  binary: string;
  /** Documents of the folder that are not saved. */
  unsaved: () => string[];
}

/** How a host opens one; what it has not is said in words behind "there is no shell here: ". */
export type OpenShell = (options: ShellOptions) => Promise<Shell | { missing: string }>;

/** Where nothing confines a command, each asks its user, and none runs ahead. */
export function withShell<Of extends Pick<Settings, "tools">>(settings: Of, shell: Shell | undefined): Of {
  if (shell?.unconfined === undefined) return settings;
  const { user, project } = settings.tools;
  const stricter: ToolPolicies = { ...project, shell: project.shell === "exclude" ? "exclude" : "ask" };
  return { ...settings, tools: { user, project: stricter } };
}

/** What its user is told of commands, before the first prompt. */
export function aboutCommands(shell: Shell | { missing: string } | undefined): string {
  if (shell === undefined) return "";
  if ("missing" in shell) {
    return `There is no shell here: ${shell.missing}. Tests and builds are not run, nor run ahead. The program headstart does that in a terminal.`;
  }
  if (shell.unconfined !== undefined) {
    return `Each command asks you before it runs, and none runs ahead, for nothing confines them here: ${shell.unconfined}.`;
  }
  return "Commands that only read run by themselves, also ahead, confined by the program headstart. Every other command asks you, and none of those runs ahead.";
}
