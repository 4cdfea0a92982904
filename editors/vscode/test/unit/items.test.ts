import assert from "node:assert/strict";
import { test } from "node:test";
import * as headstart from "headstart";
import type { ContextItem, ViewCall } from "headstart";
import { fileLines } from "../../src/session/ahead.js";
import { callItem } from "../../src/session/items.js";
import { StagedDocuments } from "../../src/staged.js";
import { type Uri, known, ran } from "./vscode.js";

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

/** A change set in which one file was moved and edited, and another one is new. */
async function moved(): Promise<headstart.ChangeSet> {
  const overlay = new headstart.Overlay(new headstart.MemoryTree({ "old/name.md": "one\n" }));
  await overlay.rename("old/name.md", "new.md");
  await overlay.write("new.md", "one\ntwo\n");
  await overlay.write("other.md", "other\n");
  return overlay.changeSet();
}

test("a file that was moved is one line, which says from where", async () => {
  const [line, other, ...none] = fileLines((await moved()).summary(), "id");
  assert.deepEqual(line, { path: "new.md", from: "old/name.md", change: "rename", added: 1, removed: 0, staged: "id" });
  assert.deepEqual([other?.path, none], ["other.md", []]);
});

test("its diff says from where and has what it was there, by itself and among others", async () => {
  const changes = await moved();
  const staged = new StagedDocuments(() => changes);
  const sides = (uris: unknown[]) => (uris as Uri[]).map((uri) => [uri.path, staged.provideTextDocumentContent(uri as never)]);
  const BOTH = [["/old/name.md", "one\n"], ["/new.md", "one\ntwo\n"]];
  await staged.open("id", "new.md");
  const [, before, after, title] = ran.pop() ?? [];
  assert.equal(title, "old/name.md → new.md (staged by headstart)");
  assert.deepEqual(sides([before, after]), BOTH);
  known.push("vscode.changes");
  await staged.open("id");
  const [command, , rows] = ran.pop() ?? [];
  assert.equal(command, "vscode.changes");
  assert.deepEqual(sides((rows as unknown[][])[0]?.slice(1) ?? []), BOTH);
  staged.dispose();
});
