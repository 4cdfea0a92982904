// What the tests of commands on a desktop share: a folder with a workspace, the real program, and conversations. `cargo
// build -p headstart --all-features` makes the program, and HEADSTART_BINARY names another one.
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import * as headstart from "headstart";
import type { CommandRequest, Recording } from "headstart";
import { nodeFolder } from "headstart/folder";
import { Session } from "../../src/session/session.js";
import { type Shell, withShell } from "../../src/session/shell.js";
import { openShell } from "../../src/shell/shell.js";

await headstart.init();

export const BINARY = resolve(process.env.HEADSTART_BINARY ?? `${process.env.CARGO_TARGET_DIR ?? "../../target"}/debug/headstart`);
/** The environment of the tests' user, who has turned views off. */
export const USUAL = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: tmpdir(), TERM: "xterm", HEADSTART_SHADOW: "off" };

/** A folder that contains a workspace. */
export function machine(): { home: string; root: string; [Symbol.dispose](): void } {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "headstart-shell-")));
  const root = join(home, "project");
  mkdirSync(join(root, "src"), { recursive: true });
  writeFileSync(join(root, "notes.md"), "mine\n");
  writeFileSync(join(root, ".env"), "KEY=1\n");
  return { home, root, [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }) };
}

export function program(file: string, text: string): string {
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, 0o755);
  return file;
}

export async function open(root: string, given: { binary?: string; environment?: Record<string, string>; unsaved?: string[]; textOf?: (path: string) => string | undefined } = {}): Promise<Shell> {
  const options = { root, folders: [root], binary: given.binary ?? BINARY, unsaved: () => given.unsaved ?? [], textOf: given.textOf ?? (() => undefined) };
  const shell = await openShell(options, { ...USUAL, ...given.environment });
  assert.ok("root" in shell, JSON.stringify(shell));
  return shell;
}

export const request = (command: string, given: Partial<CommandRequest> = {}): CommandRequest => ({
  command, directory: ".", environment: {}, consented: true, secrets: "open", deny: [], timeLimitMs: 60_000, outputLimit: 32 * 1024, ...given,
});
export const alone = () => new AbortController().signal;
export const ran = (shell: Shell, command: string, given: Partial<CommandRequest> = {}) => shell.runCommand(request(command, given), alone(), () => {});

export function isAlive(pid: number): boolean {
  try {
    // A process that has ended and was not waited for (a zombie) is not alive.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

export async function until(what: string, holds: () => boolean): Promise<void> {
  for (const started = Date.now(); !holds(); await delay(10)) assert.ok(Date.now() - started < 20_000, `in vain: ${what}`);
}

export const says = (command: string) => ({ toolCalls: [{ name: "shell", args: { command } }] });

export async function talk(root: string, shell: Shell | undefined, recording: Recording, given: { user?: headstart.ToolPolicies; background?: "off" | "always"; mode?: headstart.ApprovalMode } = {}) {
  const told = {
    enabled: given.background !== "off", background: "always" as const, speculation: true, candidates: 1, deny: [], index: true, rules: false, aheadWrites: "ask" as const, tab: "take" as const,
    tools: { user: given.user ?? {}, project: {} },
  };
  const requests: headstart.ModelRequest[] = [];
  const recorded = headstart.recordedModel(recording);
  const session = new Session({
    headstart,
    model: { stream: (asked, signal) => (requests.push(asked), recorded.stream(asked, signal)) },
    modelName: "recorded", system: () => "Be brief.",
    // The type is that of an editor's tree, but the session only needs a tree.
    tree: (await nodeFolder(root)) as never,
    ...(shell && { shell }),
    mode: () => given.mode ?? "auto-edit",
    settings: () => withShell(told, shell),
    changed: () => {}, announce: () => {}, insert: () => {},
  });
  const calls = () => session.items.flatMap((item) => (item.kind === "call" ? [item] : []));
  return { session, requests, calls };
}

export const waitsFor = (session: Session) => until("a question", () => session.view.question !== undefined);
