import assert from "node:assert/strict";
import { test } from "node:test";
import { noCosts, sum, tokens } from "../../src/session/costs.js";
import { type Saved, readSaved, revived, titleOf } from "../../src/session/saved.js";
import type { Item } from "../../src/view/protocol.js";

const ITEMS: Item[] = [
  { key: "item-1", kind: "user", text: "go" },
  { key: "item-2", kind: "call", tool: "ls", subject: ".", state: "done", rows: [{ name: "a.py", place: { path: "a.py" } }] },
  { key: "item-3", kind: "call", tool: "edit", subject: "a", state: "waits" },
  { key: "item-4", kind: "changes", title: "Applied", files: [{ path: "a", change: "modify", added: 1, removed: 0, staged: "id", undone: true }] },
  { key: "item-5", kind: "note", tone: "warning", text: "Not applied.", actions: [
    { title: "Show", action: "diff", staged: "id" },
    { title: "Again", action: "submit", text: "go" },
  ] },
];
const SAVED: Saved = { version: 2, lines: "", items: ITEMS, costs: noCosts() };

test("what was saved is read", () => {
  assert.deepEqual(readSaved(JSON.stringify(SAVED)), SAVED);
  assert.equal(readSaved(JSON.stringify({ ...SAVED, working: "go" }))?.working, "go");
});

test("a list calls it what its user does, else its first prompt", () => {
  assert.equal(titleOf(SAVED), "go");
  assert.equal(titleOf({ ...SAVED, title: "The counter" }), "The counter");
  assert.equal(readSaved(JSON.stringify({ ...SAVED, title: "The counter" }))?.title, "The counter");
});

test("the form before this one is read", () => {
  const message = { role: "user", parts: [{ type: "text", text: "go" }] };
  const old = { version: 1, messages: [message], items: ITEMS, costs: [], working: "go" };
  const saved = readSaved(JSON.stringify(old));
  const lines = saved?.lines.trim().split("\n").map((line) => JSON.parse(line) as { type: string; message?: unknown });
  assert.deepEqual(lines?.map(({ type }) => type), ["session", "message"]);
  assert.deepEqual([lines?.[1]?.message, saved?.items, saved?.working], [message, ITEMS, "go"]);
});

test("what is damaged, or of another version, is nothing", () => {
  const text = JSON.stringify(SAVED);
  for (let end = 0; end < text.length; end += 7) assert.equal(readSaved(text.slice(0, end)), undefined);
  const damages: object[] = [
    { version: 3 }, { version: 1 }, { lines: {} }, { items: [{ kind: "user" }] }, { items: [null] }, { items: [{ kind: "other", text: "" }] },
    { items: [{ kind: "changes", files: [{}] }] }, { items: [{ kind: "call", tool: "ls", rows: [{}] }] }, { items: {} }, { costs: { turns: {} } }, { costs: undefined }, { working: 1 }, { title: 1 },
  ];
  for (const damage of damages) assert.equal(readSaved(JSON.stringify({ ...SAVED, ...damage })), undefined, JSON.stringify(damage));
});

test("in a new window nothing is under way, and nothing leads to what is gone", () => {
  const [user, done, waited, changes, note] = revived(ITEMS);
  assert.equal(user?.kind === "user" && user.text, "go");
  assert.equal(done?.kind === "call" && done.state, "done");
  assert.deepEqual(waited?.kind === "call" && [waited.state, waited.detail], ["failed", "interrupted"]);
  assert.deepEqual(changes?.kind === "changes" && changes.files, [{ path: "a", change: "modify", added: 1, removed: 0, undone: true }]);
  assert.deepEqual(note?.kind === "note" && note.actions, [{ title: "Again", action: "submit", text: "go" }]);
  const keys = [...revived(ITEMS), ...revived(ITEMS)].map(({ key }) => key);
  assert.equal(new Set(keys).size, keys.length);
});

test("what two windows have spent is one sum", () => {
  const spent = { inputTokens: 100, cachedInputTokens: 20, outputTokens: 5 };
  const once = { ...noCosts(), turns: spent, ahead: spent, savedMs: 10 };
  assert.deepEqual([tokens(sum(once, once)), sum(once, noCosts()).savedMs], [420, 10]);
});
