// Tests of conversations in the forms of other libraries: the way there and back, and what has no place in a form.
import assert from "node:assert/strict";
import { test } from "node:test";
import { modelMessageSchema } from "ai";
import { Wire, init } from "headstart";
import { InputError, fromModelMessages, fromOpenAI, toModelMessages, toOpenAI } from "headstart/messages";

await init();

const text = (words) => ({ type: "text", text: words });
const read = { id: "call_1", name: "read_file", args: { file_path: "a.txt" } };
const list = { id: "call_2", name: "ls", args: {} };

/** A conversation with everything that one can hold. */
const conversation = {
  system: "You are a coding agent.",
  messages: [
    { role: "user", parts: [text("look")] },
    { role: "model", parts: [text("I look."), { type: "toolCall", ...read }, { type: "toolCall", ...list }] },
    {
      role: "tool",
      parts: [
        { type: "toolResult", id: "call_1", name: "read_file", output: "one\n" },
        { type: "toolResult", id: "call_2", name: "ls", error: "no such folder" },
      ],
    },
    { role: "model", parts: [text("It is one.")] },
    { role: "user", parts: [text("thanks")] },
  ],
};

const openAI = [
  { role: "system", content: "You are a coding agent." },
  { role: "user", content: "look" },
  {
    role: "assistant",
    content: "I look.",
    tool_calls: [
      { id: "call_1", type: "function", function: { name: "read_file", arguments: '{"file_path":"a.txt"}' } },
      { id: "call_2", type: "function", function: { name: "ls", arguments: "{}" } },
    ],
  },
  { role: "tool", tool_call_id: "call_1", content: "one\n" },
  { role: "tool", tool_call_id: "call_2", content: "Error: no such folder" },
  { role: "assistant", content: "It is one." },
  { role: "user", content: "thanks" },
];

test("to OpenAI's messages, as the module itself writes them", () => {
  assert.deepEqual(toOpenAI(conversation), openAI);
  const wire = new Wire({ provider: "openai", baseUrl: "http://localhost/v1" });
  const { body } = wire.encode({ model: "m", tools: [], thinking: true, ...conversation });
  assert.deepEqual(JSON.parse(body).messages, openAI);
});

test("from OpenAI's messages and back, to the letter", () => {
  assert.deepEqual(toOpenAI(fromOpenAI(openAI)), openAI);
  const { messages, system } = fromOpenAI(openAI);
  assert.equal(system, conversation.system);
  assert.deepEqual(messages[1], conversation.messages[1]);
  assert.deepEqual(messages[2].parts[0], conversation.messages[2].parts[0]);
});

test("parts of text, several instructions, no content, and results in another order", () => {
  const { system, messages } = fromOpenAI([
    { role: "system", content: "One." },
    { role: "developer", content: [{ type: "text", text: "Two." }] },
    { role: "user", content: [{ type: "text", text: "a" }, { type: "text", text: "b" }] },
    { ...openAI[2], content: null },
    openAI[4],
    openAI[3],
  ]);
  assert.equal(system, "One.\n\nTwo.");
  assert.deepEqual(messages[0].parts, [text("ab")]);
  assert.deepEqual(messages[1].parts.map(({ type }) => type), ["toolCall", "toolCall"]);
  assert.deepEqual(messages[2].parts.map(({ id, name }) => [id, name]), [["call_1", "read_file"], ["call_2", "ls"]]);
});

test("to messages of the AI SDK, which takes them for its own, and back", () => {
  const messages = toModelMessages(conversation);
  for (const message of messages) assert.deepEqual(modelMessageSchema.parse(message), message);
  assert.deepEqual(fromModelMessages(messages), conversation);
  const json = { role: "tool", content: [{ type: "tool-result", toolCallId: "call_1", toolName: "x", output: { type: "json", value: { a: 1 } } }] };
  const called = { role: "assistant", content: [{ type: "tool-call", toolCallId: "call_1", toolName: "x", input: {} }] };
  assert.deepEqual(fromModelMessages([called, json]).messages[1].parts, [{ type: "toolResult", id: "call_1", name: "x", output: { a: 1 } }]);
  assert.deepEqual(toModelMessages(fromModelMessages([called, json])), [called, json]);
});

test("images go both ways", () => {
  const data = "iVBORw0KGgo=";
  const image = { type: "image", mediaType: "image/png", data };
  const seen = { messages: [{ role: "user", parts: [text("what is "), image, text("this?")] }] };
  const written = toOpenAI(seen);
  assert.deepEqual(written[0].content.map(({ type }) => type), ["text", "image_url", "text"]);
  assert.deepEqual(fromOpenAI(written), seen);
  // The result must be what the module itself writes, which puts the words first.
  const plain = { messages: [{ role: "user", parts: [text("what is this?"), image] }] };
  const wire = new Wire({ provider: "openai", baseUrl: "http://localhost/v1" });
  assert.deepEqual(JSON.parse(wire.encode({ model: "m", tools: [], thinking: true, ...plain }).body).messages, toOpenAI(plain));

  const messages = toModelMessages(seen);
  for (const message of messages) assert.deepEqual(modelMessageSchema.parse(message), message);
  assert.deepEqual(fromModelMessages(messages), seen);
  const bytes = new Uint8Array(Buffer.from(data, "base64"));
  const forms = [
    { type: "image", image: data }, { type: "image", image: bytes }, { type: "image", image: bytes.buffer }, { type: "image", image: data, mediaType: "image/*" },
    { type: "image", image: `data:image/png;base64,${data}` }, { type: "image", image: new URL(`data:image/png;base64,${data}`) },
    { type: "file", data, mediaType: "image/png" },
  ];
  for (const form of forms) assert.deepEqual(fromModelMessages([{ role: "user", content: [form] }]).messages[0].parts, [image], JSON.stringify(form));
});

test("words stand for what a user attached that is no picture, or is not here", () => {
  const pdf = { type: "file", data: "JVBERi0=", mediaType: "application/pdf", filename: "report.pdf" };
  const cases = [
    [pdf, "[A file is attached here that is not shown: report.pdf, application/pdf]"],
    [{ ...pdf, data: new Uint8Array(4), filename: undefined }, "[A file is attached here that is not shown: application/pdf]"],
    [{ ...pdf, data: { type: "data", data: "JVBERi0=" } }, "[A file is attached here that is not shown: report.pdf, application/pdf]"],
    [{ ...pdf, data: { type: "url", url: new URL("https://example.org/r.pdf") } }, "[A file is attached here that is not shown: report.pdf, application/pdf, https://example.org/r.pdf]"],
    [{ ...pdf, data: { type: "text", text: "what it says" } }, "what it says"],
    [{ ...pdf, data: { type: "reference", reference: {} } }, "[A file is attached here that is not shown: report.pdf, application/pdf]"],
    [{ type: "image", image: new URL("https://example.org/a.png") }, "[An image is attached here that is not shown: https://example.org/a.png]"],
    [{ type: "image", image: "AAAA", mediaType: "image/tiff" }, "[An image is attached here that is not shown: image/tiff]"],
  ];
  for (const [part, said] of cases) {
    assert.deepEqual(fromModelMessages([{ role: "user", content: [text("see: "), part] }]).messages[0].parts, [text(`see: ${said}`)]);
  }
  const image = { type: "image", image: { type: "data", data: "iVBORw0KGgo=" }, mediaType: "image/png" };
  assert.deepEqual(fromModelMessages([{ role: "user", content: [image] }]).messages[0].parts, [{ type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" }]);
});

test("a conversation of the AI SDK in which calls were denied, cut off or run by the provider is taken whole", () => {
  const call = (id, more) => ({ type: "tool-call", toolCallId: id, toolName: "ls", input: {}, ...more });
  const result = (id, output) => ({ type: "tool-result", toolCallId: id, toolName: "ls", output });
  const results = (messages) => fromModelMessages(messages).messages.flatMap(({ parts }) => parts.filter(({ type }) => type === "toolResult")).map(({ id, output, error }) => [id, output ?? error]);
  const denied = "The user did not allow this call: not now";
  const ask = { type: "tool-approval-request", approvalId: "q", toolCallId: "a" };
  const no = { type: "tool-approval-response", approvalId: "q", approved: false, reason: "not now" };
  const user = { role: "user", content: "well" };
  assert.deepEqual(results([{ role: "assistant", content: [call("a"), ask] }, { role: "tool", content: [no] }, user]), [["a", denied]]);
  const both = [no, result("a", { type: "execution-denied", reason: "not now" })];
  assert.deepEqual(results([{ role: "assistant", content: [call("a"), ask] }, { role: "tool", content: both }]), [["a", denied]]);
  const yes = [{ ...no, approved: true }, result("a", { type: "text", value: "done" })];
  assert.deepEqual(results([{ role: "assistant", content: [call("a"), ask] }, { role: "tool", content: yes }]), [["a", "done"]]);
  const cut = "The call was cut off before it had a result.";
  assert.deepEqual(results([{ role: "assistant", content: [call("a", { input: '{"path": "s' }), call("b")] }, { role: "tool", content: [result("b", { type: "text", value: "x" })] }, user]), [["a", cut], ["b", "x"]]);

  const [search, found] = [call("p", { providerExecuted: true }), result("p", { type: "json", value: [{ url: "https://example.org" }] })];
  const roles = (content, ...more) => fromModelMessages([{ role: "assistant", content }, ...more]).messages.map(({ role, parts }) => [role, ...parts.map(({ type, id }) => id ?? type)]);
  assert.deepEqual(roles([text("I look."), search, found, text("It is there.")]), [["model", "text", "p"], ["tool", "p"], ["model", "text"]]);
  // A call of the page's own is answered later, so nothing may stand between it and its result.
  const own = { role: "tool", content: [result("a", { type: "text", value: "x" })] };
  assert.deepEqual(roles([call("a"), search, found, text("And?")], own), [["model", "a", "p", "text"], ["tool", "a", "p"]]);
  assert.deepEqual(roles([found]), [["model", "text"]]);
  const parts = [{ type: "reasoning", text: "hm" }, { type: "reasoning-file", data: "", mediaType: "image/png" }, { type: "custom", kind: "a.b" }, { type: "file", data: "", mediaType: "image/png" }];
  assert.deepEqual(roles(parts), [["model", "text"]]);
  const content = { type: "content", value: [text("one "), { type: "image-data", data: "AAAA", mediaType: "image/png" }, { type: "file-url", url: "https://example.org/x" }] };
  assert.deepEqual(results([{ role: "assistant", content: [call("a")] }, { role: "tool", content: [result("a", content)] }]), [
    ["a", "one [A file is attached here that is not shown: image/png][A file is attached here that is not shown: https://example.org/x]"],
  ]);
});

test("an engine takes what comes out", () => {
  const { messages } = fromOpenAI(openAI.slice(1));
  assert.deepEqual(JSON.parse(new Wire({ provider: "anthropic" }).encode({ model: "m", messages, tools: [], thinking: false }).body).messages.length, 5);
});

test("what has no place in a conversation is told by its place", () => {
  const call = openAI[2];
  const wrong = [
    [fromOpenAI, "no", "messages"],
    [fromOpenAI, [7], "messages[0]"],
    [fromOpenAI, [{ role: "critic", content: "" }], "messages[0].role"],
    [fromOpenAI, [{ role: "user", content: [{ type: "text", text: "" }, { type: "image_url", image_url: {} }] }], "messages[0].content[1].image_url.url"],
    [fromOpenAI, [{ role: "user", content: [{ type: "input_audio" }] }], "messages[0].content[0].type"],
    [fromOpenAI, [{ role: "user", content: [{ type: "image_url", image_url: { url: "https://example.org/a.png" } }] }], "messages[0].content[0].image_url.url"],
    [fromOpenAI, [{ role: "user", content: [{ type: "image_url", image_url: { url: "data:image/tiff;base64,AAAA" } }] }], "messages[0].content[0].image_url.url"],
    [fromModelMessages, [{ role: "user", content: [{ type: "image", image: 7 }] }], "messages[0].content[0].image"],
    [fromModelMessages, [{ role: "user", content: [{ type: "file" }] }], "messages[0].content[0].data"],
    [fromOpenAI, [{ role: "user", content: "a" }, { role: "system", content: "b" }], "messages[1]"],
    [fromOpenAI, [call, openAI[3]], "messages"],
    [fromOpenAI, [call, openAI[3], openAI[3]], "messages[2]"],
    [fromOpenAI, [{ role: "tool", tool_call_id: "call_9", content: "" }], "messages[0]"],
    [fromOpenAI, [{ role: "assistant", content: null, function_call: {} }], "messages[0].function_call"],
    [fromOpenAI, [{ role: "assistant", tool_calls: [{ id: "a", function: { name: "ls", arguments: "{" } }] }], "messages[0].tool_calls[0].function.arguments"],
    [fromOpenAI, [{ role: "assistant", tool_calls: [{ id: "a", function: { name: "ls", arguments: "[]" } }] }], "messages[0].tool_calls[0].function.arguments"],
    [fromModelMessages, [{ role: "assistant", content: [{ type: "image" }] }], "messages[0].content[0].type"],
    [fromModelMessages, [{ role: "assistant", content: [{ type: "tool-call", toolCallId: "a", toolName: "ls", args: {} }] }], "messages[0].content[0].args"],
    [fromModelMessages, [{ role: "tool", content: [{ type: "text", text: "" }] }], "messages[0].content[0].type"],
  ];
  for (const [from, messages, path] of wrong) {
    assert.throws(() => from(messages), (error) => error instanceof InputError && error.path === path && error.message.startsWith(path), path);
  }
});
