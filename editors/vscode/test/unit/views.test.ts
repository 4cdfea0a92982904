// Tests of commands of work ahead in views: what a command can do to the machine from there, what is staged of what it
// did, and which program may make views. They use the real program.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { lstatSync, mkdirSync, readFileSync, readdirSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import * as headstart from "headstart";
import type { ViewOutput, ViewRequest } from "headstart";
import { nodeFolder } from "headstart/folder";
import { type Shell, aboutCommands } from "../../src/session/shell.js";
import { type ViewChange, stage } from "../../src/shell/stage.js";
import { BINARY, alone, isAlive, machine, open, program, ran, says, talk, until, waitsFor } from "./shell-machine.js";

const NOTHING = headstart.ChangeSet.fromJSON({ changes: [], reads: [] });

/** A shell with views, whose user has a home of their own. */
function openWithViews(here: { home: string; root: string }, given: Parameters<typeof open>[1] = {}): Promise<Shell> {
  return open(here.root, { ...given, environment: { HOME: here.home, HEADSTART_SHADOW: "", KEY_OF_THE_USER: "secret" } });
}

interface InView {
  ran: ViewOutput;
  /** What is staged, by paths. */
  staged: Record<string, string>;
}

/** Runs a command in a view of its own. */
async function inView(shell: Shell, command: string, given: Partial<ViewRequest> = {}, signal = alone(), tree?: headstart.Tree): Promise<InView> {
  using overlay = new headstart.Overlay(tree ?? (await nodeFolder(shell.root)));
  const request: ViewRequest = {
    view: `v${command.length}`, command, directory: ".", below: NOTHING, staged: NOTHING, deny: [], secrets: "closed", timeLimitMs: 60_000, outputLimit: 32 * 1024, ...given,
  };
  const ran = await shell.viewsForConversation().run(request, overlay, signal);
  const changes = overlay.changeSet();
  const of = (path: string) => Buffer.from(changes.sides(path).after ?? "").toString();
  return { ran, staged: Object.fromEntries(changes.summary().map(({ path, type }) => [path, type === "delete" ? "(deleted)" : of(path)])) };
}

/** Everything below a folder, with the state of the program left out. */
function everything(folder: string, found: Record<string, unknown> = {}): Record<string, unknown> {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (name === ".local") continue;
    const stat = lstatSync(path);
    const content = stat.isFile() ? readFileSync(path, "latin1") : stat.isSymbolicLink() ? readlinkSync(path) : "";
    found[path] = [stat.mode, stat.isDirectory() ? 0 : stat.mtimeMs, content];
    if (stat.isDirectory()) everything(path, found);
  }
  return found;
}

const ofCommandLine = (words: string[]) => () =>
  readdirSync("/proc").some((name) => {
    try {
      return readFileSync(`/proc/${name}/cmdline`, "utf8") === `${words.join("\0")}\0` && isAlive(Number(name));
    } catch {
      return false;
    }
  });

/** A machine with a repository, a secret, a folder beside the workspace, and links to that. */
function wholeMachine(): ReturnType<typeof machine> {
  const here = machine();
  const { home, root } = here;
  execFileSync("git", ["init", "-q", "-b", "main", root]);
  for (const folder of ["beside", ".ssh"]) mkdirSync(join(home, folder));
  writeFileSync(join(home, "beside/file"), "beside\n");
  writeFileSync(join(home, ".ssh/id_ed25519"), "PRIVATE\n");
  symlinkSync(join(home, "beside"), join(root, "out"));
  symlinkSync(join(home, "beside/file"), join(root, "out-file"));
  return here;
}

/** Commands that change only the folder of the machine, and what is staged of some. */
const attacks = (home: string): [command: string, staged?: Record<string, string>][] => [
  ["echo x > notes.md; echo x > src/made", { "notes.md": "x\n", "src/made": "x\n" }],
  ["rm -rf src notes.md", { src: "(deleted)", "notes.md": "(deleted)" }],
  ["rm -rf * .env ../* ~/*"],
  ["echo x > ../beside/file; echo x > ../made; mkdir -p ../beside; echo x > ../beside/file"],
  [`echo x > ${home}/beside/file; rm -rf ${home}/beside`],
  ["echo x > ~/.bashrc; echo x >> ~/.profile; mkdir -p ~/.config/headstart; echo x > ~/.config/headstart/config.toml"],
  ["echo x > out/file; echo x > out/made; echo x > out-file; rm -f out/file"],
  ["ln -s ../beside link; echo x > link/file; ln -sf ../beside/file notes-link; echo x > notes-link"],
  ["mv notes.md ../; mv ../beside .; cp ../beside/file stolen"],
  ["ln ../beside/file hard; echo x > hard"],
  ["chmod 777 ../beside ~; touch -d 2001-01-01 ../beside/file"],
  ["printf '#!/bin/sh\\n' > .git/hooks/pre-commit; git config core.fsmonitor ./x; git config user.name x"],
];

test("without a view each of the attacks below is seen", async () => {
  for (const number of attacks("").keys()) {
    using here = wholeMachine();
    const [command] = attacks(here.home)[number]!;
    const shell = await open(here.root, { environment: { HOME: here.home } });
    const before = everything(here.home);
    await ran(shell, command);
    assert.notDeepEqual(everything(here.home), before, command);
    shell.dispose();
  }
});

test("nothing that a command does in a view is seen outside of it", async () => {
  using here = wholeMachine();
  const { home, root } = here;
  const shell = await openWithViews(here);
  assert.equal(shell.withoutViews, undefined);
  const reached: string[] = [];
  const server = createServer((socket) => void (reached.push("TCP"), socket.destroy()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const unix = createServer((socket) => void (reached.push("Unix"), socket.destroy()));
  await new Promise<void>((resolve) => unix.listen(join(home, "socket"), resolve));
  const { port } = server.address() as { port: number };
  const before = everything(home);
  const others = [
    "echo x > /etc/headstart-attack; echo x > /usr/bin/headstart-attack; echo x > /headstart-attack; echo x > /tmp/headstart-attack",
    "cat ~/.ssh/id_ed25519; cat ../.ssh/id_ed25519; cat .env; cat out/file out-file ../beside/file; env; cat /proc/*/environ 2>/dev/null",
    `exec 3<>/dev/tcp/127.0.0.1/${port}; echo x >&3`,
    `python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("${home}/socket")'`,
    `kill -9 ${process.pid}; kill -9 ${process.ppid}`,
    `mount -t tmpfs none ${home}; unshare -r true; mkdir m; mount --bind ${home} m`,
    `nsenter -t ${process.pid} -m touch ${home}/made; ls /proc/${process.pid}/root/; echo x > /proc/${process.pid}/root${root}/notes.md`,
  ];
  for (const [command, expected] of [...attacks(home), ...others.map((command): [string] => [command])]) {
    const { ran, staged } = await inView(shell, command).catch((error: Error) => ({ ran: { output: error.message }, staged: {} }));
    assert.deepEqual(everything(home), before, command);
    assert.doesNotMatch(ran.output, /PRIVATE|KEY=1|^beside$|KEY_OF_THE_USER/m, command);
    for (const path of Object.keys(staged)) assert.doesNotMatch(path, /^(\/|\.\.|\.git\/)/, command);
    if (expected !== undefined) assert.deepEqual(staged, expected, command);
  }
  for (const place of ["/etc", "/usr/bin", "/", "/tmp"]) assert.ok(!readdirSync(place).includes("headstart-attack"), place);
  assert.deepEqual(reached, []);
  server.close();
  unix.close();
  shell.dispose();
});

test("what a command does outside of the workspace, to links that lead there and to the repository is told, so that the work stops there", async () => {
  using here = wholeMachine();
  const shell = await openWithViews(here);
  assert.deepEqual((await inView(shell, "echo x > ~/made")).ran.outside, ["~/made"]);
  assert.equal((await inView(shell, "exec 3<>/dev/udp/10.255.255.1/53 && echo x >&3; exit 3")).ran.refused?.network, 1);
  const { git, gitRefused } = (await inView(shell, "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x")).ran;
  assert.deepEqual([(git?.refs as { name: string }[])[0]?.name, gitRefused], ["refs/heads/main", undefined]);
  assert.deepEqual((await inView(shell, "git config core.fsmonitor ./x")).ran.git?.other, [".git/config"]);
  const out = await inView(shell, "ln -s /etc/passwd link; mkfifo pipe");
  assert.deepEqual([out.staged, out.ran.notes?.sort()], [{}, ["link is a link that leads out of the workspace, and not kept", "pipe is a FIFO, and not kept"]]);
  // Through a link of the user's it leads out, too.
  await assert.rejects(inView(shell, "ln -s out/file link"), /link/);
  const stepsUp = await inView(shell, "ln -s src first; ln -s first/../out second");
  assert.deepEqual([stepsUp.staged, stepsUp.ran.notes], [{ first: "src" }, ["second is a link that leads out of the workspace, and not kept"]]);
  shell.dispose();
});

test("links and executable bits that a command makes are staged, and are there for the next command", async () => {
  using here = machine();
  const { root } = here;
  symlinkSync("notes.md", join(root, "old-link"));
  program(join(root, "was.sh"), "#!/bin/sh\n");
  const shell = await openWithViews(here);
  using overlay = new headstart.Overlay(await nodeFolder(root));
  const request: ViewRequest = {
    view: "v", directory: ".", below: NOTHING, staged: NOTHING, deny: [], secrets: "closed", timeLimitMs: 60_000, outputLimit: 32 * 1024,
    command: "ln -s notes.md link; ln -s nowhere dangling; rm old-link; printf '#!/bin/sh\\necho ran\\n' > new.sh; chmod +x new.sh; chmod -x was.sh; ln -s ../notes.md src/up",
  };
  const views = shell.viewsForConversation();
  assert.deepEqual((await views.run(request, overlay, alone())).notes ?? [], []);
  assert.deepEqual([await overlay.readLink("link"), await overlay.readLink("dangling"), await overlay.readLink("src/up")], ["notes.md", "nowhere", "../notes.md"]);
  assert.deepEqual(await Promise.all(["new.sh", "was.sh", "old-link"].map(async (path) => (await overlay.metadata(path))?.executable)), [true, false, undefined]);
  using next = new headstart.Overlay(await nodeFolder(root));
  // Another view shows what is staged.
  const again = await views.run({ ...request, view: "w", staged: overlay.changeSet(), command: "readlink link dangling src/up; cat src/up; ./new.sh; test -x was.sh || echo no; test -L old-link || echo gone" }, next, alone());
  assert.equal(again.output, "notes.md\nnowhere\n../notes.md\nmine\nran\nno\ngone\n");
  assert.deepEqual(next.changeSet().toJSON(), overlay.changeSet().toJSON());
  shell.dispose();
});

test("a command that does not end is ended by its time, by whoever stops it, and with the window; nothing that it started is left", async () => {
  using here = machine();
  const shell = await openWithViews(here);
  const seconds = `28.${process.pid}2`;
  const sleeping = ofCommandLine(["sleep", seconds]);
  const endless = `(setsid sleep ${seconds} &) ; nohup sleep ${seconds} & echo begun > begun; trap '' TERM INT HUP; sleep ${seconds}; sleep 1000`;

  // What is in the background when the command is over ends with it.
  await inView(shell, `(setsid sleep ${seconds} &); nohup sleep ${seconds} > /dev/null 2>&1 & echo over`);
  await until("they have ended", () => !sleeping());

  const late = await inView(shell, endless, { timeLimitMs: 1_500 });
  assert.deepEqual([late.ran.timedOut, late.ran.exitCode, late.staged], [true, null, {}]);
  await until("its time was up", () => !sleeping());

  const stop = new AbortController();
  const running = inView(shell, endless, {}, stop.signal);
  await until("it runs", sleeping);
  stop.abort(new Error("stopped"));
  await assert.rejects(running, /stopped/);
  await until("it was stopped", () => !sleeping());

  const views = shell.viewsForConversation();
  using overlay = new headstart.Overlay(await nodeFolder(here.root));
  const request: ViewRequest = { view: "v", command: endless, directory: ".", below: NOTHING, staged: NOTHING, deny: [], secrets: "closed", timeLimitMs: 60_000, outputLimit: 1_024 };
  const ended = views.run(request, overlay, alone());
  await until("it runs", sleeping);
  views.end("v");
  await assert.rejects(ended.then(({ exitCode }) => assert.equal(exitCode, null, "it has an end") as never), /./);
  await until("its view has ended", () => !sleeping());

  const last = inView(shell, endless);
  await until("it runs", sleeping);
  shell.dispose();
  await assert.rejects(last, /the window is closed/);
  await until("the window is closed", () => !sleeping() && !ofCommandLine([BINARY, "shadow", "serve", "--here", here.root])());
  assert.equal(shell.viewsForConversation().tier, undefined);
});

test("a view shows what is staged and what is not saved, and hides what rules close", async () => {
  using here = machine();
  const { root } = here;
  mkdirSync(join(root, "private"));
  writeFileSync(join(root, "private/x"), "closed\n");
  program(join(root, "run.sh"), "#!/bin/sh\necho old\n");
  const unsaved = ["src/open.ts", "private/y", ".env.local"];
  const shell = await openWithViews(here, { unsaved });
  const disk = await nodeFolder(root);
  // The tree shows an editor's documents over the disk, as the tree of VS Code does.
  const documents: Record<string, string> = { "src/open.ts": "not saved\n", "private/y": "closed\n", ".env.local": "KEY=2\n" };
  const tree: headstart.Tree = {
    metadata: (path) => (path in documents ? { kind: "file" as const, size: documents[path]!.length } : disk.metadata(path)),
    read: (path) => (path in documents ? Buffer.from(documents[path]!) : disk.read(path)),
    list: (path) => disk.list(path),
  };
  const change = (path: string, content: string, executable = false) => ({ path, base: null, kind: { type: "write", content, executable } });
  const [below, staged] = [[change("below.txt", "below\n")], [change("staged.txt", "staged\n"), change("run.sh", "#!/bin/sh\necho new\n", true)]].map((changes) => headstart.ChangeSet.fromJSON({ changes, reads: [] }));
  const under = new headstart.Overlay(tree);
  await under.write("below.txt", "below\n");
  const { ran, staged: all } = await inView(
    shell, "cat below.txt staged.txt src/open.ts; ./run.sh; ls -A private . ; cat .env .env.local; echo more >> src/open.ts",
    { below: below!, staged: staged!, deny: ["private"] }, alone(), under,
  );
  assert.match(ran.output, /^below\nstaged\nnot saved\nnew\n/);
  assert.doesNotMatch(ran.output, /KEY|closed|\by\b/);
  assert.deepEqual([all, ran.changedMeanwhile], [{ "staged.txt": "staged\n", "run.sh": "#!/bin/sh\necho new\n", "src/open.ts": "not saved\nmore\n" }, []]);
  shell.dispose();
});

test("only what an accept can make, and what is in the editor as the command found it, is staged", async () => {
  const tree = new headstart.MemoryTree({ "a.txt": "a\n", "src/b.txt": "b\n", "src/new.txt": "new\n" });
  await tree.symlink("ln", "src");
  const file = (content: string, mode = 0o644) => ({ base: { kind: "file" as const, mode }, baseContent: content });
  const folder = { base: { kind: "directory" as const, mode: 0o755 } };
  const write = (content: ViewChange["kind"] & { type: "write" } extends { content: infer Of } ? Of : never, executable = false) => ({ type: "write" as const, content, executable });
  const remove = { type: "delete" as const };
  const link = (target: string) => ({ base: { kind: "symlink" as const, mode: 0o777 }, baseContent: target });
  const leadsTo = (target: string) => ({ type: "link" as const, target });
  const rows: [changes: ViewChange[], staged: Record<string, string>, changedMeanwhile: string[]][] = [
    [[{ path: "a.txt", ...file("a\n"), kind: write("x") }, { path: "c", base: null, kind: write({ base64: "AP8=" }) }], { "a.txt": "x", c: "\0\ufffd" }, []],
    [[{ path: "a.txt", ...file("other\n"), kind: write("x") }], {}, ["a.txt"]],
    [[{ path: "a.txt", base: null, kind: write("x") }, { path: "gone", ...file("x"), kind: remove }], {}, ["a.txt", "gone"]],
    [[{ path: "a.txt", ...folder, kind: remove }], {}, ["a.txt"]],
    // The folder has a file that the command has not seen.
    [[{ path: "src/b.txt", ...file("b\n"), kind: remove }, { path: "src", ...folder, kind: remove }], { "src/b.txt": "(deleted)" }, ["src"]],
    [[{ path: "src/b.txt", ...file("b\n"), kind: remove }, { path: "src/new.txt", ...file("new\n"), kind: remove }, { path: "src", ...folder, kind: write("x") }], { src: "x", "src/b.txt": "(deleted)", "src/new.txt": "(deleted)" }, []],
    [[{ path: "a.txt", ...file("a\n"), kind: write("a\n", true) }], { "a.txt": "a\n" }, []],
    [[{ path: "a.txt", ...file("a\n", 0o755), kind: write("a\n") }], {}, []],
    [[{ path: "a.txt", ...file("a\n", 0o755), kind: write("x", true) }], { "a.txt": "x" }, []],
    [[{ path: "l", base: null, kind: leadsTo("a.txt") }, { path: "new/up", base: null, kind: leadsTo("../a.txt") }], { l: "a.txt", "new/up": "../a.txt" }, []],
    [[{ path: "ln", ...link("src"), kind: remove }], { ln: "(deleted)" }, []],
    [[{ path: "ln", ...link("a.txt"), kind: remove }], {}, ["ln"]],
    [[{ path: "ln", ...link("src"), kind: leadsTo("a.txt") }], { ln: "a.txt" }, []],
    [[{ path: "ln", ...link("src"), kind: write("x") }], { ln: "x" }, []],
    [[{ path: "a.txt", ...file("a\n"), kind: leadsTo("src") }], { "a.txt": "src" }, []],
    // What is written into a folder that takes the place of a link does not go through the link.
    [[{ path: "ln", ...link("src"), kind: { type: "createDirectory" } }, { path: "ln/b.txt", base: null, kind: write("x") }], { "ln/b.txt": "x", ln: "" }, []],
  ];
  for (const [changes, expected, changedMeanwhile] of rows) {
    using overlay = new headstart.Overlay(tree);
    assert.deepEqual(await stage(changes, overlay), changedMeanwhile, JSON.stringify(changes));
    const set = overlay.changeSet();
    assert.deepEqual(Object.fromEntries(set.summary().map(({ path, type }) => [path, type === "delete" ? "(deleted)" : Buffer.from(set.sides(path).after ?? "").toString()])), expected, JSON.stringify(changes));
  }
  for (const [change, why] of [
    [{ path: "l", base: null, kind: leadsTo("/etc/passwd") }, /l\b/],
    [{ path: "l", base: null, kind: leadsTo("../out") }, /l\b/],
    [{ path: "src/l", base: null, kind: leadsTo("../ln/../../out") }, /l\b/],
    [{ path: "l", base: null, kind: { type: "link", target: { base64: "/w==" } } }, /not UTF-8/],
    [{ path: [255], base: null, kind: remove }, /not UTF-8/],
    [{ path: "../out", base: null, kind: write("x") }, /\.\./],
    [{ path: "/etc/x", base: null, kind: write("x") }, /etc/],
  ] as [ViewChange, RegExp][]) {
    using overlay = new headstart.Overlay(tree);
    await assert.rejects(stage([change], overlay), why);
  }
});

test("a program that makes no views, or speaks something else, makes none, and is said; one that has ended is started again", async () => {
  using here = machine();
  const { home, root } = here;
  const confines = `[ "$1" = --version ] && { echo 'headstart 0.1.0'; exit; }; [ "$1" = run ] && { echo confined; exit; }`;
  const cases: [text: string, why: RegExp][] = [
    ["echo \"error: unexpected argument '--here'\" >&2; exit 2", /unexpected argument '--here'/],
    [`echo '{"type":"hello","version":1,"tier":null,"notes":["no user namespaces"]}'; cat > /dev/null`, /^no user namespaces$/],
    [`echo '{"type":"hello","version":2,"tier":"kernel","notes":[]}'; cat > /dev/null`, /another version/],
    [`echo '{"type":"hello","version":1,"tier":"magic","notes":[]}'; cat > /dev/null`, /./],
    ["echo what; cat > /dev/null", /JSON|what/],
    ["head -c 40000000 /dev/zero; cat > /dev/null", /has ended/],
  ];
  for (const [text, why] of cases) {
    const shell = await openWithViews(here, { binary: program(join(home, "tools/headstart"), `#!/bin/sh\n${confines}\n${text}\n`) });
    assert.equal(shell.unconfined, undefined);
    assert.match(shell.withoutViews ?? "", why);
    assert.equal(shell.viewsForConversation().tier, undefined);
    assert.match(aboutCommands(shell), /none of those runs ahead, for there is no view here to run it in: /);
    await assert.rejects(inView(shell, "touch made"), /./);
    shell.dispose();
  }
  // A program that does not confine commands makes no views either.
  const unconfined = await openWithViews(here, { binary: join(home, "nowhere") });
  assert.match(unconfined.withoutViews ?? "", /nowhere is no program/);
  await unconfined.confineBy(BINARY);
  assert.deepEqual([unconfined.withoutViews, unconfined.viewsForConversation().tier], [undefined, "kernel"]);
  assert.match(aboutCommands(unconfined), /Every other command asks you\. Ahead it runs in a view/);
  unconfined.dispose();

  const shell = await openWithViews(here);
  const serves = ofCommandLine([BINARY, "shadow", "serve", "--here", root]);
  assert.ok(serves());
  const pid = readdirSync("/proc").find((name) => /^\d+$/.test(name) && commandLine(name) === [BINARY, "shadow", "serve", "--here", root, ""].join("\0"));
  process.kill(Number(pid), "SIGKILL");
  await until("it has ended", () => !serves());
  // A call that comes before the end was noticed fails with it; the next one starts the program again.
  const again = () => inView(shell, "echo again > made");
  assert.equal((await again().catch(again)).staged.made, "again\n");
  assert.ok(serves());
  shell.dispose();
  assert.throws(() => readFileSync(join(root, "made")));
});

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

test("in a conversation tests and formatters run ahead in a view, nothing is written before Tab, and all of it with Tab", async () => {
  using here = machine();
  const { home, root } = here;
  const shell = await openWithViews(here);
  writeFileSync(join(root, "check.sh"), "grep -q yours notes.md && echo '1 passed' || exit 1\n");
  const edit = { toolCalls: [{ name: "edit", args: { file_path: "notes.md", old_string: "mine", new_string: "yours" } }] };
  const { session, requests } = await talk(root, shell, {
    turns: [says("cat notes.md"), { text: "Looked." }, edit, says("bash check.sh && echo checked > log.txt"), says("sed -i s/yours/ours/ notes.md; cat log.txt; pwd"), { text: "Done." }],
    suggestions: ["check it", ""],
  });
  await session.submit("begin");
  const before = everything(home);
  await until("it is ready", () => session.view.ahead?.state === "ready");
  assert.deepEqual(everything(home), before);
  assert.deepEqual(session.view.ahead?.files.map(({ path, change }) => [path, change]), [["log.txt", "create"], ["notes.md", "modify"]]);
  assert.equal(session.view.ahead?.untested, undefined);
  const read = JSON.stringify(requests.at(-1));
  assert.match(read, /1 passed\\n\[changed: log\.txt\]/);
  assert.ok(read.includes(`checked\\n${root}\\n[changed: notes.md]`), read);
  // A key that comes as soon as the suggestion shows does not count.
  await delay(420);
  session.accept("tab");
  await until("it is accepted", () => session.view.busy === "idle" && session.view.ahead === undefined);
  assert.deepEqual([readFileSync(join(root, "notes.md"), "utf8"), readFileSync(join(root, "log.txt"), "utf8")], ["ours\n", "checked\n"]);
  session.dispose();
  shell.dispose();
});

test("at the accept files are named that changed since the last command of the work ran, and no others", async () => {
  using here = machine();
  const { root } = here;
  // Two documents have unsaved changes while the tests run.
  const texts: Record<string, string> = { "kept.ts": "kept\n", "saved.ts": "saved\n" };
  const unsaved = Object.keys(texts);
  for (const path of unsaved) writeFileSync(join(root, path), "old\n");
  writeFileSync(join(root, ".gitignore"), "out\n");
  writeFileSync(join(root, "check.sh"), "grep -q mine notes.md && mkdir -p out && touch out/x && echo '1 passed'\n");
  const shell = await openWithViews(here, { unsaved, textOf: (path) => texts[path] });
  const { session } = await talk(root, shell, {
    turns: [says("cat notes.md"), { text: "Looked." }, says("bash check.sh > log.txt; cat log.txt"), { text: "Done." }], suggestions: ["check it", ""],
  });
  await session.submit("begin");
  await until("it is ready", () => session.view.ahead?.state === "ready");
  await delay(420);
  // The user saves a file that the tests read, one document as the tests saw it, and goes on in another document.
  writeFileSync(join(root, "notes.md"), "ours\n");
  writeFileSync(join(root, "saved.ts"), "saved\n");
  writeFileSync(join(root, ".git-not"), "new\n");
  mkdirSync(join(root, "out"));
  writeFileSync(join(root, "out/x"), "ignored\n");
  unsaved.splice(1, 1);
  texts["kept.ts"] = "kept on\n";
  session.accept("tab");
  await until("it is accepted", () => session.view.busy === "idle" && session.view.ahead === undefined);
  assert.equal(readFileSync(join(root, "log.txt"), "utf8"), "1 passed\n");
  const warnings = session.items.flatMap((item) => (item.kind === "note" && item.tone === "warning" ? [item.text] : []));
  assert.deepEqual(warnings, ["3 files changed since the last command ran ahead, which has not seen them: .git-not, kept.ts, notes.md."]);
  session.dispose();
  shell.dispose();
});

test("where nothing changed since, an accept says nothing of it, and nor does one of work that ran no command in a view", async () => {
  for (const command of ["bash check.sh > log.txt", "cat check.sh"]) {
    using here = machine();
    writeFileSync(join(here.root, "check.sh"), "echo '1 passed'\n");
    const shell = await openWithViews(here);
    const { session } = await talk(here.root, shell, { turns: [says("cat notes.md"), { text: "Looked." }, says(command), { text: "Done." }], suggestions: ["check it", ""] });
    await session.submit("begin");
    await until("it is ready", () => session.view.ahead?.state === "ready");
    await delay(420);
    if (command === "cat check.sh") writeFileSync(join(here.root, "new.md"), "new\n");
    session.accept("tab");
    await until("it is accepted", () => session.view.busy === "idle" && session.view.ahead === undefined);
    assert.deepEqual(session.items.filter((item) => item.kind === "note" && item.tone === "warning"), [], command);
    session.dispose();
    shell.dispose();
  }
});

test("what is typed instead drops all of it, and the gate still stops what no view is for", async () => {
  using here = machine();
  const { home, root } = here;
  const shell = await openWithViews(here);
  const { session } = await talk(root, shell, { turns: [says("cat notes.md"), { text: "Looked." }, says("echo x > made; rm notes.md"), says("curl -s http://127.0.0.1/ > page"), { text: "Never." }, { text: "Else." }], suggestions: ["make it", ""] });
  await session.submit("begin");
  const before = everything(home);
  await until("it waits", () => session.view.ahead?.state === "waits");
  assert.match(session.view.ahead?.waitsFor ?? "", /curl/);
  assert.deepEqual(session.view.ahead?.files.map(({ path }) => path), ["made", "notes.md"]);
  await session.submit("something else");
  assert.deepEqual(everything(home), before);
  session.dispose();
  shell.dispose();
});

test("where views are turned off, a command that writes stops the work, and in a turn commands run as ever", async () => {
  using here = machine();
  const shell = await open(here.root);
  assert.match(shell.withoutViews ?? "", /views are turned off/);
  const { session } = await talk(here.root, shell, { turns: [says("cat notes.md"), { text: "Looked." }, says("echo x > made"), { text: "Done." }], suggestions: ["make it", ""] });
  await session.submit("begin");
  await until("it waits", () => session.view.ahead?.state === "waits");
  assert.equal(session.view.ahead?.untested, true);
  assert.throws(() => readFileSync(join(here.root, "made")));
  assert.equal((await ran(shell, "echo $HOME")).exitCode, 0);
  // A key that comes as soon as the suggestion shows does not count.
  await delay(420);
  session.accept("tab");
  await waitsFor(session);
  session.dispose();
  shell.dispose();
});
