// Tests of the conversation as a front end shows it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Agent, InputError, MemoryTree } from "headstart";
import { failsWith } from "./support.mjs";

const write = (file_path, content) => ({ type: "toolCall", name: "write_file", args: { file_path, content } });
const textOf = (message) => message.parts.map((part) => part.text ?? "").join("");

/**
 * A model that obeys the prompt: `write FILE`, `run` or `fail`; to anything else it answers with text. Suggestions are
 * taken from a list.
 */
function obedient(suggestions = []) {
  const requests = [];
  return {
    requests,
    suggestions,
    async *stream(request, signal) {
      requests.push(request);
      signal.throwIfAborted();
      if (request.responseSchema) return yield* [{ type: "text", text: JSON.stringify({ suggestion: suggestions.shift() ?? "" }) }, end];
      const prompt = textOf(request.messages.findLast(({ role }) => role === "user")).split("\n\n").at(-1);
      if (request.messages.at(-1).role === "tool") return yield* [{ type: "text", text: `Done: ${prompt}.` }, end];
      const [verb, file] = prompt.split(" ");
      if (verb === "fail") throw new Error("no such model");
      if (verb === "wait") await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      // What is there already has to be read before it is replaced.
      if (verb === "write" && file === "a.txt") yield { type: "toolCall", name: "read_file", args: { file_path: file } };
      if (verb === "write") yield write(file, `${prompt}\n`);
      else if (verb === "run") yield { type: "toolCall", name: "shell", args: { command: "rm a.txt" } };
      else yield { type: "text", text: `I heard: ${prompt}.` };
      yield { type: "usage", usage: { inputTokens: 100, cachedInputTokens: 80, outputTokens: 10 } };
      yield end;
    },
  };
}
const end = { type: "finished", reason: "stop" };

function begin(options = {}) {
  const model = obedient(options.suggestions);
  const tree = new MemoryTree({ "a.txt": "one\n" });
  const { suggestions: _, ...rest } = options;
  const agent = new Agent({ model, tree, mode: "auto-edit", background: "always", runCommand: async () => ({ output: "gone\n" }), ...rest });
  const known = [];
  agent.onUpdate(({ items }) => {
    for (const change of items) {
      if (change.type === "added") known.push(change.item);
      else if (change.type !== "cleared") known[known.findIndex(({ key }) => key === change.item.key)] = change.item;
    }
  });
  return { agent, model, tree, known };
}

async function until(agent, holds) {
  for (let look = 0; look < 400; look += 1) {
    if (holds(agent.view)) return agent.view;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail(`it does not come: ${JSON.stringify(agent.view, undefined, 1)}`);
}

/** Waits until the suggestion is shown and its work is done, and takes it as Tab does. */
async function offered(agent, text, prompts = ["talk", "talk more"]) {
  for (const prompt of prompts) {
    agent.submit(prompt);
    await agent.idle();
  }
  const view = await until(agent, ({ suggestion, ahead }) => suggestion?.text === text && ahead !== undefined && ahead.state !== "running");
  await new Promise((resolve) => setTimeout(resolve, 450));
  return view;
}

const types = (view) => view.items.map(({ type }) => type);

test("a prompt is answered, the next one shows with its work, and Tab has it done", async () => {
  const { agent, model, tree, known } = begin({ suggestions: ["write b.txt", "talk on"] });
  assert.equal(agent.submit("talk"), "begins");
  assert.equal(agent.view.phase, "opening");
  assert.deepEqual(types(agent.view), ["prompt"]);
  await agent.idle();
  const [first] = agent.view.items;
  const { ahead } = await offered(agent, "write b.txt", ["talk more"]);
  assert.equal(agent.view.items[0], first, "what did not change is the same object");
  assert.deepEqual([ahead.state, ahead.calls[0].state, ahead.staged[0].path], ["ready", "done", "b.txt"]);
  assert.match(agent.changes(ahead.id).diff(), /write b\.txt/);
  assert.deepEqual(Object.keys(tree.snapshot()), ["a.txt"]);
  assert.equal(agent.take("something else"), "stale");
  assert.equal(agent.take("write b.txt"), undefined);
  await agent.idle();
  assert.deepEqual(Object.keys(tree.snapshot()), ["a.txt", "b.txt"]);
  const prompts = model.requests.map(({ messages }) => textOf(messages.at(-1)));
  assert.equal(prompts.filter((prompt) => prompt === "write b.txt").length, 1, "the model is not asked again");
  const applied = agent.view.items.find(({ type }) => type === "applied");
  assert.deepEqual([applied.id, applied.changes.length, applied.ending], [ahead.id, 1, { status: "completed" }]);
  assert.ok(agent.changes(applied.id).summary().length === 1);
  await until(agent, ({ suggestion }) => suggestion?.text === "talk on");
  assert.deepEqual(known, agent.view.items, "the changes add up to the view");
  const { turns, savedMs } = agent.costs;
  assert.equal(turns.inputTokens, 300, "two turns, and the work that was taken");
  assert.ok(0 < savedMs);
  await agent.close();
});

test("the view is right behind each act", async () => {
  const { agent } = begin({ suggestions: ["write b.txt"] });
  await offered(agent, "write b.txt");
  agent.edited("wri");
  assert.equal(agent.view.suggestion.rest, "te b.txt");
  agent.edited("");
  agent.edited("x");
  assert.equal(agent.view.suggestion, undefined);
  agent.edited("");
  assert.equal(agent.view.suggestion.text, "write b.txt");
  agent.dismiss();
  assert.equal(agent.view.suggestion, undefined);
  await agent.close();
  assert.equal(agent.view.phase, "ended");
  assert.equal(agent.submit("talk"), "ended");
});

test("a call that needs consent is a question, and each answer does what it says", async () => {
  for (const [answer, output] of [["yes", "gone"], ["no", undefined]]) {
    const { agent } = begin();
    agent.submit("run it");
    const { question, phase } = await until(agent, (view) => view.question);
    assert.deepEqual([question.type, question.call.name, phase], ["call", "shell", "turn"]);
    assert.equal(agent.answer("another", "yes"), "stale");
    assert.throws(() => agent.answer(question.id, "perhaps"), failsWith(InputError, "invalid_input", /perhaps/));
    assert.equal(agent.answer(question.id, answer), undefined);
    await agent.idle();
    assert.equal(agent.view.question, undefined);
    const call = agent.view.items.find(({ type }) => type === "call");
    assert.equal(call.state, output === undefined ? "canceled" : "done");
    assert.match(String(call.output ?? call.error), output === undefined ? /declined/ : /gone/);
    await agent.close();
  }
});

test("where the mode asks, work that was taken is written at a yes, and dropped at a no with its prompt back", async () => {
  for (const answer of ["yes", "no"]) {
    const { agent, tree } = begin({ suggestions: ["write b.txt"], mode: "default", aheadWrites: "ask" });
    await offered(agent, "write b.txt");
    agent.take("write b.txt");
    const { question, phase, taken } = await until(agent, (view) => view.question);
    assert.deepEqual([question.type, question.changes[0].path, phase], ["changes", "b.txt", "asking"]);
    assert.match(agent.changes(taken).diff(), /write b\.txt/);
    agent.answer(question.id, answer);
    await agent.idle();
    assert.equal("b.txt" in tree.snapshot(), answer === "yes");
    assert.equal(agent.view.draft?.text, answer === "no" ? "write b.txt" : undefined);
    await agent.close();
  }
});

test("an edit of the user's in the same place is theirs to decide about", async () => {
  const decide = async (answer) => {
    const { agent, tree } = begin({ suggestions: ["write a.txt"] });
    await offered(agent, "write a.txt");
    await tree.write("a.txt", "mine\n");
    agent.take("write a.txt");
    const { question } = await until(agent, (view) => view.question);
    assert.deepEqual([question.type, question.conflicts[0].path], ["conflicts", "a.txt"]);
    agent.answer(question.id, answer);
    await agent.idle();
    const text = new TextDecoder().decode(tree.snapshot()["a.txt"]);
    await agent.close();
    return text;
  };
  assert.equal(await decide("no"), "mine\n");
  assert.equal(await decide("anew"), "write a.txt\n");
  assert.equal(await decide({ keep: ["yours"] }), "mine\n");
  assert.equal(await decide({ keep: ["work"] }), "write a.txt\n");
});

test("prompts wait their turn; an interrupt gives them back", async () => {
  const { agent } = begin();
  agent.submit("wait here");
  await until(agent, ({ phase }) => phase === "turn");
  assert.equal(agent.submit("then talk"), "queued");
  assert.deepEqual(agent.view.queued, ["then talk"]);
  assert.equal(agent.interrupt(), undefined);
  await agent.idle();
  assert.deepEqual([agent.view.draft.text, agent.view.queued], ["wait here\nthen talk", []]);
  assert.deepEqual(agent.view.items.at(-1), { key: 1, type: "end", ending: { status: "aborted" } });
  agent.submit("fail");
  await agent.idle();
  assert.deepEqual(agent.view.items.at(-1).ending, { status: "failed", error: "no such model", code: "other" });
  await agent.close();
});

test("what is off asks nothing, and may be turned on", async () => {
  const { agent, model } = begin({ background: "off", suggestions: ["write b.txt"] });
  for (const prompt of ["talk", "talk more"]) {
    agent.submit(prompt);
    await agent.idle();
  }
  assert.equal(model.requests.filter(({ responseSchema }) => responseSchema).length, 0);
  agent.setBackground("always");
  agent.suggest();
  await until(agent, ({ ahead }) => ahead?.state === "ready");
  agent.setBackground("off");
  assert.deepEqual([agent.view.suggestion, agent.view.ahead], [undefined, undefined]);
  assert.throws(() => agent.setBackground("much"), failsWith(InputError, "invalid_input", /much/));
  await agent.close();
});

test("a conversation goes on with the lines that were kept, and damaged ones are told", async () => {
  let lines = "";
  const sessions = { append: (more) => void (lines += more) };
  const first = begin({ sessions });
  first.agent.submit("talk of things");
  await first.agent.close();
  assert.ok(lines.endsWith('{"type":"withdrawn"}\n'), "a turn that was stopped before its answer is no part of it");
  begin({ restore: lines }).agent[Symbol.dispose]();
  lines = "";
  const second = begin({ sessions });
  second.agent.submit("talk of things");
  await second.agent.idle();
  await second.agent.close();
  const { agent, model } = begin({ restore: lines, sessions });
  assert.deepEqual(agent.view.items.map(({ text }) => text), ["talk of things", "I heard: talk of things."]);
  agent.submit("talk on");
  await agent.idle();
  assert.deepEqual(model.requests[0].messages.map(textOf), ["talk of things", "I heard: talk of things.", "talk on"]);
  await agent.close();
  for (const [damaged, why] of [["no line\n", /session/], [lines.replace('"version":1', '"version":9'), /newer/]]) {
    assert.throws(() => begin({ restore: damaged }), failsWith(InputError, "invalid_input", why, "restore"));
  }
  begin({ restore: lines + '{"type":"mess' }).agent[Symbol.dispose]();
  const torn = begin({ restore: lines.replace("\n", "\n{\n") }).agent;
  assert.ok(torn.view.items.some(({ text }) => text === "line 2 of what was kept is damaged and left out"));
  torn[Symbol.dispose]();
});

test("what is spent is kept, and what was kept is known again", async () => {
  const kept = { lines: "", habits: undefined };
  const ledger = () => ({
    past: kept.lines,
    habits: kept.habits,
    append: (lines, habits) => {
      kept.lines += lines;
      kept.habits = habits;
    },
  });
  const { agent } = begin({ suggestions: ["write b.txt"], ledger: ledger() });
  await offered(agent, "write b.txt");
  agent.take("write b.txt");
  await agent.idle();
  await agent.close();
  const entries = kept.lines.trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(entries.filter(({ type }) => type === "outcome").map(({ outcome }) => outcome), ["accepted"]);
  assert.equal(JSON.parse(kept.habits).decided, 1);
  const next = begin({ ledger: ledger() });
  next.agent.submit("talk");
  await next.agent.close();
  assert.equal(JSON.parse(kept.habits).decided, 1);
});

test("a store that fails is told once, and the conversation goes on", async () => {
  const sessions = {
    append: async () => {
      throw new Error("the disk is full");
    },
  };
  const { agent } = begin({ sessions });
  for (const prompt of ["talk", "talk more"]) {
    agent.submit(prompt);
    await agent.idle();
  }
  const notes = agent.view.items.filter(({ type }) => type === "note");
  assert.deepEqual(notes.map(({ code, text }) => [code, text]), [["trouble", "the disk is full"]]);
  await agent.close();
});

test("what the user undoes is marked, and other rules and another model count at once", async () => {
  const { agent, tree } = begin({ suggestions: ["write b.txt", "write c.txt", "write d.txt"] });
  await offered(agent, "write b.txt");
  agent.take("write b.txt");
  await until(agent, ({ suggestion }) => suggestion?.text === "write c.txt");
  await tree.remove("b.txt");
  agent.filesChanged();
  await until(agent, ({ items }) => items.some((item) => item.type === "applied" && item.undone[0] === "b.txt"));
  assert.equal(agent.view.suggestion, undefined);
  const other = obedient();
  agent.setModel(other, "other");
  agent.setRules({ deny: ["e.txt"] });
  agent.submit("write e.txt");
  await agent.idle();
  assert.equal("e.txt" in tree.snapshot(), false);
  assert.deepEqual(new Set(other.requests.map(({ model }) => model)), new Set(["other"]));
  assert.match(textOf(other.requests.findLast(({ responseSchema }) => !responseSchema).messages.findLast(({ role }) => role === "user")), /undone[^]*write e\.txt$/);
  await agent.close();
});

test("a suggestion of the host's own shows, and nothing runs for it", async () => {
  const { agent, model } = begin({ opening: "write b.txt" });
  await until(agent, ({ suggestion }) => suggestion?.text === "write b.txt");
  assert.equal(model.requests.length, 0);
  await agent.close();
});

test("a listener that throws changes nothing, and one that is gone hears nothing", async (context) => {
  const { agent } = begin();
  const said = context.mock.method(console, "error", () => {});
  let heard = 0;
  agent.onUpdate(() => {
    throw new Error("mine");
  });
  const forget = agent.onUpdate(() => (heard += 1));
  agent.submit("talk");
  await agent.idle();
  assert.ok(0 < heard && said.mock.callCount() === heard);
  forget();
  const before = heard;
  agent.submit("talk");
  await agent.close();
  assert.equal(heard, before);
});

test("what is no option is told by its name", () => {
  const model = obedient();
  const tree = new MemoryTree();
  for (const [options, path] of [
    [{ candidates: 0 }, "candidates"],
    [{ consent: () => {} }, "consent"],
    [{ sessions: {} }, "sessions.append"],
    [{ background: "some" }, "background"],
    [{ mode: "some" }, "mode"],
    [{ opening: "" }, "opening"],
  ]) {
    assert.throws(() => new Agent({ model, tree, ...options }), failsWith(InputError, "invalid_input", undefined, path), path);
  }
});
