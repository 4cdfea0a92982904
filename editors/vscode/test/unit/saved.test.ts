import assert from "node:assert/strict";
import { test } from "node:test";
import { Costs } from "../../src/session/costs.js";
import { type Saved, readSaved, revived } from "../../src/session/saved.js";
import type { Item } from "../../src/view/protocol.js";

const ITEMS: Item[] = [
  { key: "item-1", kind: "user", text: "go" },
  { key: "item-2", kind: "call", tool: "ls", subject: ".", state: "done" },
  { key: "item-3", kind: "call", tool: "edit", subject: "a", state: "waits" },
  { key: "item-4", kind: "changes", title: "Applied", files: [{ path: "a", change: "modify", added: 1, removed: 0, staged: "id", undone: true }] },
  { key: "item-5", kind: "note", tone: "warning", text: "Not applied.", actions: [
    { title: "Show", action: "diff", staged: "id" },
    { title: "Again", action: "submit", text: "go" },
  ] },
];
const SAVED: Saved = { version: 1, messages: [{ role: "user", parts: [{ type: "text", text: "go" }] }], items: ITEMS, costs: new Costs().rows() };

test("what was saved is read", () => {
  assert.deepEqual(readSaved(JSON.stringify(SAVED)), SAVED);
  assert.equal(readSaved(JSON.stringify({ ...SAVED, working: "go" }))?.working, "go");
});

test("what is damaged, or of another version, is nothing", () => {
  const text = JSON.stringify(SAVED);
  for (let end = 0; end < text.length; end += 7) assert.equal(readSaved(text.slice(0, end)), undefined);
  const damages: object[] = [
    { version: 2 }, { messages: {} }, { items: [{ kind: "user" }] }, { items: [null] }, { items: [{ kind: "other", text: "" }] },
    { items: [{ kind: "changes", files: [{}] }] }, { items: {} }, { costs: [{ purpose: "other" }] }, { costs: undefined }, { working: 1 },
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

test("what was spent is counted on", () => {
  const costs = new Costs([{ purpose: "turns", input: 100, cached: 20, output: 5 }]);
  costs.add("turns", { inputTokens: 1, cachedInputTokens: 1, outputTokens: 1 });
  assert.equal(costs.tokens, 107);
  assert.equal(new Costs(costs.rows()).tokens, 107);
});
