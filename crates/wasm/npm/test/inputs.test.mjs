// Tests that a message about a wrong argument uses words of JavaScript, and has the path of the field.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ChangeSet, commit, Engine, fetchModel, FollowupController, init, InputError, judge, MemoryTree, Overlay, recordedModel, Wire } from "headstart";

await init();

const NAMES = ["string", "number", "negative", "fraction", "boolean", "null", "array", "object", "texts"];
const VALUES = { string: "x", number: 1, negative: -1, fraction: 1.5, boolean: true, null: null, array: [], object: { a: 1 }, texts: ["x"] };

/** For each kind of field: which values it takes, and what the message for other values says. */
const COUNT = { takes: ["number"], says: "must be a whole number, 0 or more" };
const TEXT = { takes: ["string"], says: "must be a string" };
const FLAG = { takes: ["boolean"], says: "must be true or false" };
const TEXTS = { takes: ["array", "texts"], says: "must be an array" };
const OBJECT = { takes: ["object", "array"], says: "must be an object" };
const words = (...some) => ({ takes: [], says: `must be ${some.length > 2 ? "one of " : ""}${some.map((word) => `"${word}"`).join(some.length > 2 ? ", " : " or ")}` });
/** A field that may also be null, which is the same as leaving it out. */
const optional = (field) => ({ ...field, takes: [...field.takes, "null"] });

const tree = new MemoryTree();
const model = recordedModel({ suggestions: ["x"] });
const engine = (options) => new Engine({ model, tree, ...options });
const user = { role: "user", parts: [{ type: "text", text: "x" }] };
const at = (path, value) => path.reduceRight((inner, name) => (typeof name === "number" ? [inner] : { [name]: inner }), value);

/** For each field: how to make something with a value for it, its name in messages, and what it takes. */
const FIELDS = [
  ...["turns", "messages", "tokens", "candidates"].map((name) => [(value) => engine({ limits: { [name]: value } }), `limits.${name}`, optional(COUNT)]),
  [(value) => engine({ limits: { timeMs: value } }), "limits.timeMs", { takes: ["number", "fraction", "null"], says: "must be a number" }],
  ...["files", "bytes", "fileBytes", "depth"].flatMap((name) => [
    [(value) => engine({ limits: { staged: { [name]: value } } }), `limits.staged.${name}`, optional(COUNT)],
    [(value) => new Overlay(tree, { [name]: value }), `quota.${name}`, optional(COUNT)],
  ]),
  [(value) => engine({ modelName: value }), "modelName", optional(TEXT)],
  [(value) => engine({ workspace: value }), "workspace", { takes: ["null"], says: "must be a" }],
  [(value) => engine({ deny: value }), "deny", optional(TEXTS)],
  [(value) => engine({ deny: [value] }), "deny[0]", TEXT],
  [(value) => engine({ policies: value }), "policies", { takes: ["array", "null"], says: "must be an array", inside: ["texts"] }],
  [(value) => engine({ policies: [{ program: value, decision: "boundary" }] }), "policies[0].program", TEXT],
  [(value) => engine({ policies: [{ program: "x", decision: value }] }), "policies[0].decision", words("allow", "boundary")],
  [(value) => engine({ atBoundary: value }), "atBoundary", optional(words("commit", "discard"))],
  [(value) => engine({ aheadWrites: value }), "aheadWrites", optional(words("boundary", "ask"))],
  [(value) => engine({ commit: { merge: value } }), "commit.merge", optional(words("text", "never"))],
  [(value) => engine({ commit: { staleReads: value } }), "commit.staleReads", optional(words("conflict", "warn"))],
  [(value) => engine({ tools: [{ run() {}, name: value, description: "", parameters: {} }] }), "tools[0].name", TEXT],
  [(value) => engine({ tools: [{ run() {}, name: "mine", description: value, parameters: {} }] }), "tools[0].description", TEXT],
  [(value) => engine({ tools: value }), "tools", { takes: ["array"], says: "must be an array", inside: ["texts"], also: ["null"] }],
  [(value) => new FollowupController(value), "config", { ...OBJECT, inside: ["object", "texts"] }],
  [(value) => new FollowupController({ enabled: value }), "config.enabled", optional(FLAG)],
  [(value) => new FollowupController({ showDelayMs: value }), "config.showDelayMs", optional(COUNT)],
  [(value) => new FollowupController({ acceptLockMs: value }), "config.acceptLockMs", optional(COUNT)],
  [(value) => new FollowupController().handle({ type: "requested", request: value }), "request", { ...COUNT, missing: ["null"] }],
  [(value) => new FollowupController().handle({ type: "enabled", enabled: value }), "enabled", { ...FLAG, missing: ["null"] }],
  [(value) => new FollowupController().handle({ type: "edited", text: value }), "text", { ...TEXT, missing: ["null"] }],
  [(value) => new FollowupController().handle({ type: "accept", method: "tab", skipInsert: value }), "skipInsert", optional(FLAG)],
  [(value) => new FollowupController().handle({ type: "suggested", request: 1, others: value }), "others", { takes: ["array", "null"], says: "must be an array of strings", inside: ["texts"] }],
  [(value) => judge({ name: value, args: {} }), "call.name", TEXT],
  [(value) => judge({ name: "ls", args: value }), "call.args", { takes: ["object"], says: "must be an object" }],
  [(value) => judge({ name: "ls" }, { mode: value }), "context.mode", optional(words("default", "plan", "chat", "auto-edit", "yolo"))],
  [(value) => judge({ name: "ls" }, { deny: [value] }), "context.deny[0]", TEXT],
  [(value) => judge({ name: "ls" }, { policies: [{ program: "x", decision: "boundary", words: value }] }), "context.policies[0].words", TEXTS],
  [(value) => recordedModel({ turns: value }), "recording.turns", { takes: [], says: "must be an array", inside: ["array", "texts"], else: "recording" }],
  [(value) => recordedModel({ turns: [{ text: value }] }), "recording.turns[0].text", TEXT],
  [(value) => recordedModel({ turns: [{ delayMs: value }] }), "recording.turns[0].delayMs", COUNT],
  [(value) => recordedModel({ turns: [{ streamMs: value }] }), "recording.turns[0].streamMs", COUNT],
  [(value) => recordedModel({ turns: [{ toolCalls: [{ name: value }] }] }), "recording.turns[0].toolCalls[0].name", TEXT],
  [(value) => recordedModel({ turns: [{ toolCalls: [{ name: "x", args: value }] }] }), "recording.turns[0].toolCalls[0].args", { takes: ["object"], says: "must be an object" }],
  [(value) => recordedModel({ suggestions: [value] }), "recording.suggestions[0]", { takes: ["string"], says: "must be a string or an object with \"text\"", inside: ["object"] }],
  [(value) => recordedModel({ suggestions: [{ text: "x", delayMs: value }] }), "recording.suggestions[0].delayMs", COUNT],
  [(value) => recordedModel({ turns: [{ usage: { inputTokens: value } }] }), "recording.turns[0].usage.inputTokens", COUNT],
  [(value) => engine().speculate({ system: value, messages: [user] }, "go").dispose(), "conversation.system", optional(TEXT)],
  [(value) => engine().speculate({ messages: [{ role: "user", parts: [{ type: "text", text: value }] }] }, "go").dispose(), "conversation.messages[0].parts[0].text", TEXT],
  [(value) => engine().speculate({ messages: [{ role: "model", parts: [{ type: "toolCall", id: "a", name: "ls", args: value }] }] }, "go"), "conversation.messages[0].parts[0].args", { takes: ["object"], says: "must be an object", else: "conversation.messages[0]" }],
  [(value) => engine().turn({ messages: [] }, { prompt: value }).dispose(), "next.prompt", { ...TEXT, else: "next" }],
  [(value) => new Wire({ provider: "ollama" }).encode({ model: value, tools: [], messages: [user], thinking: false }), "request.model", TEXT],
  [(value) => new Wire({ provider: "ollama" }).encode({ model: "m", tools: [], messages: [user], thinking: value }), "request.thinking", FLAG],
  [(value) => new Wire({ provider: "ollama" }).encode({ model: "m", tools: [], messages: [{ ...user, role: value }], thinking: false }), "request.messages[0].role", words("user", "model", "tool")],
  [(value) => fetchModel({ provider: "ollama", retries: value }), "retries", { takes: ["number", "fraction", "null"], says: "must be a number, 0 or more" }],
  [(value) => fetchModel({ provider: "ollama", timeouts: { idleMs: value } }), "timeouts.idleMs", { takes: ["number", "fraction", "null"], says: "must be a number, 0 or more" }],
];

/** Words that only a Rust developer understands. No message may have them. */
const RUST = /\b[uif](8|16|32|64|128)\b|usize|struct|expected|variant|enum|invalid (type|value|length)|sequence|\ba map\b|boolean|integer|floating point|unit|Option|untagged|serde|line \d|column|\b[A-Z][a-z]+[A-Z]\w*/;

function failure(make, value) {
  try {
    make(value);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof InputError, `${make}: ${error?.stack}`);
    assert.equal(error.code, "invalid_input");
    return error;
  }
}

/** A pattern for a value as messages show it. */
function shown(name) {
  const value = VALUES[name];
  if (Array.isArray(value)) return /^(an array|\[.*\])$/;
  return typeof value === "object" && value !== null ? /^(an object|\{.*\})$/ : new RegExp(`^${JSON.stringify(value).replace(".", "\\.")}$`);
}

for (const [make, path, field] of FIELDS) {
  test(`${path}: what is not of its type is told in words of JavaScript`, () => {
    let refused = 0;
    for (const name of NAMES) {
      const error = failure(make, VALUES[name]);
      if (error === undefined) {
        assert.ok(field.takes.includes(name) || field.also?.includes(name), `${name} is taken`);
        continue;
      }
      refused += 1;
      assert.doesNotMatch(error.message, RUST);
      if (field.takes.includes(name) || field.inside?.includes(name)) {
        // The value has the right type, but is not allowed itself, or something in it is not.
        assert.ok(error.path.startsWith(field.else ?? path), `${name}: ${error.message}`);
        continue;
      }
      if (field.else === error.path) continue;
      assert.equal(error.path, path, `${name}: ${error.message}`);
      if (field.missing?.includes(name)) {
        assert.match(error.message, /: is missing; it must be /);
        continue;
      }
      const [beginning, end] = error.message.split(/, and is (?!.*, and is )/);
      assert.ok(beginning.startsWith(`${path}: ${field.says}`), `${name}: ${error.message}`);
      assert.match(end, shown(name), `${name}: ${error.message}`);
    }
    assert.ok(refused >= 4, `${refused}`);
  });
}

test("a field that nobody knows, one that is missing, and nothing at all", async () => {
  const cases = [
    [() => engine({ limits: { turn: 1 } }), "limits.turn", /^limits\.turn: there is no such option; did you mean turns\?$/],
    [() => new FollowupController({ showDelay: 1 }), "config.showDelay", /did you mean showDelayMs\?$/],
    [() => new Overlay(tree, { size: 1 }), "quota.size", /there are files, bytes, fileBytes, depth$/],
    [() => judge({ name: "ls" }, { modes: 1 }), "context.modes", /did you mean mode\?$/],
    [() => recordedModel({ turn: [] }), "recording.turn", /known are "turns" or "suggestions"$/],
    [() => recordedModel({ turns: [{ toolCalls: [{}] }] }), "recording.turns[0].toolCalls[0].name", /name: is missing$/],
    [() => recordedModel({ suggestions: [{ delayMs: 1 }] }), "recording.suggestions[0].text", /text: is missing$/],
    [() => recordedModel([]), "recording", /^recording: must be an object with "?`?turns/],
    [() => recordedModel("x"), "recording", /^recording: must be an object, and is "x"$/],
    [() => judge({ name: "ls" }, { deny: ["a", ["x"]] }), "context.deny[1]", /must be a string, and is an array$/],
    [() => judge({ name: "ls" }, { deny: [{}] }), "context.deny[0]", /must be a string, and is an object$/],
    [() => recordedModel({ suggestions: ["a", ["x"]] }), "recording.suggestions[1]", /and is an array$/],
    [() => judge({}), "call.name", /^call\.name: is missing$/],
    [() => judge([]), "call", /^call: must be an object, and is an array$/],
    [() => engine({ policies: [[]] }), "policies[0]", /^policies\[0\]: must be an object, and is an array$/],
    [() => judge("ls"), "call", /^call: must be an object, and is "ls"$/],
    [() => judge({ name: "ls" }, "yolo"), "context", /^context: must be an object, and is "yolo"$/],
    [() => new FollowupController().handle("wake"), "event", /^event: must be an object, and is "wake"$/],
    [() => new FollowupController().handle({ type: "sleep" }), "type", /^type: there is no event "sleep"$/],
    [() => engine({ mode: 5 }), "mode", /^mode: must be one of plan, chat, default, auto-edit, yolo or a function, and is 5$/],
    [() => engine({ policies: [{ program: "x" }] }), "policies[0].decision", /is missing$/],
    [() => engine({ policies: [{ program: "x", decision: "allow", why: "" }] }), "policies[0].why", /is not a known field; known are "program"/],
    [() => engine().turn({ messages: [] }, {}), "next", /^next: must have either a `prompt` or a `transcript`$/],
    [() => engine().turn({ messages: [] }, { prompt: "x", transcript: { messages: [], rest: [], restContinues: false } }), "next", /either/],
    [() => engine().turn({ messages: [] }, { promt: "x" }), "next.promt", /did you mean prompt\?$/],
    [() => engine().speculate({ messages: [1] }, "x"), "conversation.messages[0]", /must be an object with `role` and `parts`, and is a number$/],
    [() => engine().speculate({ messages: [{ role: "user", parts: [{ type: "video" }] }] }, "x"), "conversation.messages[0].parts[0].type", /must be one of "text", "image", "toolCall", "toolResult", "opaque", and is "video"$/],
    [() => engine().speculate({ messages: [{ role: "user", parts: [{ type: "image" }] }] }, "x"), "conversation.messages[0].parts[0].mediaType", /is missing$/],
    [() => ChangeSet.fromJSON({ changes: [{ path: {} }], reads: [] }), "changes.changes[0]", /must be a path: a string, or an array of its bytes$/],
  ];
  for (const [make, path, message] of cases) {
    const error = failure(make);
    assert.ok(error, `${make}`);
    assert.match(error.message, message);
    assert.equal(error.path, path, error.message);
    assert.doesNotMatch(error.message, RUST);
  }
  const changes = new Overlay(tree).changeSet();
  await assert.rejects(commit(tree, changes, { merge: 1 }), { path: "options.merge", message: 'options.merge: must be "text" or "never", and is 1' });
});

test("what the model and the developer's commands give is told in the same words", async () => {
  const gives = (event) => engine({ model: { async *stream() { yield event; } } }).speculate({ messages: [] }, "go").finished;
  const cases = [
    [{ type: "usage", usage: { inputTokens: "x" } }, /usage\.inputTokens: must be a whole number, 0 or more, and is "x"$/],
    [{ type: "finished", reason: 1 }, /reason: must be one of "stop", "length", "contentFilter", "writtenCall", and is 1$/],
    [{ type: "finished", reason: "end" }, /reason: must be one of "stop", "length", "contentFilter", "writtenCall", and is "end"$/],
    [7, /event: must be an object, and is 7$/],
  ];
  for (const [event, message] of cases) {
    const { ending } = await gives(event);
    assert.match(ending.error, message);
    assert.doesNotMatch(ending.error, RUST);
  }
  const ls = { turns: [{ toolCalls: [{ name: "shell", args: { command: "ls" } }] }, { text: "Done." }] };
  const work = engine({ model: recordedModel(ls, { speed: Infinity }), runCommand: async () => ({ output: 1 }) }).speculate({ messages: [] }, "go");
  const results = [];
  for await (const event of work) if (event.type === "toolResult") results.push(event.result.error);
  assert.match(results[0], /output\.output: must be a string, and is 1$/);
});
