import assert from "node:assert/strict";
import { test } from "node:test";
import type { DirEntry } from "headstart";
import type { Files, Found, Step } from "../../src/files/port.js";
import { bytesOf, sameBytes, textOf } from "../../src/files/text.js";
import { CollectingTree, type Fail } from "../../src/files/tree.js";

/** Files of an editor in memory: an edit is made if every path still is as its step says, and then it is one. */
class Editor implements Files {
  readonly content = new Map<string, string>();
  readonly edits: Step[][] = [];
  time = 1;
  refuses = false;

  constructor(files: Record<string, string>) {
    for (const [path, text] of Object.entries(files)) this.content.set(path, text);
  }

  stat(path: string): Promise<Found | undefined> {
    const text = this.content.get(path);
    if (text !== undefined) return Promise.resolve({ kind: "file", size: text.length, modified: this.time });
    const isFolder = path === "" || [...this.content.keys()].some((file) => file.startsWith(`${path}/`));
    return Promise.resolve(isFolder ? { kind: "directory", size: 0 } : undefined);
  }

  read(path: string): Promise<Uint8Array> {
    const text = this.content.get(path);
    return text === undefined ? Promise.reject(new Error(`no ${path}`)) : Promise.resolve(bytesOf(text));
  }

  list(path: string): Promise<DirEntry[]> {
    const below = path === "" ? "" : `${path}/`;
    const names = new Map<string, DirEntry>();
    for (const file of this.content.keys()) {
      if (!file.startsWith(below)) continue;
      const [name = "", ...rest] = file.slice(below.length).split("/");
      names.set(name, { name, kind: rest.length === 0 ? "file" : "directory" });
    }
    return Promise.resolve([...names.values()]);
  }

  apply(steps: Step[]): Promise<string | undefined> {
    const isStill = (step: Step) => {
      const text = this.content.get(step.path);
      if (step.type === "create") return text === undefined;
      return step.type === "createDir" || step.before === "directory" || (text !== undefined && sameBytes(bytesOf(text), step.before));
    };
    if (this.refuses || !steps.every(isStill)) return Promise.resolve("refused");
    this.edits.push(steps);
    for (const step of steps) {
      if (step.type === "remove") this.content.delete(step.path);
      else if (step.type !== "createDir") this.content.set(step.path, textOf(step.after) ?? "");
    }
    return Promise.resolve(undefined);
  }
}

const fail: Fail = (code, message, path) => Object.assign(new Error(message), { code, path });
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

test("writes of a commit are seen at once, made as one edit, and nothing before", async () => {
  const editor = new Editor({ "a.txt": "a", "b/c.txt": "c" });
  const tree = new CollectingTree(editor, fail);
  const collected = tree.collect();
  await tree.write("a.txt", bytesOf("A"));
  await tree.createDir("new");
  await tree.write("new/d.txt", bytesOf("d"));
  await tree.remove("b/c.txt");
  assert.equal(text(await tree.read("a.txt")), "A");
  assert.equal(await tree.metadata("b/c.txt"), undefined);
  assert.deepEqual(await tree.list("new"), [{ name: "d.txt", kind: "file" }]);
  assert.deepEqual((await tree.list("")).map(({ name }) => name), ["a.txt", "b", "new"]);
  assert.deepEqual(await tree.list("b"), []);
  assert.deepEqual([...editor.content], [["a.txt", "a"], ["b/c.txt", "c"]]);
  assert.equal(await collected.apply("work"), undefined);
  assert.equal(editor.edits.length, 1);
  assert.deepEqual(Object.fromEntries(editor.content), { "a.txt": "A", "new/d.txt": "d" });
});

test("an edit of the user's after the engine's look refuses the whole commit", async () => {
  const editor = new Editor({ "a.txt": "a", "b.txt": "b" });
  const tree = new CollectingTree(editor, fail);
  const collected = tree.collect();
  // The engine compares, the user edits, the engine writes.
  await tree.read("a.txt");
  editor.content.set("a.txt", "the user's");
  await tree.write("a.txt", bytesOf("A"));
  await tree.write("b.txt", bytesOf("B"));
  assert.equal(await collected.apply("work"), "refused");
  assert.deepEqual(Object.fromEntries(editor.content), { "a.txt": "the user's", "b.txt": "b" });
});

test("an edit between the reading of a file and its time is not hidden", async () => {
  const editor = new Editor({ "a.txt": "a" });
  const tree = new CollectingTree(editor, fail);
  tree.collect();
  const read = editor.read.bind(editor);
  editor.read = async (path) => {
    const bytes = await read(path);
    editor.content.set("a.txt", "later");
    editor.time = 2;
    return bytes;
  };
  // The newer time goes with the older content: whoever knew the file before sees that it moved.
  assert.equal((await tree.metadata("a.txt"))?.modified, 2);
  assert.equal(text(await tree.read("a.txt")), "a");
});

test("a file that came to be where one is created refuses the commit", async () => {
  const editor = new Editor({});
  const tree = new CollectingTree(editor, fail);
  const collected = tree.collect();
  await tree.write("a.txt", bytesOf("ours"));
  editor.content.set("a.txt", "the user's");
  assert.equal(await collected.apply("work"), "refused");
  assert.equal(editor.content.get("a.txt"), "the user's");
});

test("what a commit takes back is no edit", async () => {
  const editor = new Editor({ "a.txt": "a" });
  const tree = new CollectingTree(editor, fail);
  const collected = tree.collect();
  await tree.write("a.txt", bytesOf("A"));
  await tree.write("new.txt", bytesOf("n"));
  await tree.remove("new.txt");
  await tree.write("a.txt", bytesOf("a"));
  assert.equal(await collected.apply("work"), undefined);
  assert.deepEqual(editor.edits, []);
});

test("a commit that is dropped leaves nothing, and the next one begins anew", async () => {
  const editor = new Editor({ "a.txt": "a" });
  const tree = new CollectingTree(editor, fail);
  const collected = tree.collect();
  await tree.write("a.txt", bytesOf("A"));
  assert.throws(() => tree.collect());
  collected.drop();
  assert.equal(text(await tree.read("a.txt")), "a");
  assert.equal(await tree.collect().apply("nothing"), undefined);
  assert.deepEqual(editor.edits, []);
});

test("a file takes the place of a folder, and a folder that of a file", async () => {
  const editor = new Editor({ "a/b.txt": "b", c: "c" });
  const tree = new CollectingTree(editor, fail);
  const collected = tree.collect();
  await tree.remove("a/b.txt");
  await tree.remove("a");
  await tree.write("a", bytesOf("a"));
  await tree.remove("c");
  await tree.createDir("c");
  await tree.write("c/d", bytesOf("d"));
  assert.equal(await collected.apply("work"), undefined);
  assert.deepEqual(editor.edits[0]?.map(({ type, path }) => `${type} ${path}`), [
    "remove a/b.txt", "remove a", "create a", "remove c", "createDir c", "create c/d",
  ]);
});

test("outside a commit a write is an edit of its own, and one that is refused is an error", async () => {
  const editor = new Editor({ "a.txt": "a" });
  const tree = new CollectingTree(editor, fail);
  await tree.write("a.txt", bytesOf("A"));
  assert.equal(editor.content.get("a.txt"), "A");
  editor.refuses = true;
  await assert.rejects(tree.write("a.txt", bytesOf("B")), { code: "io" });
  assert.equal(editor.content.get("a.txt"), "A");
});
