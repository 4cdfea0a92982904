// Tests of trees that take a commit as a whole.

import assert from "node:assert/strict";
import { test } from "node:test";
import { commit, Engine, InputError, MemoryTree, Overlay, TreeError, recordedModel } from "headstart";
import { failsWith, hostTree, text } from "./support.mjs";

/** A tree of callbacks that has one for a whole commit, and none for its single paths. */
function atomicTree(files, meanwhile = () => {}) {
  const { write, createDir, remove, ...host } = hostTree(files);
  const commits = [];
  return {
    ...host,
    commits,
    async commitAll(steps) {
      commits.push(steps);
      await meanwhile(steps);
      const now = host.snapshot();
      const isChanged = ({ path, type, before }) => (type === "replace" || type === "remove") && now[path] !== text(before) || type === "create" && path in now;
      const conflicts = steps.filter(isChanged).map(({ path }) => path);
      if (conflicts.length > 0) return { conflicts };
      for (const { type, path, content, executable } of steps) {
        if (type === "create" || type === "replace") await write(path, content, { executable });
        else if (type === "createDir") await createDir(path);
        else await remove(path);
      }
    },
  };
}

const FILES = { "a.txt": "a\n", "b.txt": "1\n2\n3\n4\n5\n", "old/c.txt": "c\n" };

async function work(base) {
  const overlay = new Overlay(base);
  await overlay.write("a.txt", "A\n");
  await overlay.write("b.txt", "one\n2\n3\n4\n5\n");
  await overlay.rename("old/c.txt", "new/deep/c.txt");
  await overlay.remove("old");
  await overlay.write("run.sh", "#!\n", { executable: true });
  return overlay.changeSet();
}

test("a commit is one call with every path's step", async () => {
  const tree = atomicTree(FILES);
  const changes = await work(tree);
  assert.deepEqual(await commit(tree, changes), { type: "committed", merged: [], staleReads: [] });
  const [steps, ...others] = tree.commits;
  assert.deepEqual(others, []);
  const bytes = (content) => new TextEncoder().encode(content);
  assert.deepEqual(steps, [
    { type: "remove", path: "old/c.txt", before: bytes("c\n") },
    { type: "removeDir", path: "old" },
    { type: "replace", path: "a.txt", before: bytes("a\n"), content: bytes("A\n"), executable: false },
    { type: "replace", path: "b.txt", before: bytes("1\n2\n3\n4\n5\n"), content: bytes("one\n2\n3\n4\n5\n"), executable: false },
    { type: "createDir", path: "new" },
    { type: "createDir", path: "new/deep" },
    { type: "create", path: "new/deep/c.txt", content: bytes("c\n"), executable: false, movedFrom: "old/c.txt" },
    { type: "create", path: "run.sh", content: bytes("#!\n"), executable: true },
  ]);
  assert.deepEqual(tree.snapshot(), {
    "a.txt": "A\n", "b.txt": "one\n2\n3\n4\n5\n", "new/": "", "new/deep/": "", "new/deep/c.txt": "c\n", "run.sh": "#!\n",
  });
});

test("what was compared before is merged, or is a conflict without a call", async () => {
  const tree = atomicTree(FILES);
  const changes = await work(tree);
  tree.put("b.txt", "1\n2\n3\n4\nfive\n");
  assert.deepEqual((await commit(tree, changes)).merged, ["b.txt"]);
  const merged = tree.commits[0].find(({ path }) => path === "b.txt");
  assert.deepEqual([text(merged.before), text(merged.content)], ["1\n2\n3\n4\nfive\n", "one\n2\n3\n4\nfive\n"]);

  const other = atomicTree(FILES);
  const stale = await work(other);
  other.put("a.txt", "the user's\n");
  assert.equal((await commit(other, stale)).type, "conflict");
  assert.deepEqual(other.commits, []);
});

test("what the host finds changed is a conflict that names it, and nothing was changed", async () => {
  const tree = atomicTree(FILES, () => tree.put("a.txt", "the user's\n"));
  const outcome = await commit(tree, await work(tree));
  assert.equal(outcome.type, "conflict");
  assert.deepEqual(outcome.conflicts.map(({ path, kind, found }) => [path, kind, found.len]), [["a.txt", "modified", 11]]);
  assert.deepEqual(tree.snapshot(), { "a.txt": "the user's\n", "b.txt": FILES["b.txt"], "old/": "", "old/c.txt": "c\n" });
  // A conflict must also be told for a file that is as before again, and for one that only the host knows.
  for (const path of ["b.txt", "elsewhere/d.txt"]) {
    const said = { ...atomicTree(FILES), commitAll: () => ({ conflicts: [path] }) };
    const { type, conflicts } = await commit(said, await work(said));
    assert.deepEqual([type, conflicts.map((conflict) => [conflict.path, conflict.kind])], ["conflict", [[path, "modified"]]]);
  }
});

test("an accept that the host refuses can be tried again", async () => {
  let refuses = true;
  const tree = atomicTree(FILES, () => refuses && tree.put("a.txt", "the user's\n"));
  const edit = { name: "edit", args: { file_path: "a.txt", old_string: "a", new_string: "A" } };
  const model = recordedModel({ turns: [{ toolCalls: [edit] }, { text: "Done." }] }, { speed: Infinity });
  const engine = new Engine({ model, mode: "auto-edit", tree });
  const speculation = engine.speculate({ messages: [] }, "write it large");
  const refused = await speculation.accept();
  assert.deepEqual([refused.type, refused.conflicts.map(({ path }) => path)], ["conflict", ["a.txt"]]);
  refuses = false;
  tree.put("a.txt", "a\n");
  assert.equal((await speculation.accept()).type, "accepted");
  assert.equal(tree.snapshot()["a.txt"], "A\n");
  assert.equal(tree.commits.length, 2);
});

test("a host that throws in the middle is an error, with the path that it names, and the next commit goes on", async () => {
  const cases = [
    [new Error("the disk is full"), "io", /^\.: commitAll of the tree failed: the disk is full$/, "."],
    [Object.assign(new Error("no permission"), { path: "run.sh" }), "io", /^run.sh: commitAll of the tree failed: no permission$/, "run.sh"],
    [Object.assign(new Error("gone"), { code: "ENOENT", path: "a.txt" }), "not_found", /a.txt/, "a.txt"],
    [Object.assign(new Error("gone"), { path: "../../elsewhere" }), "io", /gone/, "."],
    ["a text", "io", /a text/, "."],
    [new Proxy({}, { get() { throw new Error("!"); } }), "io", /cannot be shown/, "."],
  ];
  for (const [thrown, code, message, path] of cases) {
    let fails = true;
    const tree = atomicTree(FILES, () => { if (fails) throw thrown; });
    const changes = await work(tree);
    const before = tree.snapshot();
    await assert.rejects(commit(tree, changes), (error) => failsWith(TreeError, code, message, path)(error) && (code !== "io" || error.cause === thrown));
    assert.deepEqual(tree.snapshot(), before);
    fails = false;
    assert.equal((await commit(tree, changes)).type, "committed");
  }
});

test("an answer that is not what the types say is an error", async () => {
  for (const answer of [true, "a.txt", ["a.txt"], { conflicts: "a.txt" }, { conflicts: [1] }, { conflicts: ["\ud800"] }, { conflicts: ["../a"] }, {}]) {
    const tree = { ...atomicTree(FILES), commitAll: async () => answer };
    await assert.rejects(commit(tree, await work(tree)), failsWith(TreeError, "io"), JSON.stringify(answer));
  }
  for (const answer of [undefined, null, { conflicts: [] }]) {
    const tree = { ...atomicTree(FILES), commitAll: () => answer };
    assert.equal((await commit(tree, await work(tree))).type, "committed");
  }
});

test("a tree that has both is asked for the whole only, and one that has neither is refused", async () => {
  const host = hostTree(FILES);
  let steps = 0;
  const both = { ...host, commitAll: (all) => void (steps = all.length) };
  assert.equal((await commit(both, await work(both))).type, "committed");
  assert.equal(steps, 8);
  assert.ok(host.calls.every((call) => call.startsWith("read")), `${host.calls}`);
  const { write: _, ...reads } = host;
  assert.throws(() => new Engine({ model: recordedModel({ turns: [{ text: "Hi." }] }), tree: reads }), failsWith(InputError, "invalid_input", /tree.write/));
  assert.throws(() => new Engine({ model: recordedModel({ turns: [{ text: "Hi." }] }), tree: null }), failsWith(InputError, "invalid_input"));
});

test("commits as a whole run one after the other, too", async () => {
  let running = 0;
  let most = 0;
  const tree = atomicTree({ a: "1", b: "1" }, async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 5));
    running -= 1;
  });
  const sets = [];
  for (const [path, content] of [["a", "A"], ["b", "B"], ["a", "other"]]) {
    const overlay = new Overlay(tree);
    await overlay.write(path, content);
    sets.push(overlay.changeSet());
  }
  const outcomes = await Promise.all(sets.map((changes) => commit(tree, changes)));
  assert.deepEqual(outcomes.map(({ type }) => type), ["committed", "committed", "conflict"]);
  assert.equal(most, 1);
});

test("a commit that changes nothing any more is no call", async () => {
  const tree = atomicTree({ a: "1" });
  const overlay = new Overlay(tree);
  await overlay.read("a");
  assert.equal((await commit(tree, overlay.changeSet())).type, "committed");
  assert.deepEqual(tree.commits, []);
  assert.ok(!("commitAll" in MemoryTree.prototype));
});

test("what a view did to a repository is given to the call with the steps, and later views show it", async () => {
  const git = { format: "sha1", refs: [{ name: "refs/heads/main", old: null, new: "1".repeat(40), commits: 1, subjects: ["x"] }], head: { type: "unchanged", branch: "refs/heads/main" } };
  const seen = [];
  const setup = (make, change) => {
    const tree = make({ "a.txt": "a\n" });
    const views = { tier: "kernel", run: async (request, changes) => (seen.push(request.git), await change(changes), { output: "", git }), end: () => {} };
    const shell = (command) => ({ toolCalls: [{ name: "shell", args: { command } }] });
    const model = recordedModel({ turns: [shell("git commit -m x"), shell("make"), { text: "Done." }] }, { speed: Infinity });
    const engine = new Engine({ model, tree, views, runCommand: async () => ({ output: "" }), mode: "auto-edit" });
    return { tree, speculation: engine.speculate({ messages: [] }, "go") };
  };
  for (const change of [async () => {}, (changes) => changes.write("b.txt", "b\n")]) {
    const calls = [];
    const refused = { conflicts: [".git/refs/heads/main"] };
    const { tree, speculation } = setup((files) => Object.assign(atomicTree(files), { commitAll: async (steps, beside) => (calls.push([steps.length, JSON.parse(beside)]), calls.length === 1 ? refused : undefined) }), change);
    const before = tree.snapshot();
    const conflict = await speculation.accept();
    assert.deepEqual([conflict.type, conflict.conflicts.map(({ path, kind }) => [path, kind])], ["conflict", [[".git/refs/heads/main", "ref"]]]);
    assert.deepEqual(tree.snapshot(), before);
    assert.equal((await speculation.accept()).type, "accepted");
    const steps = calls[0][0];
    assert.deepEqual(calls.map(([count, { change }]) => [count, change.refs[0].name]), [[steps, "refs/heads/main"], [steps, "refs/heads/main"]]);
  }
  assert.deepEqual(seen.slice(0, 2).map((given) => given?.step?.refs[0].subjects), [undefined, ["x"]]);

  // A tree that takes files one by one commits files alone.
  const { speculation } = setup((files) => hostTree(files), (changes) => changes.write("b.txt", "b\n"));
  await assert.rejects(speculation.accept(), failsWith(TreeError, "unsupported", /commits files alone/));
});
