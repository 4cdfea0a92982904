import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryTree, Overlay, UndoWatch, commit, init } from "headstart";
import type { Item } from "../../src/view/protocol.js";
import { Undone } from "../../src/session/undone.js";

await init();
const bytes = (text: string) => new TextEncoder().encode(text);
const list = (key: string, ...paths: string[]): Item => ({
  key, kind: "changes", title: "Applied", files: paths.map((path) => ({ path, change: "modify", added: 1, removed: 1, staged: key })),
});
const marked = (items: Item[]) => items.flatMap((item) => (item.kind === "changes" ? item.files : [])).filter(({ undone }) => undone).map(({ staged, path }) => `${staged} ${path}`);

test("files are marked where they were applied last, until they are redone or applied again", async () => {
  const tree = new MemoryTree({ a: "1", b: "1" });
  // As an editor's: it only has to be a tree.
  const undone = new Undone(UndoWatch, tree as never);
  const work = async (path: string, content: string) => {
    const overlay = new Overlay(tree);
    await overlay.write(path, bytes(content));
    await commit(undone.tree, overlay.changeSet());
  };
  await work("a", "2");
  await work("b", "2");
  const items: Item[] = [list("first", "a", "b")];
  const changed: string[] = [];
  const look = async () => {
    await undone.look();
    undone.mark(items, ({ key }) => changed.push(key));
    return marked(items);
  };
  assert.deepEqual(await look(), []);
  await tree.write("a", "1");
  assert.deepEqual(await look(), ["first a"]);
  assert.equal(undone.prompt("go on"), "go on");
  assert.match(undone.promptAhead("go on"), /^\[Note: .*\n- a\]\n\ngo on$/s);
  await tree.write("a", "2");
  assert.deepEqual(await look(), []);
  await tree.write("a", "1");
  await look();

  // The model is told, and makes it anew: the new line is no undone one.
  await undone.tell();
  assert.match(undone.prompt("go on"), /^\[Note: .*\n- a\]\n\ngo on$/s);
  await work("a", "3");
  undone.told();
  items.push(list("second", "a"));
  assert.deepEqual(await look(), ["first a"]);
  assert.equal(undone.note, "");
  await tree.write("a", "1");
  assert.deepEqual(await look(), ["first a", "second a"]);
  assert.ok(changed.length < 10, `${changed}`);

  // Told, and redone: the mark goes, and comes back with another undo.
  await undone.tell();
  undone.told();
  await tree.write("a", "3");
  assert.deepEqual(await look(), ["first a"]);
  assert.match(undone.note, /made changes of yours again/);
  await tree.write("a", "1");
  assert.deepEqual(await look(), ["first a", "second a"]);
  assert.equal(undone.note, "");
  undone.dispose();
  assert.equal(await undone.look(), undefined);
});
