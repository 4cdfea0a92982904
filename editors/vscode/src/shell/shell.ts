// Commands on a desktop. A command that the user agreed to runs in the workspace, as in the user's own terminal. A
// command that runs without a question is confined by the native program `headstart`, or does not run. A command of work
// ahead that writes runs in a view that this program makes.
import { realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import type { CommandOutput, CommandRequest } from "headstart";
import type { Shell, ShellOptions } from "../session/shell.js";
import { findProgram, isWithin } from "./find.js";
import { look } from "./look.js";
import { run } from "./run.js";
import { WorkspaceViews } from "./views.js";

/** Variables that keep programs from paging or asking, because no command has a terminal, whoever approved it. */
const WITHOUT_TERMINAL = { TERM: "dumb", PAGER: "cat", GIT_PAGER: "cat", GIT_TERMINAL_PROMPT: "0" };
/** Variables that belong to the editor. They are removed, because they would change what its own programs do. */
const OF_THE_EDITOR = /^(ELECTRON|VSCODE)_/;
/** The exit code of `headstart run` if it did not run the command. The next pattern finds the reason in its output. */
const NOT_RUN = 125;
const WHY_NOT = /^headstart: the command was not run: (.*)$/m;
/** How long the program may take to show that it is the right one. */
const PATIENCE_MS = 5_000;

type Environment = Record<string, string | undefined>;

/**
 * Opens the shell of a workspace folder on this machine, or says why there is none. `environment` is that of the user's
 * commands.
 */
export async function openShell(options: ShellOptions, environment: Environment): Promise<Shell | { missing: string }> {
  const { folders } = options;
  if (process.platform === "win32") return { missing: "there is none for Windows yet" };
  const bash = await findProgram("bash", "", `/bin:/usr/bin:${environment.PATH ?? ""}`, folders);
  if ("missing" in bash) return { missing: bash.missing };
  const root = await realpath(options.root);
  const opened = new DesktopShell({ ...options, root }, environment, bash.file);
  await opened.confineBy(options.binary);
  return opened;
}

class DesktopShell implements Shell {
  unconfined: string | undefined = "it was not tried yet";
  readonly root: string;
  readonly #options: ShellOptions;
  /** The environment of the user, without the editor's variables. */
  readonly #environment: Record<string, string>;
  readonly #bash: string;
  /** The path of the program that confines commands. */
  #confiner = "";
  readonly #views: WorkspaceViews;
  readonly #closed = new AbortController();

  constructor(options: ShellOptions, environment: Environment, bash: string) {
    this.root = options.root;
    this.#options = options;
    this.#environment = Object.fromEntries(Object.entries(environment).flatMap(([name, value]) => (value === undefined || OF_THE_EDITOR.test(name) ? [] : [[name, value]])));
    this.#bash = bash;
    this.#views = new WorkspaceViews(options);
  }

  get withoutViews(): string | undefined {
    return this.#views.missing;
  }

  get disk(): Shell["disk"] {
    return this.#views.disk;
  }

  readonly viewsForConversation: Shell["viewsForConversation"] = () => this.#views.forConversation();

  async confineBy(binary: string): Promise<void> {
    await this.#confineBy(binary);
    // The variables are those with which the program starts in a terminal of the user's. It gives a command in a view
    // few of them: no key and no token.
    const program = { program: this.#confiner, root: this.root, environment: this.#environment };
    await this.#views.makeBy(this.unconfined === undefined ? program : { missing: this.unconfined });
  }

  async #confineBy(binary: string): Promise<void> {
    this.unconfined = "it was not tried yet";
    const found = await findProgram("headstart", binary, this.#environment.PATH ?? "", this.#options.folders);
    if ("missing" in found) return void (this.unconfined = found.missing);
    this.#confiner = found.file;
    try {
      const version = await this.#plain([found.file, "--version"]);
      if (!/^headstart \d+\./.test(version)) throw new Error(`${found.file} is another program`);
      const { output } = await this.#confined("echo confined", ".", PATIENCE_MS, 4_096);
      if (output !== "confined\n") throw new Error(`${found.file} does not run commands: ${output.trim()}`);
      this.unconfined = undefined;
    } catch (error) {
      this.unconfined = error instanceof Error ? error.message : String(error);
    }
  }

  readonly runCommand = async (request: CommandRequest, signal: AbortSignal, printed: (end: string) => void): Promise<CommandOutput> => {
    const ended = AbortSignal.any([signal, this.#closed.signal]);
    const { command, consented, directory, timeLimitMs, outputLimit } = request;
    if (!consented) {
      // The gate asks about every command in this case. A command that comes without consent all the same is not run.
      if (this.unconfined !== undefined) throw new Error(`the command was not run: it cannot be confined here: ${this.unconfined}`);
      return this.#noted(await this.#confined(command, directory, timeLimitMs, outputLimit, ended, printed));
    }
    const done = await run({
      program: [this.#bash, "--noprofile", "--norc", "-c", "--", command],
      directory: await this.#folder(directory),
      environment: { ...this.#environment, ...WITHOUT_TERMINAL, ...request.environment },
      timeLimitMs, outputLimit,
    }, ended, printed);
    return this.#noted(done);
  };

  readonly look: Shell["look"] = (probe) =>
    look(probe, this.root, async () => {
      const git = await findProgram("git", "", SYSTEM_PATH, this.#options.folders);
      return "file" in git ? this.#plain([git.file, "version"]) : "";
    });

  dispose(): void {
    this.#closed.abort(new Error("the window is closed"));
    this.#views.dispose();
  }

  /**
   * Runs a command through the program, which judges it once more in its folder and confines it. The user's own
   * configuration of the program does not count.
   */
  async #confined(command: string, directory: string, timeLimitMs: number, outputLimit: number, signal = this.#closed.signal, printed?: (end: string) => void): Promise<CommandOutput> {
    const program = [this.#confiner, "run", "--read-only", "--workspace", this.root, "--", command];
    const environment = { ...this.#few(), XDG_CONFIG_HOME: "/nonexistent" };
    const done = await run({ program, directory: await this.#folder(directory), environment, timeLimitMs, outputLimit }, signal, printed);
    const why = done.exitCode === NOT_RUN ? WHY_NOT.exec(done.output)?.[1] : undefined;
    if (why !== undefined) throw new Error(`the command was not run: ${why}`);
    return done;
  }

  /** The output of a program of this machine, which runs outside of the workspace. */
  async #plain(program: string[]): Promise<string> {
    const { output } = await run({ program, directory: "/", environment: this.#few(), timeLimitMs: PATIENCE_MS, outputLimit: 4_096 }, this.#closed.signal);
    return output;
  }

  /**
   * The folder on disk. Links are resolved now, so that neither a link nor a change in the meantime leads out of the
   * workspace.
   */
  async #folder(path: string): Promise<string> {
    const real = await realpath(join(this.root, path)).catch(() => undefined);
    if (real === undefined) throw new Error(`${path} is not on disk, and a command cannot run in it`);
    if (!isWithin(real, this.root)) throw new Error(`${path} leads out of the workspace, and a command cannot run in it`);
    if (!(await stat(real)).isDirectory()) throw new Error(`${path} is not a directory, and a command cannot run in it`);
    return real;
  }

  /**
   * The environment of the program that confines. It has no variable that would choose a program; the confined command
   * gets the rest of its environment from the program.
   */
  #few(): Record<string, string> {
    const users = this.#environment;
    return Object.fromEntries(["HOME", "PATH", "TMPDIR"].flatMap((name) => (users[name] === undefined ? [] : [[name, users[name]]])));
  }

  /**
   * Adds a note about unsaved files to the output, because a command sees files as they are on disk, and the model's
   * tools read them as they are in the editor.
   */
  #noted(done: CommandOutput): CommandOutput {
    const unsaved = this.#options.unsaved();
    if (unsaved.length === 0) return done;
    const named = unsaved.slice(0, MOST_NAMED).join(", ");
    const more = MOST_NAMED < unsaved.length ? ` and ${unsaved.length - MOST_NAMED} more` : "";
    const output = `${done.output}${done.output === "" || done.output.endsWith("\n") ? "" : "\n"}[not saved in the editor, so this ran on what is on disk: ${named}${more}]\n`;
    return { ...done, output };
  }
}

const MOST_NAMED = 5;

/** The PATH on which commands that run without a question find git first. */
const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
