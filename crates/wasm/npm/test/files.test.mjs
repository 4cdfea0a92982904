import assert from "node:assert/strict";
import { test } from "node:test";
import { ChangeSet, commit, DisposedError, InputError, MemoryTree, Overlay, TreeError } from "headstart";
import { failsWith, hostTree, text } from "./support.mjs";

const JAVASCRIPT = { "src/a.js": "one\n", "src/b.js": "two\n", "README.md": "# hi\n" };

for (const [name, make] of [["memory", (files) => new MemoryTree(files)], ["callbacks", (files) => hostTree(files)]]) {
  test(`an overlay over ${name} shows what is staged, and its base does not`, async () => {
    const base = make(JAVASCRIPT);
    const overlay = new Overlay(base);
    await overlay.write("src/a.js", "ONE\n");
    await overlay.write("new/deep/file", new Uint8Array([0, 255]));
    await overlay.rename("src/b.js", "src/c.js");
    await overlay.remove("README.md");
    await overlay.createDir("empty");
    assert.equal(await overlay.readText("src/a.js"), "ONE\n");
    assert.deepEqual(await overlay.list(""), [
      { name: "empty", kind: "directory" }, { name: "new", kind: "directory" }, { name: "src", kind: "directory" },
    ]);
    assert.deepEqual(await overlay.metadata("new/deep/file"), { kind: "file", size: 2, executable: false });
    assert.equal(await overlay.metadata("README.md"), undefined);
    assert.equal(await overlay.metadata("src/a.js/below"), undefined);
    assert.equal(text(await base.read("src/a.js")), "one\n");
    assert.deepEqual(overlay.changeSet().summary(), [
      { path: "README.md", type: "delete", added: 0, removed: 1, binary: false },
      { path: "empty", type: "createDirectory", added: 0, removed: 0, binary: false },
      { path: "new/deep/file", type: "create", added: 0, removed: 0, binary: true },
      { path: "src/a.js", type: "modify", added: 1, removed: 1, binary: false },
      { path: "src/c.js", type: "rename", from: "src/b.js", added: 0, removed: 0, binary: false },
    ]);
    assert.equal(overlay.usage().files, 6);

    const outcome = await commit(base, overlay.changeSet());
    assert.deepEqual(outcome, { type: "committed", merged: [], staleReads: [] });
    assert.equal(text(await base.read("src/a.js")), "ONE\n");
    assert.deepEqual((await base.list("src")).map((entry) => entry.name).sort(), ["a.js", "c.js"]);
    assert.deepEqual(await base.read("new/deep/file"), new Uint8Array([0, 255]));
    overlay.discard();
    assert.ok(overlay.changeSet().isEmpty);
  });

  test(`a change set over ${name} survives JSON`, async () => {
    const base = make({ ...JAVASCRIPT, bin: new Uint8Array([0, 1, 254]), "ü/𝄞.txt": "\ufeffmusic\n" });
    const overlay = new Overlay(base);
    await overlay.list("");
    await overlay.list("src");
    await overlay.read("README.md");
    await overlay.metadata("nothing");
    await overlay.write("bin", new Uint8Array([0, 2, 254]));
    await overlay.write("ü/𝄞.txt", "\ufeffMusic\n", { executable: true });
    await overlay.remove("src");
    const changes = overlay.changeSet();
    const kept = ChangeSet.fromJSON(JSON.parse(JSON.stringify({ changes })).changes);
    assert.deepEqual(kept.toJSON(), changes.toJSON());
    assert.equal(JSON.stringify(kept), JSON.stringify(changes));
    assert.equal(kept.diff(), changes.diff());
    assert.equal(kept.patch(), changes.patch());
    assert.match(kept.patch(), /^GIT binary patch$/m);
    assert.match(kept.diff(), /^Binary files a\/bin and b\/bin differ$/m);
    assert.deepEqual(kept.sides("bin"), { before: new Uint8Array([0, 1, 254]), after: new Uint8Array([0, 2, 254]) });
    assert.deepEqual(Object.keys(kept.sides("src/a.js")), ["before"]);
    assert.throws(() => kept.sides("nothing"), failsWith(InputError, "invalid_input", /nothing is not among/));
    // A change set contains what was read, so a stored one must be as good for a commit as that of the overlay.
    assert.equal((await commit(base, kept)).type, "committed");
  });
}

test("overlays stack, and two change sets are one", async () => {
  const base = new MemoryTree({ a: "1\n" });
  const below = new Overlay(base);
  await below.rename("a", "b");
  const above = new Overlay(below);
  assert.equal(await above.readText("b"), "1\n");
  await above.write("b", "2\n");
  const both = below.changeSet().followedBy(above.changeSet());
  assert.deepEqual(both.summary(), [{ path: "b", type: "rename", from: "a", added: 1, removed: 1, binary: false }]);
  assert.deepEqual(both.sides("b"), { before: Buffer.from("1\n").buffer && new Uint8Array([49, 10]), after: new Uint8Array([50, 10]) });
  assert.equal((await commit(base, ChangeSet.fromJSON(both.toJSON()))).type, "committed");
  assert.deepEqual(Object.keys(base.snapshot()), ["b"]);
  // An overlay can be the target of a commit, like any object with these methods.
  const work = new Overlay(below);
  await work.write("new", "x");
  assert.equal((await commit(below, work.changeSet())).type, "committed");
  assert.equal(await below.readText("new"), "x");
});

test("what changed below is merged, a conflict, or a warning", async () => {
  for (const modified of [true, false]) {
    const base = hostTree({ a: "1\n2\n3\n4\n5\n", b: "x\n", c: "read\n" }, { modified });
    const overlay = new Overlay(base);
    await overlay.read("c");
    await overlay.write("a", "one\n2\n3\n4\n5\n");
    base.put("a", "1\n2\n3\n4\nfive\n");
    assert.deepEqual(await commit(base, overlay.changeSet()), { type: "committed", merged: ["a"], staleReads: [] });
    assert.equal(base.snapshot().a, "one\n2\n3\n4\nfive\n");

    const other = new Overlay(base);
    await other.read("c");
    await other.write("b", "mine\n");
    base.put("b", "theirs\n");
    base.put("c", "other\n");
    const before = base.snapshot();
    const conflict = await commit(base, other.changeSet());
    assert.equal(conflict.type, "conflict");
    assert.deepEqual(conflict.conflicts.map(({ path, kind }) => [path, kind]), [["b", "modified"], ["c", "staleRead"]]);
    assert.equal(conflict.conflicts[0].staged.len, 5);
    assert.equal(conflict.conflicts[0].found.len, 7);
    assert.deepEqual(base.snapshot(), before);

    base.put("b", "x\n");
    const warned = await commit(base, other.changeSet(), { staleReads: "warn", merge: "never" });
    assert.equal(warned.type, "committed");
    assert.deepEqual(warned.staleReads.map(({ path }) => path), ["c"]);
  }
});

test("an edit of the same size shows by the content where the tree has no times", async () => {
  const base = hostTree({ a: "one\n" }, { modified: false });
  const overlay = new Overlay(base);
  await overlay.write("a", "work\n");
  base.put("a", "two\n");
  assert.equal((await commit(base, overlay.changeSet())).type, "conflict");
});

test("where times are given, contents are not read again", async () => {
  const base = hostTree({ a: "one\n", b: "two\n" });
  const overlay = new Overlay(base);
  await overlay.read("b");
  await overlay.write("a", "work\n");
  base.calls.length = 0;
  assert.equal((await commit(base, overlay.changeSet())).type, "committed");
  assert.deepEqual(base.calls, ["write a"]);
});

test("a tree that changes during a commit is a conflict, and what was done is taken back", async () => {
  const base = hostTree({ a: "1", b: "2", c: "3" });
  const overlay = new Overlay(base);
  for (const path of ["a", "b", "c"]) await overlay.write(path, "new");
  await overlay.write("folder/d", "new");
  const write = base.write;
  base.write = async (path, ...rest) => {
    await write(path, ...rest);
    if (path === "b") base.put("c", "its user's");
  };
  const outcome = await commit(base, overlay.changeSet());
  assert.deepEqual(outcome.conflicts.map(({ path, kind }) => [path, kind]), [["c", "modified"]]);
  assert.deepEqual(base.snapshot(), { a: "1", b: "2", c: "its user's" });
});

test("a write that fails in the middle is rolled back", async () => {
  for (const half of [false, true]) {
    const base = hostTree({ a: "1", b: "2", c: "3", gone: "4" });
    const overlay = new Overlay(base);
    for (const path of ["a", "b", "c", "x/y/z"]) await overlay.write(path, "new");
    await overlay.remove("gone");
    const before = base.snapshot();
    const write = base.write;
    base.write = async (path, content, options) => {
      if (path !== "x/y/z" || text(content) !== "new") return write(path, content, options);
      if (half) base.put(path, "ne");
      throw new Error("the disk is full");
    };
    const error = failsWith(TreeError, "io", /^x\/y\/z: write of the tree failed: the disk is full$/, "x/y/z");
    await assert.rejects(commit(base, overlay.changeSet()), error);
    assert.deepEqual(base.snapshot(), before);
  }
});

test("two commits to one tree run one after the other", async () => {
  const base = hostTree({ a: "1", b: "1" });
  const running = { now: 0, most: 0 };
  for (const method of ["write", "metadata"]) {
    const plain = base[method];
    base[method] = async (path, ...rest) => {
      running.most = Math.max(running.most, ++running.now);
      await new Promise((resolve) => setTimeout(resolve, 2));
      const answer = await plain(path, ...rest);
      running.now -= 1;
      return answer;
    };
  }
  const sets = [];
  for (const [path, content] of [["a", "A"], ["b", "B"], ["a", "other"]]) {
    const overlay = new Overlay(base);
    await overlay.write(path, content);
    sets.push(overlay.changeSet());
  }
  running.most = 0;
  const outcomes = await Promise.all(sets.map((changes) => commit(base, changes)));
  assert.deepEqual(outcomes.map(({ type }) => type), ["committed", "committed", "conflict"]);
  assert.equal(running.most, 1);
  assert.deepEqual(base.snapshot(), { a: "A", b: "B" });
  // A commit that fails must not block the next one.
  base.write = () => { throw new Error("no"); };
  const overlay = new Overlay(base);
  await overlay.write("b", "C");
  const changes = overlay.changeSet();
  const failed = await Promise.allSettled([commit(base, changes), commit(base, changes)]);
  assert.deepEqual(failed.map(({ status }) => status), ["rejected", "rejected"]);
});

test("a quota is kept", async () => {
  const overlay = new Overlay(new MemoryTree(), { files: 1, fileBytes: 4, depth: 2 });
  await overlay.write("a", "1234");
  await assert.rejects(overlay.write("b", ""), failsWith(TreeError, "quota", /limit of 1 files/, "b"));
  await assert.rejects(overlay.write("a", "12345"), failsWith(TreeError, "quota", /4 bytes in one file/));
  assert.throws(() => new Overlay(new MemoryTree(), { file: 1 }), failsWith(InputError, "invalid_input", /^quota\.file: there is no such option; did you mean files\?$/));
  assert.throws(() => new Overlay(new MemoryTree(), { files: -1 }), failsWith(InputError, "invalid_input", /files/));
});

test("a memory tree is a tree of its user", async () => {
  const tree = new MemoryTree({ "a/b": "1", __proto__x: "", "c.sh": new Uint8Array([35]) });
  await tree.write("c.sh", "#!", { executable: true });
  assert.equal((await tree.metadata("c.sh")).executable, true);
  await tree.write("c.sh", "#!x");
  assert.equal((await tree.metadata("c.sh")).executable, true);
  const { modified } = await tree.metadata("c.sh");
  await tree.write("c.sh", "#!y");
  assert.notEqual((await tree.metadata("c.sh")).modified, modified);
  await tree.symlink("link", "a/b");
  assert.equal(await tree.readLink("link"), "a/b");
  assert.equal((await tree.metadata("link")).kind, "symlink");
  assert.equal(text(await tree.read("link")), "1");
  await tree.createDir("d/e");
  assert.deepEqual(await tree.list("d"), [{ name: "e", kind: "directory" }]);
  assert.deepEqual(Object.keys(tree.snapshot()), ["__proto__x", "a/b", "c.sh"]);
  const cases = [
    ["not_found", () => tree.read("x")],
    ["is_a_directory", () => tree.write("a", "")],
    ["is_a_directory", () => tree.write("", "")],
    ["not_a_directory", () => tree.write("a/b/c", "")],
    ["not_a_directory", () => tree.write("link/c", "")],
    ["not_a_directory", () => tree.createDir("a/b/c")],
    ["unsupported", () => tree.write("link", "")],
    ["unsupported", () => tree.remove("a")],
    ["unsupported", () => tree.remove("")],
    ["unsupported", () => tree.readLink("a")],
    ["not_found", () => tree.remove("x")],
    ["already_exists", () => tree.createDir("a")],
    ["already_exists", () => tree.symlink("a", "b")],
    ["escapes", () => tree.read("../x")],
    ["escapes", () => tree.write("/etc/passwd", "")],
  ];
  for (const [code, call] of cases) await assert.rejects(call(), failsWith(TreeError, code));
  assert.throws(() => new MemoryTree({ a: "", "a/b": "" }), failsWith(TreeError, "not_a_directory", /^a is not/, "a"));
  tree.dispose();
  tree.dispose();
  await assert.rejects(tree.read("a/b"), failsWith(DisposedError, "disposed"));
});

test("a subclass, and a method that was put over ours, count", async () => {
  class Loud extends MemoryTree {
    async read(path) {
      return Buffer.concat([await super.read(path), Buffer.from("!")]);
    }
  }
  assert.equal(await new Overlay(new Loud({ a: "1" })).readText("a"), "1!");
  const tree = new MemoryTree({ a: "1" });
  tree.read = async () => new Uint8Array([50]);
  assert.equal(await new Overlay(tree).readText("a"), "2");
});

test("disposing leaves what is on its way, and nothing else", async () => {
  let answer;
  const base = { ...hostTree({ a: "1" }), read: () => new Promise((resolve) => (answer = resolve)) };
  const overlay = new Overlay(base);
  const waiting = overlay.read("a");
  while (!answer) await new Promise((resolve) => setImmediate(resolve));
  overlay.dispose();
  answer(new Uint8Array([49]));
  assert.deepEqual(await waiting, new Uint8Array([49]));
  await assert.rejects(overlay.read("a"), failsWith(DisposedError, "disposed"));
  assert.throws(() => overlay.changeSet(), failsWith(DisposedError, "disposed"));
});

test("a tree that never answers holds up nobody else", async () => {
  const base = { ...hostTree({ a: "1", b: "2" }) };
  const read = base.read;
  base.read = (path) => (path === "a" ? new Promise(() => {}) : read(path));
  const overlay = new Overlay(base);
  const stuck = overlay.read("a");
  assert.equal(await overlay.readText("b"), "2");
  await overlay.write("c", "3");
  assert.deepEqual(overlay.changeSet().summary().map(({ path }) => path), ["c"]);
  const outcome = await Promise.race([stuck, new Promise((resolve) => setTimeout(resolve, 20, "waits"))]);
  assert.equal(outcome, "waits");
  overlay.dispose();
});

test("a link is staged as a link, and one that leads out is refused", async () => {
  const base = new MemoryTree({ "a.txt": "a" });
  const overlay = new Overlay(base);
  await overlay.symlink("deep/link", "../a.txt");
  assert.deepEqual([await overlay.readLink("deep/link"), await overlay.readText("deep/link")], ["../a.txt", "a"]);
  for (const target of ["/etc/passwd", "../out", "deep/../../out"]) {
    await assert.rejects(overlay.symlink("out", target), failsWith(TreeError, "escapes"));
  }
  await assert.rejects(overlay.symlink("a.txt", "b"), failsWith(TreeError, "already_exists"));
  await commit(base, overlay.changeSet());
  assert.equal(await base.readLink("deep/link"), "../a.txt");
});
