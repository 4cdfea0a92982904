// Tests of a folder of this machine as a tree: what is accepted is written there, and nowhere else.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, linkSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Engine, Overlay, commit, init, recordedModel } from "headstart";
import { InputError, TreeError, nodeFolder } from "headstart/folder";
import { text } from "./support.mjs";

await init();

/** A folder with files in it, and one beside it that does not belong to the tree. */
function folders(context) {
  const both = realpathSync(mkdtempSync(join(tmpdir(), "headstart-folder-")));
  context.after(() => rmSync(both, { recursive: true }));
  const [inside, outside] = ["project", "elsewhere"].map((name) => join(both, name));
  mkdirSync(join(inside, "src"), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(inside, "src/a.txt"), "one\n");
  writeFileSync(join(outside, "secret.txt"), "secret\n");
  return { inside, outside };
}

test("work that is accepted is in the folder, and before nothing is", async (context) => {
  const { inside } = folders(context);
  const write = { name: "write_file", args: { file_path: "docs/new.md", content: "new\n" } };
  const edit = { name: "edit", args: { file_path: "src/a.txt", old_string: "one", new_string: "two" } };
  const model = recordedModel({ turns: [{ toolCalls: [{ name: "read_file", args: { file_path: "src/a.txt" } }, write, edit] }, { text: "Done." }] });
  const engine = new Engine({ model, tree: await nodeFolder(inside), mode: "auto-edit" });
  const speculation = engine.speculate({ messages: [] }, "go on");
  assert.equal((await speculation.finished).ending.status, "completed");
  assert.deepEqual(readdirSync(inside), ["src"]);
  assert.equal((await speculation.accept()).type, "accepted");
  assert.equal(readFileSync(join(inside, "docs/new.md"), "utf8"), "new\n");
  assert.equal(readFileSync(join(inside, "src/a.txt"), "utf8"), "two\n");
  assert.deepEqual(readdirSync(inside, { recursive: true }).sort(), ["docs", "docs/new.md", "src", "src/a.txt"], "nothing is left beside");
});

test("an edit of the user's in the same moment is a conflict", async (context) => {
  const { inside } = folders(context);
  const tree = await nodeFolder(inside);
  for (let round = 0; round < 30; round++) {
    const overlay = new Overlay(tree);
    await overlay.read("src/a.txt");
    await overlay.write("src/a.txt", `mine ${round}\n`);
    // The user's edit has the same length and comes at once, so it could not be noticed by the time alone.
    writeFileSync(join(inside, "src/a.txt"), round % 2 === 0 ? "eno\n" : "one\n");
    assert.equal((await commit(tree, overlay.changeSet())).type, "conflict", `round ${round}`);
  }
});

test("permissions stay, and a hard link is not written through", async (context) => {
  const { inside, outside } = folders(context);
  const tree = await nodeFolder(inside);
  chmodSync(join(inside, "src/a.txt"), 0o640);
  linkSync(join(inside, "src/a.txt"), join(outside, "same.txt"));
  await tree.write("src/a.txt", new TextEncoder().encode("new\n"), { executable: false });
  assert.equal(statSync(join(inside, "src/a.txt")).mode & 0o777, 0o640);
  assert.equal(readFileSync(join(outside, "same.txt"), "utf8"), "one\n");
  await tree.write("src/a.txt", new Uint8Array(), { executable: true });
  assert.equal(statSync(join(inside, "src/a.txt")).mode & 0o777, 0o750);
  assert.equal((await tree.metadata("src/a.txt")).executable, true);
});

test("no path leads out", async (context) => {
  const { inside, outside } = folders(context);
  symlinkSync(outside, join(inside, "out"));
  symlinkSync(join(outside, "secret.txt"), join(inside, "link.txt"));
  symlinkSync("src", join(inside, "in"));
  const tree = await nodeFolder(inside);
  const bytes = new TextEncoder().encode("changed\n");
  const escapes = (error) => error instanceof TreeError && error.code === "escapes";
  await assert.rejects(tree.read("out/secret.txt"), escapes);
  await assert.rejects(tree.list("out"), escapes);
  await assert.rejects(tree.write("out/secret.txt", bytes, { executable: false }), escapes);
  await assert.rejects(tree.createDir("out/new"), escapes);
  await assert.rejects(tree.remove("out/secret.txt"), escapes);
  await assert.rejects(tree.symlink("out/new", "x"), escapes);
  await assert.rejects(tree.read("link.txt"), { code: "ELOOP" });
  await assert.rejects(tree.write("link.txt", bytes, { executable: false }), { code: "already_exists" });
  for (const path of ["../elsewhere/secret.txt", "/etc/passwd", "src/../../elsewhere", "a\0b"]) await assert.rejects(tree.read(path), InputError);
  assert.equal(text(await tree.read("in/a.txt")), "one\n");
  assert.equal(readFileSync(join(outside, "secret.txt"), "utf8"), "secret\n");
  assert.deepEqual(readdirSync(outside), ["secret.txt"]);
  assert.equal(await tree.readLink("in"), "src");
  assert.deepEqual(await tree.metadata("out"), { kind: "symlink", size: outside.length });
});

test("what is no file is not waited for", async (context) => {
  const { inside } = folders(context);
  execFileSync("mkfifo", [join(inside, "pipe")]);
  const tree = await nodeFolder(inside);
  await assert.rejects(tree.read("pipe"), { code: "unsupported" });
  assert.equal((await tree.metadata("pipe")).kind, "other");
  await assert.rejects(tree.read("src"), { code: "is_a_directory" });
  assert.equal(await tree.metadata("src/a.txt/b"), undefined);
  assert.equal(await tree.metadata("nowhere/b"), undefined);
});

test("a folder that is none is told", async (context) => {
  const { inside } = folders(context);
  await assert.rejects(nodeFolder(join(inside, "no")), (error) => error instanceof TreeError && error.code === "not_found");
  await assert.rejects(nodeFolder(join(inside, "src/a.txt")), { code: "not_a_directory" });
  await assert.rejects(nodeFolder(7), InputError);
  assert.ok(existsSync(inside));
});
