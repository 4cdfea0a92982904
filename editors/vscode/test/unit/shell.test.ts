// Tests of commands on a desktop: which program may confine them, what a command can do to the process that waits for
// it, and what runs without a question. They use the real program.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type * as headstart from "headstart";
import { type Shell, aboutCommands } from "../../src/session/shell.js";
import { settings, type Settings } from "../../src/settings.js";
import { findProgram } from "../../src/shell/find.js";
import { KeptOutput } from "../../src/shell/kept-output.js";
import { BINARY, alone, isAlive, machine, open, program, ran, request, says, talk, until, waitsFor } from "./shell-machine.js";
import { configuration } from "./vscode.js";

test("a workspace names no program, and none that lies in it is found", async () => {
  using here = machine();
  const { home, root } = here;
  const evil = program(join(root, "bin/headstart"), "#!/bin/sh\ntouch pwned\n");
  const good = program(join(home, "tools/headstart"), "#!/bin/sh\n");
  mkdirSync(join(home, "links"));
  symlinkSync(evil, join(home, "links/headstart"));
  symlinkSync(join(root, "bin"), join(home, "linked"));
  symlinkSync(root, join(home, "alias"));
  const find = (named: string, path: string, folders = [root]) => findProgram("headstart", named, path, folders);

  assert.deepEqual(await find("", `bin:./bin:.:${root}/bin:${home}/links:${home}/linked::${home}/tools`), { file: good });
  assert.deepEqual(await find("", `bin::${root}/bin`), { missing: "the program headstart is not on the PATH" });
  // A link in the workspace would choose a program as well, and so would a relative folder, which depends on the
  // current directory.
  mkdirSync(join(root, "chosen"));
  symlinkSync(good, join(root, "chosen/headstart"));
  const before = process.cwd();
  process.chdir(home);
  const chosen = await find("", `${root}/chosen:${home}/alias/chosen:tools:./tools`).finally(() => process.chdir(before));
  assert.deepEqual(chosen, { missing: "the program headstart is not on the PATH" });
  // A workspace that was opened through a link must be recognized as the same one.
  assert.deepEqual(await find("", `${root}/bin:${home}/alias/bin`, [join(home, "alias")]), { missing: "the program headstart is not on the PATH" });
  for (const named of [evil, join(home, "links/headstart"), join(home, "linked/headstart"), join(home, "alias/bin/headstart"), join(root, "chosen/headstart"), join(home, "alias/chosen/headstart")]) {
    assert.match(((await find(named, "")) as { missing: string }).missing, /is in the workspace/, named);
  }
  assert.match(((await find("bin/headstart", "")) as { missing: string }).missing, /no absolute path/);
  assert.match(((await find(home, "")) as { missing: string }).missing, /is no program/);
  assert.deepEqual(await find(good, ""), { file: good });

  // The settings of a workspace must not count, even if VS Code ignores the scope of the setting.
  const { contributes } = JSON.parse(readFileSync("package.json", "utf8")) as { contributes: { configuration: { properties: Record<string, { scope?: string }> } } };
  assert.equal(contributes.configuration.properties["headstart.binary"]?.scope, "machine");
  configuration.binary = { workspaceValue: evil, workspaceFolderValue: evil };
  assert.equal(settings().binary, "");
  configuration.binary = { globalValue: good, workspaceValue: evil };
  assert.equal(settings().binary, good);
  delete configuration.binary;
});

test("a workspace may have less done than its user said, and never more", () => {
  const cases: [name: "enabled" | "speculation" | "index" | "rules" | "background" | "candidates", own: unknown, workspace: unknown, folder: unknown, expected: unknown][] = [
    ["enabled", false, true, true, false],
    ["enabled", true, false, undefined, false],
    ["enabled", undefined, undefined, undefined, true],
    ["enabled", true, "no", undefined, false],
    ["speculation", false, true, undefined, false],
    ["speculation", true, undefined, false, false],
    ["index", false, undefined, true, false],
    ["rules", false, true, undefined, false],
    ["rules", true, true, false, false],
    ["background", "auto", "always", "always", "auto"],
    ["background", "always", "auto", undefined, "auto"],
    ["background", "always", undefined, undefined, "always"],
    ["background", undefined, "always", undefined, "auto"],
    ["candidates", 1, 3, 3, 1],
    ["candidates", 3, 2, undefined, 2],
    ["candidates", 9, undefined, undefined, 3],
    ["candidates", undefined, 3, undefined, 1],
    ["candidates", 2, -5, undefined, 1],
  ];
  for (const [name, globalValue, workspaceValue, workspaceFolderValue, expected] of cases) {
    configuration[name] = { globalValue, workspaceValue, workspaceFolderValue };
    assert.equal(settings()[name], expected, `${name}: ${globalValue}, ${workspaceValue}, ${workspaceFolderValue}`);
    delete configuration[name];
  }
});

/** What a hostile workspace sets, and what its user then has, who has said the first and nothing. */
test("each setting that the extension has is its user's own, or comes to the strictest of what is said", () => {
  const { contributes } = JSON.parse(readFileSync("package.json", "utf8")) as { contributes: { configuration: { properties: Record<string, { scope?: string; default?: unknown }> } } };
  const cases: Record<string, [own: unknown, hostile: unknown, withOwn: unknown, withNone: unknown]> = {
    enabled: [false, true, false, true],
    background: ["auto", "always", "auto", "auto"],
    speculation: [false, true, false, true],
    provider: ["ollama", "recording", "ollama", "openai"],
    model: ["mine", "theirs", "mine", ""],
    baseUrl: ["https://mine.example", "https://theirs.example", "https://mine.example", ""],
    window: [9000, 1, 9000, undefined],
    price: [{ input: 3, output: 15 }, { input: 0, output: 0 }, { input: 3, output: 15 }, undefined],
    mode: ["default", "yolo", "default", "auto-edit"],
    tools: [{ shell: "ask" }, { shell: "automatic" }, { shell: "ask" }, {}],
    editorTools: [["mine"], ["*"], ["mine"], []],
    aheadWrites: ["boundary", "ask", "boundary", "ask"],
    tab: ["insert", "take", "insert", "take"],
    candidates: [1, 3, 1, 1],
    deny: [["keys/"], [], ["keys/"], []],
    index: [false, true, false, true],
    rules: [false, true, false, true],
    binary: ["/opt/headstart", "/w/evil", "/opt/headstart", ""],
    recording: ["mine.json", "theirs.json", "mine.json", ""],
  };
  assert.deepEqual(Object.keys(cases).sort(), Object.keys(contributes.configuration.properties).map((name) => name.replace("headstart.", "")).sort(), "a case for each setting");
  for (const [name, [own, hostile, withOwn, withNone]] of Object.entries(cases)) {
    const defaultValue = contributes.configuration.properties[`headstart.${name}`]?.default;
    for (const [globalValue, expected] of [[own, withOwn], [undefined, withNone]]) {
      for (const there of [{ workspaceValue: hostile }, { workspaceFolderValue: hostile }, { workspaceValue: hostile, workspaceFolderValue: hostile }]) {
        configuration[name] = { globalValue, defaultValue, ...there };
        const had = settings()[name as keyof Settings];
        // What the agent takes for the user's is theirs; it refuses a table of a project that loosens.
        assert.deepEqual(name === "tools" ? (had as Settings["tools"]).user : had, expected, `${name}: ${JSON.stringify(configuration[name])}`);
        delete configuration[name];
      }
    }
  }
});

test("another program of the name, or one that does not confine, confines nothing, and is said", async () => {
  using here = machine();
  const cases: [text: string, why: RegExp][] = [
    ["#!/bin/sh\necho 'something else 1.0'\n", /is another program/],
    ["#!/bin/sh\n[ \"$1\" = --version ] && echo 'headstart 0.1.0' || { echo 'headstart: the command was not run: no Landlock' >&2; exit 125; }\n", /^the command was not run: no Landlock$/],
    ["#!/bin/sh\n[ \"$1\" = --version ] && echo 'headstart 0.1.0' || echo what\n", /does not run commands: what/],
    ["no program\0", /is another program/],
  ];
  for (const [text, why] of cases) {
    const shell = await open(here.root, { binary: program(join(here.home, "tools/headstart"), text) });
    assert.match(shell.unconfined ?? "", why);
    await assert.rejects(ran(shell, "cat notes.md", { consented: false }), /cannot be confined here/);
    assert.equal((await ran(shell, "cat notes.md")).output, "mine\n");
    shell.dispose();
  }
  const none = await open(here.root, { binary: join(here.home, "nowhere") });
  assert.match(none.unconfined ?? "", /nowhere is no program/);
  // As soon as the setting names the right program, it has to be used.
  await none.confineBy(BINARY);
  assert.equal(none.unconfined, undefined);
  assert.match(aboutCommands(none), /run by themselves, also ahead/);
});

test("a command reaches its program as it is written, quotes and lines and all", async () => {
  using here = machine();
  const shell = await open(here.root);
  const words = ["it's", 'a "b"', "$(touch pwned)", "`touch pwned`", "two\nlines", "--read-only", "; touch pwned", "ü\\n", ""];
  const quoted = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  const expected = words.map((word) => `<${word}>`).join("");
  for (const consented of [true, false]) {
    assert.equal((await ran(shell, `printf '<%s>' ${quoted}`, { consented })).output, expected, `${consented}`);
    assert.equal((await ran(shell, `echo one\necho "two\nthree" # ${"x".repeat(5_000)}`, { consented })).output, "one\ntwo\nthree\n");
  }
  assert.throws(() => readFileSync(join(here.root, "pwned")));
  await assert.rejects(ran(shell, `: ${"x".repeat(4_000_000)}`), /cannot be started: .*E2BIG/);
  // Exit codes must be kept, and both streams must stay in order.
  const { output, exitCode } = await ran(shell, "echo out; echo err >&2; echo out; exit 3");
  assert.deepEqual([output, exitCode], ["out\nerr\nout\n", 3]);
  assert.equal((await ran(shell, "kill -9 $$")).exitCode, null);
});

test("a command that was not asked about reads, and neither writes nor comes by a secret", async () => {
  using here = machine();
  execFileSync("git", ["init", "-q", "-b", "main", here.root]);
  const shell = await open(here.root);
  const unasked = (command: string, directory = ".") => ran(shell, command, { consented: false, directory, secrets: "closed" });
  assert.equal((await unasked("cat notes.md | wc -l")).output.trim(), "1");
  assert.equal((await unasked("cat ../notes.md", "src")).output, "mine\n");
  assert.match((await unasked("git status --short")).output, /notes\.md/);
  assert.doesNotMatch((await unasked("grep -r KEY . --include=.env")).output, /KEY=1/);
  // A command that this machine's gate refuses must not run either.
  for (const command of ["touch pwned", "echo x > pwned", "cat .env", "./notes.md", "curl -s http://127.0.0.1"]) {
    await assert.rejects(unasked(command), /^Error: the command was not run: /, command);
  }
  assert.throws(() => readFileSync(join(here.root, "pwned")));
  symlinkSync("/", join(here.root, "out"));
  for (const consented of [true, false]) {
    await assert.rejects(ran(shell, "ls", { consented, directory: "out/etc" }), /leads out of the workspace/);
    await assert.rejects(ran(shell, "ls", { consented, directory: "nowhere" }), /is not on disk/);
    await assert.rejects(ran(shell, "ls", { consented, directory: "notes.md" }), /is not a directory/);
  }
});

test("100 MB of output are its beginning and its end, in little memory", async () => {
  using here = machine();
  const shell = await open(here.root);
  const before = process.memoryUsage().rss;
  const told: string[] = [];
  const done = await shell.runCommand(request("echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last"), alone(), (end) => told.push(end));
  assert.ok(process.memoryUsage().rss - before < 80e6, `${process.memoryUsage().rss - before}`);
  assert.match(done.output, /^first\nx+\n\[… \d+ bytes left out …\]\nx+\nlast\n$/);
  assert.ok(done.truncated && done.output.length < 33 * 1024 && told.every((end) => end.length <= 4_096));
  // A cut must not split a character.
  for (const limit of [7, 8, 9, 10, 11]) {
    const kept = new KeptOutput(limit);
    for (const byte of Buffer.from("aü€ü€ü€ü€z")) kept.push(Uint8Array.of(byte));
    const { output, truncated } = kept.finish();
    assert.ok(truncated && !output.includes("\ufffd") && output.startsWith("aü") && output.endsWith("z"), output);
    assert.ok(!kept.end(4).includes("\ufffd"));
  }
});

test("a command that does not end is ended by its time, by whoever stops it, and with the window; nothing that it started is left", async () => {
  using here = machine();
  const shell = await open(here.root);
  const endless = "sleep 1000 & echo $!; sleep 1000 & echo $!; trap '' TERM INT HUP; echo $$; while :; do sleep 1; done";
  const pids = (text: string) => text.trim().split("\n").map(Number);

  const late = await ran(shell, endless, { timeLimitMs: 400 });
  assert.deepEqual([late.timedOut, late.exitCode, pids(late.output).length], [true, null, 3]);
  await until("all have ended", () => !pids(late.output).some(isAlive));

  for (const how of ["stop", "window"] as const) {
    const stop = new AbortController();
    let end = "";
    const running = shell.runCommand(request(endless), stop.signal, (printed) => (end = printed));
    await until("it runs", () => end.trim().split("\n").length === 3);
    assert.ok(pids(end).every(isAlive));
    if (how === "stop") stop.abort(new Error("stopped"));
    else shell.dispose();
    await assert.rejects(running, how === "stop" ? /stopped/ : /the window is closed/);
    await until(`all have ended: ${how}`, () => !pids(end).some(isAlive));
  }
  await assert.rejects(ran(shell, "echo x"), /the window is closed/);
});

test("so is one that runs below the wall", async () => {
  using here = machine();
  const shell = await open(here.root);
  // The duration identifies the process: no other test uses it, it is longer than this test, and it is short enough for
  // the gate.
  const seconds = `29.${process.pid}1`;
  const sleeping = () =>
    readdirSync("/proc").some((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, "utf8") === `sleep\0${seconds}\0` && isAlive(Number(name));
      } catch {
        return false;
      }
    });
  const unasked = { consented: false, secrets: "closed" } as const;
  const late = await ran(shell, `echo begun; sleep ${seconds} | cat`, { ...unasked, timeLimitMs: 2_500 });
  assert.deepEqual([late.timedOut, late.output], [true, "begun\n"]);
  await until("it has ended by its time", () => !sleeping());
  const stop = new AbortController();
  const running = shell.runCommand(request(`sleep ${seconds} | cat`, unasked), stop.signal, () => {});
  await until("it runs", sleeping);
  stop.abort(new Error("stopped"));
  await assert.rejects(running, /stopped/);
  await until("it has ended by its user", () => !sleeping());
});

test("what a command leaves in the background ends with it, and is not waited for", async () => {
  using here = machine();
  const shell = await open(here.root);
  const started = Date.now();
  const { output } = await ran(shell, "sleep 1000 & echo $!; (trap '' HUP; sleep 1000) & echo $!");
  assert.ok(Date.now() - started < 10_000);
  await until("they have ended", () => !output.trim().split("\n").map(Number).some(isAlive));
  // A process that left the group holds the output open, but must not be waited for.
  const { output: told } = await ran(shell, `setsid sleep 30 & echo $!; until [ "$(cut -d' ' -f6 /proc/$!/stat)" = $! ]; do sleep 0.01; done`);
  assert.ok(Date.now() - started < 20_000);
  const left = Number(told);
  assert.ok(isAlive(left));
  process.kill(left);
});

test("a command of its user's has their environment without the editor's own, and is told what is not saved", async () => {
  using here = machine();
  const environment = { MINE: "yes", ELECTRON_RUN_AS_NODE: "1", VSCODE_PID: "7" };
  const shell = await open(here.root, { environment, unsaved: ["a.ts", "b.ts", "c.ts", "d.ts", "e.ts", "f.ts"] });
  const { output } = await ran(shell, 'echo "$MINE,$ELECTRON_RUN_AS_NODE,$VSCODE_PID,$TERM,$PAGER"');
  assert.equal(output, "yes,,,dumb,cat\n[not saved in the editor, so this ran on what is on disk: a.ts, b.ts, c.ts, d.ts, e.ts and 1 more]\n");
  const unasked = await ran(shell, "echo one", { consented: false });
  assert.match(unasked.output, /^one\n\[not saved/);
  for (const command of ['echo "$MINE"', "env", "cat /proc/self/environ"]) await assert.rejects(ran(shell, command, { consented: false }), /was not run/, command);
});

test("what the gate asks of the machine is answered by the machine", async () => {
  using here = machine();
  const { home, root } = here;
  const shell = await open(root);
  mkdirSync(join(home, "elsewhere/deep"), { recursive: true });
  symlinkSync(join(home, "elsewhere/deep"), join(root, "link"));
  execFileSync("mkfifo", [join(root, "pipe")]);
  const version = await shell.look({ kind: "gitVersion" });
  assert.ok(typeof version === "object" && "version" in version && 2 <= version.version[0]);
  const folder = (path: string) => shell.look({ kind: "folder", path });
  assert.deepEqual([await folder("."), await folder("src"), await folder("src/../src")], [{ folder: "." }, { folder: "src" }, { folder: "src" }]);
  // `..` after a link must be resolved by the system.
  assert.deepEqual([await folder("link"), await folder("link/.."), await folder("nowhere"), await folder("notes.md/x")], ["outside", "outside", "absent", "absent"]);
  const file = (path: string) => shell.look({ kind: "file", path });
  assert.deepEqual(await file("notes.md"), { file: Buffer.from("mine\n") });
  assert.deepEqual([await file("pipe"), await file("src"), await file("src/none"), await file("/proc/self/nothing")], ["unknown", "unknown", "absent", "absent"]);
});

// ── conversations ────────────────────────────────────────────────────────────────────────────────────────────────────

test("in a conversation commands that only read run ahead and in turns, and every other one asks, is seen and can be stopped", async () => {
  using here = machine();
  const shell = await open(here.root);
  const slow = "echo $$ > pid; echo begun; sleep 1000";
  const { session, calls, requests } = await talk(here.root, shell, {
    turns: [says("cat notes.md"), { text: "Looked." }, says("cat notes.md | wc -l"), says("touch made"), { text: "Made." }, says(slow), { text: "Never." }],
    suggestions: ["make it", ""],
  });
  await session.submit("begin");
  assert.deepEqual(calls().map(({ state, output }) => [state, output]), [["done", "mine"]]);

  // The work ahead has read, and must wait before the first command that writes.
  await until("it waits", () => session.view.ahead?.state === "waits");
  assert.deepEqual(session.view.ahead?.calls.map(({ subject, state }) => [subject, state]), [["cat notes.md | wc -l", "done"], ["touch made", "waits"]]);
  assert.throws(() => readFileSync(join(here.root, "made")));
  await delay(420);
  session.accept("tab");
  await waitsFor(session);
  assert.deepEqual([session.view.question?.tool, session.view.question?.content], ["shell", "touch made"]);
  assert.throws(() => readFileSync(join(here.root, "made")));
  session.answer(session.view.question?.id ?? "", "yes");
  await until("it is over", () => session.view.busy === "idle");
  assert.equal(readFileSync(join(here.root, "made"), "utf8"), "");
  // The model must have read the results of these commands.
  assert.match(JSON.stringify(requests.at(-1)), /\[no output\]/);

  void session.submit("and now");
  await waitsFor(session);
  session.answer(session.view.question?.id ?? "", "yes");
  await until("its output shows while it runs", () => calls().at(-1)?.output === "begun\n" && calls().at(-1)?.state === "running");
  const pid = Number(readFileSync(join(here.root, "pid"), "utf8"));
  assert.ok(isAlive(pid));
  session.stop();
  await until("it has ended", () => session.view.busy === "idle" && !isAlive(pid));
  assert.deepEqual([calls().at(-1)?.state, calls().at(-1)?.detail], ["failed", "stopped"]);
  session.dispose();
});

test("where nothing confines, every command asks, and ahead each is a boundary, whatever the mode and the user's table say", async () => {
  using here = machine();
  const shell = await open(here.root, { binary: join(here.home, "nowhere") });
  assert.match(aboutCommands(shell), /Each command asks you before it runs, and none runs ahead.*nowhere is no program/);
  for (const [mode, user] of [["auto-edit", {}], ["yolo", {}], ["auto-edit", { shell: "automatic" }]] as const) {
    const { session, calls } = await talk(here.root, shell, { turns: [says("cat notes.md"), { text: "Looked." }, says("cat notes.md"), { text: "Again." }], suggestions: ["look again"] }, { mode, user });
    void session.submit("begin");
    await waitsFor(session);
    assert.equal(calls().at(-1)?.state, "waits");
    session.answer(session.view.question?.id ?? "", "yes");
    await until(`ahead it waits: ${mode}`, () => session.view.ahead?.state === "waits");
    assert.deepEqual([calls()[0]?.state, calls()[0]?.output], ["done", "mine"]);
    session.dispose();
  }
  // A program that is found later has to count at once.
  const { session, calls } = await talk(here.root, shell, { turns: [says("cat notes.md"), { text: "Looked." }] }, { background: "off" });
  await shell.confineBy(BINARY);
  session.settingsChanged();
  await session.submit("begin");
  assert.equal(calls()[0]?.state, "done");
  session.dispose();
});

test("a table that leaves the shell out leaves it out, and without one no such tool is offered", async () => {
  using here = machine();
  const shell = await open(here.root, { binary: join(here.home, "nowhere") });
  const offers = async (given: Shell | undefined, user: headstart.ToolPolicies = {}) => {
    const { session, requests } = await talk(here.root, given, { turns: [{ text: "Hello." }] }, { user, background: "off" });
    await session.submit("begin");
    session.dispose();
    return requests[0]?.tools?.map(({ name }) => name).includes("shell");
  };
  assert.deepEqual([await offers(shell), await offers(shell, { shell: "exclude" }), await offers(undefined)], [true, false, false]);
  assert.match(aboutCommands({ missing: "VS Code for the Web starts no programs" }), /^There is no shell here: VS Code for the Web starts no programs\. Tests and builds/);
});

test("the bundle for a browser asks for no module of Node's, and the other one for no other than these", () => {
  const modules = (bundle: string) => [...new Set([...readFileSync(`dist/${bundle}`, "utf8").matchAll(/\brequire\("([^"]+)"\)/g)].map(([, name]) => name))].sort();
  assert.deepEqual(modules("web.js"), ["vscode"]);
  assert.deepEqual(modules("extension.js"), ["node:child_process", "node:fs", "node:fs/promises", "node:path", "vscode"]);
  const { main, browser } = JSON.parse(readFileSync("package.json", "utf8")) as { main: string; browser: string };
  assert.deepEqual([main, browser], ["./dist/extension.js", "./dist/web.js"]);
});
