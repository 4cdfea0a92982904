import assert from "node:assert/strict";
import { test } from "node:test";
import * as headstart from "headstart";
import type { ContextItem, ViewCall } from "headstart";
import { fileLines } from "../../src/session/ahead.js";
import { callItem } from "../../src/session/items.js";

await headstart.init();

const done = (name: string, args: Record<string, unknown>, items: ContextItem[]): ViewCall =>
  ({ call: { id: "a", name, args }, state: "done", origin: "turn", sentence: "", output: "…", items });
const file = (path: string, lines?: [number, number]): ContextItem =>
  ({ name: path, description: path, content: "…", uri: { type: "file", value: path, ...(lines && { lines }) } });

test("what a call found is listed, what it names itself is where it opens, and a command says how it ended", () => {
  const { rows } = callItem(done("codebase", { query: "x" }, [file("a.py", [2, 4]), file("b.py")]));
  assert.deepEqual(rows?.map(({ place }) => place), [{ path: "a.py", lines: [2, 4] }, { path: "b.py" }]);
  const read = callItem(done("read_file", { file_path: "a.py" }, [file("a.py", [7, 9])]));
  assert.deepEqual([read.line, read.rows], [7, undefined]);
  const command: ContextItem = { name: "command", description: "make", content: "…", status: "exit code 2" };
  const ran = callItem(done("shell", { command: "make" }, [command]));
  assert.deepEqual([ran.detail, ran.state, ran.rows], ["exit code 2", "done", undefined]);
});

test("a file that was moved is one line, which says from where, and its diff has what it was there", async () => {
  const tree = new headstart.MemoryTree({ "old/name.md": "one\n" });
  const overlay = new headstart.Overlay(tree);
  await overlay.rename("old/name.md", "new.md");
  await overlay.write("new.md", "one\ntwo\n");
  const changes = overlay.changeSet();
  assert.deepEqual(fileLines(changes.summary(), "id"), [{ path: "new.md", from: "old/name.md", change: "rename", added: 1, removed: 0, staged: "id" }]);
  assert.equal(Buffer.from(changes.sides("new.md").before ?? []).toString(), "one\n");
});
