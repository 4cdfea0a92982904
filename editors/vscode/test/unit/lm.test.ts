import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { ModelEvent, ModelRequest } from "headstart";
import { editorModel } from "../../src/models/lm.js";
import { type FakeChat, LanguageModelTextPart as Text, LanguageModelToolCallPart as Call, offered } from "./vscode.js";

class ModelError extends Error {}
const headstart = { ModelError } as unknown as Parameters<typeof editorModel>[0];

const REQUEST: ModelRequest = {
  model: "any",
  system: "Be brief.",
  tools: [{ name: "ls", description: "lists", parameters: { type: "object" } }],
  thinking: false,
  messages: [
    { role: "user", parts: [{ type: "text", text: "hello" }] },
    { role: "model", parts: [{ type: "toolCall", id: "1", name: "ls", args: { path: "src" } }] },
    { role: "tool", parts: [{ type: "toolResult", id: "1", name: "ls", error: "there is no src" }] },
  ],
};

let sent: { messages: unknown[]; options: unknown; token: { isCancellationRequested: boolean } }[] = [];

function chat(parts: unknown[], family = "fast"): FakeChat {
  return {
    name: `The ${family} one`,
    id: `id-${family}`,
    family,
    sendRequest(messages, options, token) {
      sent.push({ messages, options, token });
      return Promise.resolve({
        stream: (async function* () {
          for (const part of parts) {
            if (part instanceof Error) throw part;
            yield part;
          }
        })(),
      });
    },
    countTokens: (text) => Promise.resolve(text.length),
  };
}

async function asked(parts: unknown[], request = REQUEST, signal = new AbortController().signal): Promise<ModelEvent[]> {
  offered.splice(0, offered.length, chat(parts));
  const found = await editorModel(headstart, "");
  assert.ok("model" in found);
  const events: ModelEvent[] = [];
  for await (const event of found.model.stream(request, signal)) events.push(event);
  return events;
}

beforeEach(() => {
  sent = [];
});

test("an image is told where the editor has no part for it", async () => {
  const image = { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" } as const;
  await asked([new Text("ok")], { ...REQUEST, messages: [{ role: "user", parts: [{ type: "text", text: "see" }, image] }] });
  assert.match(JSON.stringify(sent[0]?.messages), /An image stands here, which this editor cannot show/);
});

test("texts, calls, an estimate of the tokens, and the end", async () => {
  const events = await asked([new Text("I'll "), new Text("look."), new Call("7", "ls", { path: "." })]);
  assert.deepEqual(events.map(({ type }) => type), ["text", "text", "toolCall", "usage", "finished"]);
  assert.deepEqual(events[2], { type: "toolCall", id: "7", name: "ls", args: { path: "." } });
  const usage = events[3];
  assert.ok(usage?.type === "usage" && 0 < (usage.usage.inputTokens ?? 0));
  assert.equal(usage.usage.outputTokens, "I'll look.".length + JSON.stringify({ path: "." }).length);
});

test("the conversation goes over whole: system first, calls by the model, results by the user", async () => {
  await asked([new Text("ok")]);
  assert.deepEqual(JSON.parse(JSON.stringify(sent[0]?.messages)), [
    { role: 1, content: [{ value: "Be brief." }] },
    { role: 1, content: [{ value: "hello" }] },
    { role: 2, content: [{ callId: "1", name: "ls", input: { path: "src" } }] },
    { role: 1, content: [{ callId: "1", content: [{ value: "error: there is no src" }] }] },
  ]);
  assert.deepEqual((sent[0]?.options as { tools: unknown }).tools, [{ name: "ls", description: "lists", inputSchema: { type: "object" } }]);
});

test("the form of an answer is asked for in words", async () => {
  await asked([new Text("{}")], { ...REQUEST, responseSchema: { type: "object", title: "Guess" } });
  assert.match(JSON.stringify(sent[0]?.messages.at(-1)), /"title\\":\\"Guess/);
});

test("an answer that nobody wants is cancelled", async () => {
  const abort = new AbortController();
  abort.abort();
  await asked([new Text("ok")], REQUEST, abort.signal);
  assert.equal(sent[0]?.token.isCancellationRequested, true);
});

test("a refusal says what the user can do", async () => {
  const refusal = Object.assign(new Error("no"), { code: "NoPermissions" });
  await assert.rejects(asked([refusal]), /not allowed headstart to use the model/);
});

test("a model is found by family or id, and a missing one is told", async () => {
  offered.splice(0, offered.length, chat([], "slow"), chat([], "fast"));
  for (const name of ["fast", "id-fast"]) {
    const found = await editorModel(headstart, name);
    assert.ok("model" in found && found.name === "The fast one", name);
  }
  const none = await editorModel(headstart, "other");
  assert.ok("missing" in none && none.missing.includes("other"));
});
