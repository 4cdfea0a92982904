// Tests of the bundles as a host loads them: where there is a shell, what the user is told of it, and that a
// conversation has it. The host is a replacement for tests and not VS Code itself.
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { DesktopHost, type HostOptions } from "./desktop-host.js";

const BINARY = resolve(process.env.HEADSTART_BINARY ?? `${process.env.CARGO_TARGET_DIR ?? "../../target"}/debug/headstart`);
const says = (command: string) => ({ toolCalls: [{ name: "shell", args: { command } }] });
const RECORDING = { turns: [says("cat notes.md"), says("pwd > made"), { text: "Done." }], suggestions: [""] };

async function until(what: string, holds: () => boolean, host: DesktopHost): Promise<void> {
  for (const started = Date.now(); !holds(); await delay(10)) assert.ok(Date.now() - started < 30_000, `in vain: ${what}: ${JSON.stringify([host.state, ...host.items.values()])}`);
}

async function within(given: Partial<HostOptions>, use: (host: DesktopHost, root: string) => Promise<void>): Promise<void> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "headstart-desktop-")));
  const root = join(home, "project");
  mkdirSync(join(root, "bin"), { recursive: true });
  writeFileSync(join(root, "notes.md"), "mine\n");
  writeFileSync(join(root, "recording.json"), JSON.stringify(RECORDING));
  writeFileSync(join(root, "bin/headstart"), "#!/bin/sh\ntouch pwned\n");
  chmodSync(join(root, "bin/headstart"), 0o755);
  const settings = { provider: "recording", recording: "recording.json", index: false, ...given.settings };
  const host = new DesktopHost({ bundle: "extension.js", root, ...given, settings });
  try {
    await until("something is said of commands", () => (host.state?.commands ?? "") !== "", host);
    await use(host, root);
  } finally {
    host.close();
    rmSync(home, { recursive: true, force: true });
  }
}

const calls = (host: DesktopHost) => [...host.items.values()].flatMap((item) => (item.kind === "call" ? [item] : []));
const answer = (host: DesktopHost) => host.say({ type: "answer", id: host.state?.question?.id ?? "", answer: "yes" });

test("on a desktop a conversation has a shell: it reads by itself, and asks before anything else", async () => {
  await within({ settings: { binary: BINARY } }, async (host, root) => {
    assert.match(host.state?.commands ?? "", /^Commands that only read run by themselves, also ahead/);
    host.say({ type: "submit", text: "begin" });
    await until("a question", () => host.state?.question !== undefined, host);
    assert.deepEqual(calls(host).map(({ subject, state, output }) => [subject, state, output]), [["cat notes.md", "done", "mine"], ["pwd > made", "waits", undefined]]);
    assert.equal(host.state?.question?.content, "pwd > made");
    assert.throws(() => readFileSync(join(root, "made")));
    answer(host);
    await until("it is over", () => host.state?.busy === "idle" && calls(host)[1]?.state === "done", host);
    assert.equal(readFileSync(join(root, "made"), "utf8"), `${root}\n`);
  });
});

test("a program that the workspace names is not run, and one of the user's counts as soon as they name it", async () => {
  await within({ workspaceSettings: { binary: "bin/headstart" }, settings: { binary: "" } }, async (host, root) => {
    // Whether there is a program on this machine's PATH does not matter here. It must not be the one of the workspace.
    assert.doesNotMatch(host.state?.commands ?? "", /bin\/headstart is/);
    host.set("binary", join(root, "bin/headstart"));
    host.say({ type: "submit", text: "begin" });
    await until("it asks before it reads", () => host.state?.question?.content === "cat notes.md", host);
    assert.match(host.state?.commands ?? "", /^Each command asks you.*is in the workspace, and nothing of that is run so\.$/);
    assert.match(host.state?.question?.reason ?? "", /^Nothing confines commands here: .*is in the workspace/);
    answer(host);
    await until("the second question", () => host.state?.question?.content === "pwd > made", host);
    host.say({ type: "answer", id: host.state?.question?.id ?? "", answer: "stop" });
    await until("it is over", () => host.state?.busy === "idle", host);
    host.set("binary", BINARY);
    await until("the user's own", () => /^Commands that only read/.test(host.state?.commands ?? ""), host);
    assert.throws(() => readFileSync(join(root, "pwned")));
  });
});

test("in a browser, in a project on no disk and without trust there is no shell, and that is said", async () => {
  const cases: [given: Partial<HostOptions>, why: RegExp][] = [
    [{ bundle: "web.js" }, /^There is no shell here: VS Code for the Web starts no programs\./],
    [{ scheme: "memfs" }, /^There is no shell here: this project is on no disk of this machine\./],
    [{ isTrusted: false }, /^There is no shell here: this workspace is not trusted\./],
  ];
  for (const [given, why] of cases) {
    await within({ ...given, settings: { binary: BINARY } }, async (host, root) => {
      assert.match(host.state?.commands ?? "", why);
      host.say({ type: "submit", text: "begin" });
      await until("an answer", () => [...host.items.values()].some((item) => item.kind === "model"), host);
      assert.deepEqual(calls(host).map(({ state }) => state), ["failed", "failed"]);
      assert.throws(() => readFileSync(join(root, "made")));
    });
  }
});
