// Tests of kept conversations. They have the same form as those of the binary, whose chat writes and reads the same
// fixture (crates/cli/tests/chat/sessions_shared.rs).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Agent, MemoryTree, recordedModel } from "headstart";
import { InputError, Sessions, readSession, storagePlace, titleLine } from "headstart/sessions";

const FIXTURE = readFileSync(new URL("../fixtures/session.jsonl", import.meta.url), "utf8");

/** A storage with the interface of a browser's. */
class Texts {
  #texts = new Map();
  get length() {
    return this.#texts.size;
  }
  key = (index) => [...this.#texts.keys()][index] ?? null;
  getItem = (name) => this.#texts.get(name) ?? null;
  setItem = (name, text) => void this.#texts.set(name, String(text));
  removeItem = (name) => void this.#texts.delete(name);
}

function begin(given, ...answers) {
  const turns = answers.map((text) => ({ text }));
  return new Agent({ model: recordedModel({ turns }), modelName: "m", tree: new MemoryTree(), background: "off", system: "You are a coding agent.", ...given });
}

async function say(agent, ...prompts) {
  for (const prompt of prompts) {
    agent.submit(prompt);
    await agent.idle();
  }
}

/** Lines without the fields that differ each time. */
const alike = (lines) =>
  lines.trim().split("\n").map((line) => {
    const { id, model, created, workspace, at, ended, ...rest } = JSON.parse(line);
    return rest;
  });

test("an agent writes what a chat of the binary writes", async () => {
  const texts = new Texts();
  texts.setItem("of something else", "{}");
  const sessions = new Sessions(storagePlace(texts));
  const agent = begin({ sessions: sessions.begin() }, "First answer.", "First answer.");
  assert.deepEqual(await sessions.list(), { sessions: [], unreadable: [] }, "nothing was said yet");
  await say(agent, "one", "two");
  await agent.close();
  const [{ id, title, model, prompts, created, last }] = (await sessions.list()).sessions;
  assert.deepEqual([title, model, prompts], ["one", "m", ["one", "two"]]);
  assert.ok(created <= last && Math.abs(Date.now() - last) < 60_000);
  await sessions.rename(id, "  the\n parser ");
  assert.deepEqual(alike(texts.getItem(`headstart.sessions/${id}`)), alike(FIXTURE));
  assert.equal((await sessions.list()).sessions[0].title, "the parser");
  await sessions.remove(id);
  assert.deepEqual((await sessions.list()).sessions, []);
  assert.equal(texts.getItem("of something else"), "{}");
});

test("an agent goes on with what a chat of the binary has written", async () => {
  const texts = new Texts();
  const sessions = new Sessions(storagePlace(texts));
  texts.setItem("headstart.sessions/k3v9", FIXTURE);
  const [kept] = (await sessions.list()).sessions;
  assert.deepEqual(kept, { id: "k3v9", title: "the parser", model: "m", created: 1_700_000_000_000, last: 1_700_000_002_000, prompts: ["one", "two"], damaged: [], torn: 0 });
  const agent = begin(await sessions.resume("k3v9"), "Third answer.");
  assert.deepEqual(agent.view.items.map(({ text }) => text), ["one", "First answer.", "two", "First answer."]);
  await say(agent, "three");
  await agent.close();
  const lines = texts.getItem("headstart.sessions/k3v9");
  assert.ok(lines.startsWith(FIXTURE), "lines are only added");
  assert.deepEqual(readSession(lines).prompts, ["one", "two", "three"]);
});

test("what was being written when its writer was stopped is cut off by whoever goes on", async () => {
  const texts = new Texts();
  const sessions = new Sessions(storagePlace(texts));
  const half = '{"type":"mess';
  texts.setItem("headstart.sessions/k3v9", FIXTURE + half);
  assert.equal((await sessions.list()).sessions[0].torn, half.length);
  const { restore } = await sessions.resume("k3v9");
  assert.equal(restore, FIXTURE);
  assert.equal(texts.getItem("headstart.sessions/k3v9"), FIXTURE);
});

test("what cannot be read is named and stays as it is, as the binary says it", async () => {
  const texts = new Texts();
  const sessions = new Sessions(storagePlace(texts));
  for (const [text, why] of [
    [FIXTURE.replace('"version":1', '"version":2'), /version 2, and this package knows 1/],
    ["hello\n", /does not begin as a session does/],
    ["", /does not begin as a session does/],
  ]) {
    texts.setItem("headstart.sessions/k3v9", text);
    const { sessions: none, unreadable } = await sessions.list();
    assert.deepEqual([none, unreadable.map(({ id }) => id)], [[], ["k3v9"]]);
    assert.match(unreadable[0].problem, why);
    await assert.rejects(sessions.rename("k3v9", "another"), (error) => error instanceof InputError && why.test(error.message));
    assert.equal(texts.getItem("headstart.sessions/k3v9"), text);
  }
  await assert.rejects(sessions.resume("none"), (error) => error instanceof InputError && error.path === "id");
  // A damaged line costs itself.
  const damaged = readSession(FIXTURE.replace('"text":"one","at"', '"text":1,"at"').replace('{"type":"message"', '{"type":message'));
  assert.deepEqual([damaged.damaged, damaged.prompts], [[2, 3], ["two"]]);
  assert.deepEqual(readSession(FIXTURE + '{"type":"prompt","text":"three","at":1,"open":true}\n{"type":"withdrawn"}\n').prompts, ["one", "two"]);
  // A line of an unknown type may come from a later version, so it must not count as damage.
  assert.equal(readSession(FIXTURE + '{"type":"mood","text":1}\n').title, "the parser");
});

test("a title is one line, no longer than fits beside a date, and of whole characters", () => {
  assert.equal(titleLine(" a\n b "), '{"type":"title","text":"a b"}\n');
  assert.equal([...JSON.parse(titleLine("🚀".repeat(70))).text].length, 60);
  assert.equal(JSON.parse(titleLine("a\ud800")).text, "a\ufffd");
});
