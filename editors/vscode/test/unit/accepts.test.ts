// Tests of accepts of work that ran in views, in the bundle as a host loads it: what an editor has no call for is on the
// disk, or nothing of the accept is. They use the real program.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { DesktopHost } from "./desktop-host.js";
import { BINARY, machine, says, until } from "./shell-machine.js";

/** What is in a folder, by paths: contents, an x behind those of executable files, and where links lead. */
function contents(root: string, folder = "."): Record<string, string> {
  const rows = readdirSync(join(root, folder)).flatMap((name) => {
    const path = join(folder, name);
    const found = lstatSync(join(root, path));
    if (found.isSymbolicLink()) return [[path, `-> ${readlinkSync(join(root, path))}`]];
    if (found.isDirectory()) return [[path, "/"], ...Object.entries(contents(root, path))];
    return [[path, readFileSync(join(root, path), "utf8") + ((found.mode & 0o111) === 0 ? "" : "x")]];
  });
  return Object.fromEntries(rows.filter(([path]) => path !== ".env" && path !== "recording.json") as [string, string][]);
}

interface Window {
  host: DesktopHost;
  root: string;
  home: string;
  /** Takes the work, once it is ready. */
  tab(): Promise<void>;
}

/** A window in which work ahead has run these commands. */
async function workedAhead(commands: string | string[], use: (window: Window) => Promise<void>, prepare: (root: string) => void = () => {}, given: { state?: string; mode?: string } = {}): Promise<void> {
  using here = machine();
  const { root, home } = here;
  prepare(root);
  writeFileSync(join(root, "recording.json"), JSON.stringify({ turns: [says("cat notes.md"), { text: "Looked." }, ...[commands].flat().map(says), { text: "Done." }], suggestions: ["go on", ""] }));
  const saved = { HOME: process.env.HOME, HEADSTART_SHADOW: process.env.HEADSTART_SHADOW };
  Object.assign(process.env, { HOME: home, HEADSTART_SHADOW: "" });
  const settings = { provider: "recording", recording: "recording.json", index: false, binary: BINARY, mode: given.mode ?? "auto-edit", background: "always" };
  const host = new DesktopHost({ bundle: "extension.js", root, settings });
  try {
    await until("something is said of commands", () => (host.state?.commands ?? "") !== "");
    assert.match(host.state?.commands ?? "", /Ahead it runs in a view/);
    host.say({ type: "submit", text: "begin" });
    await until(`it has ended: ${commands}`, () => host.state?.ahead !== undefined && host.state.ahead.state !== "running");
    assert.equal(host.state?.ahead?.state, given.state ?? "ready", host.state?.ahead?.waitsFor);
    // A key that comes as soon as the suggestion shows does not count.
    const tab = async () => {
      await delay(450);
      host.say({ type: "accept", method: "tab" });
      await until("it is accepted", () => host.state?.ahead === undefined && (host.state?.busy === "idle" || host.state?.question !== undefined));
    };
    await use({ host, root, home, tab });
  } finally {
    host.close();
    for (const [name, value] of Object.entries(saved)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

const notes = (host: DesktopHost) => [...host.items.values()].flatMap((item) => (item.kind === "note" && item.tone === "warning" ? [item.text] : []));

/** A folder with links and bits of each kind. */
function linked(root: string): void {
  symlinkSync("notes.md", join(root, "link"));
  symlinkSync("src", join(root, "folder-link"));
  for (const name of ["run.sh", "other.sh"]) writeFileSync(join(root, name), "#!/bin/sh\n");
  chmodSync(join(root, "run.sh"), 0o755);
  mkdirSync(join(root, "old"));
  writeFileSync(join(root, "old/a"), "a\n");
  writeFileSync(join(root, "file"), "file\n");
}

test("links and executable bits of work ahead are on the disk with an accept, and nothing is before", async () => {
  const rows: [command: string, after: Record<string, string | undefined>][] = [
    ["ln -s notes.md new-link; mkdir deep; ln -s ../notes.md deep/up; echo yours > notes.md", { "new-link": "-> notes.md", deep: "/", "deep/up": "-> ../notes.md", "notes.md": "yours\n" }],
    ["rm link; ln -sfn old folder-link", { link: undefined, "folder-link": "-> old" }],
    ["rm link; echo file > link; rm file; ln -s notes.md file", { link: "file\n", file: "-> notes.md" }],
    ["rm folder-link; mkdir folder-link; echo x > folder-link/x; rm -r old; ln -s src old", { "folder-link": "/", "folder-link/x": "x\n", old: "-> src", "old/a": undefined }],
    ["chmod -x run.sh; chmod +x other.sh", { "run.sh": "#!/bin/sh\n", "other.sh": "#!/bin/sh\nx" }],
    ["chmod +x other.sh; echo 'echo x' >> other.sh; printf '#!/bin/sh\\n' > new.sh; chmod +x new.sh; cp run.sh bin.sh", { "other.sh": "#!/bin/sh\necho x\nx", "new.sh": "#!/bin/sh\nx", "bin.sh": "#!/bin/sh\nx" }],
    ["mv link moved; mv run.sh src/", { link: undefined, moved: "-> notes.md", "run.sh": undefined, "src/run.sh": "#!/bin/sh\nx" }],
  ];
  for (const [command, after] of rows) {
    await workedAhead(command, async ({ host, root, tab }) => {
      const before = contents(root);
      await tab();
      const expected = Object.fromEntries(Object.entries({ ...before, ...after }).filter(([, content]) => content !== undefined));
      assert.deepEqual(contents(root), expected, `${command}: ${notes(host).join(" ")} ${host.state?.question?.reason}`);
      assert.deepEqual([notes(host), host.warnings], [[], []], command);
    }, linked);
  }
});

test("where something else is in the place of a link, or of a file with another bit, nothing of the accept is written", async () => {
  const rows: [command: string, meanwhile: (root: string) => void][] = [
    ["ln -s notes.md new-link; echo yours > notes.md", (root) => writeFileSync(join(root, "new-link"), "mine\n")],
    ["mkdir deep; ln -s notes.md deep/link; echo yours > notes.md", (root) => symlinkSync("src", join(root, "deep"))],
    ["ln -sfn old folder-link; echo yours > notes.md", (root) => (rmSync(join(root, "folder-link")), symlinkSync("bin", join(root, "folder-link")))],
    ["rm -r old; ln -s src old; echo yours > notes.md", (root) => writeFileSync(join(root, "old/new"), "mine\n")],
    ["chmod +x other.sh; echo yours > notes.md", (root) => rmSync(join(root, "other.sh"))],
  ];
  for (const [command, meanwhile] of rows) {
    await workedAhead(command, async ({ host, root, tab }) => {
      meanwhile(root);
      const before = contents(root);
      await tab();
      assert.deepEqual(contents(root), before, command);
      assert.ok(host.state?.question !== undefined || 0 < notes(host).length, command);
    }, linked);
  }
  // At the moment of the write, after everything was compared.
  await workedAhead("ln -s notes.md new-link; echo yours > notes.md; chmod +x other.sh", async ({ host, root, tab }) => {
    const before = contents(root);
    host.beforeEdit = () => false;
    await tab();
    assert.deepEqual(contents(root), before, "what the editor refuses is taken back");
    assert.match(notes(host).join(), /Not applied, nothing was changed: the editor refused the edit/);
  }, linked);
});

test("a link that leads out is never on the disk, whatever the command calls it", async () => {
  await workedAhead("ln -s /etc/passwd a; ln -s ../../etc b; ln -s ~/x c; mkdir d; ln -s ../../x d/e; echo made > made", async ({ root, tab }) => {
    const before = contents(root);
    await tab();
    assert.deepEqual(contents(root), { ...before, made: "made\n", d: "/" });
  });
});

const git = (root: string, ...words: string[]) =>
  execFileSync("git", ["-c", "user.name=u", "-c", "user.email=u@v", ...words], { cwd: root, encoding: "utf8", env: { PATH: process.env.PATH, HOME: join(root, "..") } }).trim();
const COMMIT = "git -c user.name=a -c user.email=a@b commit -q";

/** A repository with a commit, and with hooks of the user's that no accept may run. */
function repository(root: string): void {
  git(root, "init", "-q", "-b", "main", ".");
  writeFileSync(join(root, ".gitignore"), ".env\nrecording.json\n");
  git(root, "add", "-A");
  git(root, "commit", "-q", "-m", "first");
  // In a view, where the commands' own commits run them, there is nothing beside the project.
  writeFileSync(join(root, "../beside"), "");
  for (const hook of ["post-commit", "reference-transaction", "post-index-change"]) {
    writeFileSync(join(root, ".git/hooks", hook), `#!/bin/sh\ntest ! -e ${root}/../beside || touch ${root}/../hooked\n`, { mode: 0o755 });
  }
}

/** The files, and all of the repository. */
const state = (root: string) => JSON.stringify(contents(root));

test("a commit of work ahead is made with the files, or not at all, and runs no hook", async () => {
  const command = `echo yours > notes.md; echo made > made; git add -A && ${COMMIT} -m second && git tag v1 && echo later >> made`;
  let before = "";
  const prepare = (root: string) => {
    repository(root);
    before = state(root);
  };
  await workedAhead([command, "git log --format=%s; git status --porcelain"], async ({ host, root, home, tab }) => {
    assert.equal(state(root), before, "nothing is there before");
    assert.match(host.state?.ahead?.headline ?? "", /1 commit on main, tag v1|tag v1, 1 commit on main/);
    assert.match(JSON.stringify(host.state?.ahead?.calls), /second/, "the next command sees the commit");
    await tab();
    assert.ok(!existsSync(join(home, "hooked")));
    assert.deepEqual([git(root, "log", "--format=%s"), git(root, "rev-parse", "v1")], ["second\nfirst", git(root, "rev-parse", "HEAD")]);
    assert.deepEqual([contents(root)["notes.md"], contents(root).made], ["yours\n", "made\nlater\n"]);
    assert.equal(git(root, "status", "--porcelain"), "M made");
    assert.match([...host.items.values()].map((item) => (item.kind === "note" ? item.text : "")).join("\n"), /In the git repository: .*1 commit on main/);
    git(root, "fsck");
  }, prepare);

  await workedAhead(command, async ({ host, root, home, tab }) => {
    host.beforeEdit = () => false;
    await tab();
    assert.ok(!existsSync(join(home, "hooked")));
    assert.deepEqual([git(root, "log", "--format=%s", "--all"), git(root, "tag"), git(root, "status", "--porcelain")], ["first", "", ""]);
    assert.match(notes(host).join(), /Not applied, nothing was changed: the editor refused the edit/);
  }, prepare);
});

test("where git was used meanwhile, nothing of the accept is written, and it is said", async () => {
  const command = `echo yours > notes.md; git commit -q -a -m x 2>/dev/null || ${COMMIT} -a -m second`;
  const rows: [meanwhile: (root: string) => void, why: RegExp][] = [
    [(root) => git(root, "-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "theirs"), /The branch main has moved since the work began/],
    [(root) => git(root, "-c", "core.hooksPath=/dev/null", "checkout", "-q", "-b", "other"), /Another branch or commit is checked out/],
  ];
  for (const [meanwhile, why] of rows) {
    await workedAhead(command, async ({ host, root, tab }) => {
      meanwhile(root);
      const before = [git(root, "rev-parse", "HEAD"), git(root, "symbolic-ref", "HEAD"), readFileSync(join(root, "notes.md"), "utf8"), readFileSync(join(root, ".git/index"), "latin1")];
      await tab();
      await until("a question", () => host.state?.question !== undefined);
      assert.equal(host.state?.question?.title, "Git was used since the work began.");
      assert.match(host.state?.question?.reason ?? "", why);
      assert.deepEqual(host.state?.question?.choices.map(({ answer }) => answer), ["anew", "no"]);
      assert.deepEqual([git(root, "rev-parse", "HEAD"), git(root, "symbolic-ref", "HEAD"), readFileSync(join(root, "notes.md"), "utf8"), readFileSync(join(root, ".git/index"), "latin1")], before);
    }, repository);
  }
  // What its user staged meanwhile stays staged.
  await workedAhead(command, async ({ root, tab }) => {
    writeFileSync(join(root, "theirs"), "theirs\n");
    git(root, "-c", "core.hooksPath=/dev/null", "add", "theirs");
    await tab();
    assert.deepEqual([git(root, "log", "--format=%s"), git(root, "status", "--porcelain")], ["second\nfirst", "A  theirs"]);
  }, repository);
});

test("what a command does to hooks and to the configuration stops the work, and is never in the repository", async () => {
  const commands = [
    `printf '#!/bin/sh\\ntouch ../pwned\\n' > .git/hooks/pre-push; chmod +x .git/hooks/pre-push; ${COMMIT} --allow-empty -m x`,
    `git config core.hooksPath bin; ${COMMIT} --allow-empty -m x`,
    `git config core.fsmonitor ./x; ${COMMIT} --allow-empty -m x`,
    "ln -s /etc .git/refs/heads/etc",
    "rm .git/hooks/post-commit; echo x > .git/info/exclude",
    `mkdir -p sub && cd sub && git init -q . && git config core.fsmonitor ./x`,
  ];
  for (const command of commands) {
    let before = "";
    await workedAhead(command, async ({ host, root, home }) => {
      assert.match(host.state?.ahead?.waitsFor ?? "", /repository|\.git|branch/, command);
      assert.equal(state(root), before, command);
      host.say({ type: "submit", text: "something else" });
      await until("it is dropped", () => host.state?.ahead === undefined);
      assert.equal(state(root), before, command);
      assert.ok(!existsSync(join(home, "pwned")) && !existsSync(join(home, "hooked")));
    }, (root) => {
      repository(root);
      before = state(root);
    }, { state: "waits" });
  }
});

test("a mode that asks before a write asks about a commit, and without a yes there is none", async () => {
  await workedAhead(`echo yours > notes.md; ${COMMIT} -a -m second`, async ({ host, root, tab }) => {
    await tab();
    await until("a question", () => host.state?.question !== undefined);
    assert.match(host.state?.question?.subject ?? "", /1 file \+1 −1, 1 commit on main/);
    assert.equal(git(root, "log", "--format=%s"), "first");
    await delay(450);
    host.say({ type: "answer", id: host.state?.question?.id ?? "", answer: "yes" });
    await until("it is accepted", () => git(root, "log", "--format=%s") === "second\nfirst" && readFileSync(join(root, "notes.md"), "utf8") === "yours\n");
  }, repository, { mode: "default" });
});
