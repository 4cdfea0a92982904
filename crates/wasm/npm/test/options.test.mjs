// Tests of wrong arguments for every public function, and of options that do not exist.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ChangeSet,
  classifyShell,
  commit,
  Engine,
  fetchModel,
  filterSuggestion,
  FollowupController,
  HeadstartError,
  InputError,
  judge,
  MemoryTree,
  Overlay,
  recordedModel,
  speculate,
  UndoWatch,
  Wire,
} from "headstart";
import { failsWith } from "./support.mjs";

const conversation = { messages: [] };
const tree = () => new MemoryTree({ "a.txt": "a\n" });
const recording = { turns: [{ text: "Done." }], suggestions: ["commit this"] };
const model = () => recordedModel(recording, { speed: Infinity });
const engine = (options) => new Engine({ model: model(), tree: tree(), mode: "auto-edit", ...options });
const wire = () => new Wire({ provider: "ollama" });
const call = { name: "ls", args: {} };

/** The outcome of a function, also if it throws at once. */
async function outcomeOf(work) {
  const outcome = await work();
  // A model is asked only when somebody reads its answer, so one event is read.
  if (typeof outcome?.[Symbol.asyncIterator] === "function" && outcome.finished === undefined) {
    for await (const _ of outcome) break;
  }
  return outcome;
}

test("an option that does not exist is refused, with the one that was meant", async () => {
  const cases = [
    [() => fetchModel({ provider: "openai", baseURL: "http://localhost:11434/v1", key: "k" }), "baseURL", "baseUrl"],
    [() => fetchModel({ provider: "openai", apiKey: "k" }), "apiKey", "key"],
    [() => fetchModel({ provider: "ollama", timeouts: { firstbyteMS: 1 } }), "timeouts.firstbyteMS", "firstByteMs"],
    [() => new Wire({ provider: "openai", base_url: "http://localhost" }), "base_url", "baseUrl"],
    [() => new Wire({ provider: "openai", baseURL: undefined }), "baseURL", "baseUrl"],
    [() => engine({ denied: [".env"] }), "denied", "deny"],
    [() => engine({ limtis: {} }), "limtis", "limits"],
    [() => engine({ modee: "plan" }), "modee", "mode"],
    [() => engine({ limits: { timems: 1 } }), "limits.timems", "timeMs"],
    [() => engine({ limits: { staged: { filebytes: 1 } } }), "limits.staged.filebytes", "fileBytes"],
    [() => engine({ commit: { staleRead: "warn" } }), "commit.staleRead", "staleReads"],
    [() => engine().suggest(conversation, { sginal: null }), "options.sginal", "signal"],
    [() => engine().suggest(conversation, { candidate: 2 }), "options.candidate", "candidates"],
    [() => engine().speculate(conversation, "go", { sginal: null }), "options.sginal", "signal"],
    [() => engine().turn(conversation, { prompt: "go" }, { abortSignal: null }), "options.abortSignal", "signal"],
    [() => engine().turn(conversation, { promt: "go" }), "next.promt", "prompt"],
    [() => speculate({ model: model(), tree: tree(), promtp: "go" }), "promtp", "prompt"],
    [() => new FollowupController({ showDelay: 1 }), "config.showDelay", "showDelayMs"],
    [() => new Overlay(tree(), { file: 1 }), "quota.file", "files"],
    [() => new Overlay(tree()).write("a", "", { exectuable: true }), "options.exectuable", "executable"],
    [() => tree().write("a", "", { exec: true }), "options.exec", "executable"],
    [() => commit(tree(), new Overlay(tree()).changeSet(), { merged: "never" }), "options.merged", "merge"],
    [() => recordedModel(recording, { sped: 2 }), "options.sped", "speed"],
    [() => judge(call, { workspaces: "/a" }), "context.workspaces", "workspace"],
    [() => classifyShell("ls", { policy: [] }), "context.policy", "policies"],
  ];
  for (const [work, path, meant] of cases) {
    const told = new RegExp(`^${path.replaceAll(".", "\\.")}: there is no such option; did you mean ${meant}\\?$`);
    await assert.rejects(async () => work(), failsWith(InputError, "invalid_input", told, path), path);
  }
  assert.throws(() => fetchModel({ provider: "ollama", temperature: 1 }), { message: /^temperature: there is no such option; there are provider, baseUrl, / });
});

test("a misspelt option sends nothing anywhere", async (context) => {
  const fetched = context.mock.method(globalThis, "fetch", async () => new Response("", { status: 500 }));
  await assert.rejects(async () => {
    const misdirected = fetchModel({ provider: "openai", baseURL: "http://localhost:11434/v1", key: "k", retries: 0 });
    await engine({ model: misdirected, modelName: "m" }).speculate(conversation, "go").finished;
  }, InputError);
  assert.equal(fetched.mock.callCount(), 0);
});

// The functions that take options after their required arguments. Each wrong value is given as the options.
const takesOptions = {
  "new FollowupController": (config) => new FollowupController(config),
  judge: (context) => judge(call, context),
  classifyShell: (context) => classifyShell("ls", context),
  "new Overlay": (quota) => new Overlay(tree(), quota),
  "Overlay.write": (options) => new Overlay(tree()).write("a", "", options),
  commit: (options) => commit(tree(), new Overlay(tree()).changeSet(), options),
  "new MemoryTree": (files) => new MemoryTree(files),
  "MemoryTree.write": (options) => tree().write("a", "", options),
  "Engine.suggest": (options) => engine().suggest(conversation, options),
  "Engine.speculate": (options) => engine().speculate(conversation, "go", options),
  "Engine.turn": (options) => engine().turn(conversation, { prompt: "go" }, options),
  recordedModel: (options) => recordedModel(recording, options),
};

// The functions that require this argument.
const takesObjects = {
  "new Engine": (options) => new Engine(options),
  "Engine.suggest, conversation": (given) => engine().suggest(given),
  "Engine.speculate, conversation": (given) => engine().speculate(given, "go"),
  "Engine.turn, conversation": (given) => engine().turn(given, { prompt: "go" }),
  "Engine.turn, next": (next) => engine().turn(conversation, next),
  "Engine, model": (given) => engine({ model: given }),
  "Engine, tree": (given) => engine({ tree: given }),
  speculate: (options) => speculate(options),
  recordedModel: (given) => recordedModel(given),
  "recordedModel.stream": (request) => model().stream(request),
  fetchModel: (options) => fetchModel(options),
  "fetchModel.stream": (request) => fetchModel({ provider: "ollama" }).stream(request),
  "new Wire": (options) => new Wire(options),
  "Wire.encode": (request) => wire().encode(request),
  "Wire.decoder": (request) => wire().decoder(request),
  "new Overlay": (base) => new Overlay(base),
  "commit, tree": (given) => commit(given, new Overlay(tree()).changeSet()),
  "commit, changes": (changes) => commit(tree(), changes),
  "ChangeSet.fromJSON": (json) => ChangeSet.fromJSON(json),
  "ChangeSet.followedBy": (above) => new Overlay(tree()).changeSet().followedBy(above),
  "FollowupController.handle": (event) => new FollowupController().handle(event),
  judge: (given) => judge(given),
  "new UndoWatch": (given) => new UndoWatch(given),
  "UndoWatch.told": (news) => new UndoWatch(tree()).told(news),
};

const takesTexts = {
  filterSuggestion: (text) => filterSuggestion(text),
  classifyShell: (command) => classifyShell(command),
  "Engine.speculate, prompt": (prompt) => engine().speculate(conversation, prompt),
  "speculate, prompt": (prompt) => speculate({ model: model(), tree: tree(), prompt }),
  "ChangeSet.sides": (path) => new Overlay(tree()).changeSet().sides(path),
  ...Object.fromEntries(["metadata", "read", "list", "readLink", "createDir", "remove"].flatMap((method) => [
    [`MemoryTree.${method}`, (path) => tree()[method](path)],
    [`Overlay.${method}`, (path) => new Overlay(tree())[method](path)],
  ])),
  "MemoryTree.write": (path) => tree().write(path, ""),
  "MemoryTree.write, content": (content) => tree().write("a", content),
  "MemoryTree.symlink": (path) => tree().symlink(path, "a"),
  "MemoryTree.symlink, target": (target) => tree().symlink("l", target),
  "Overlay.write": (path) => new Overlay(tree()).write(path, ""),
  "Overlay.write, content": (content) => new Overlay(tree()).write("a", content),
  "Overlay.readText": (path) => new Overlay(tree()).readText(path),
  "Overlay.rename": (from) => new Overlay(tree()).rename(from, "b"),
  "Overlay.rename, to": (to) => new Overlay(tree()).rename("a.txt", to),
  "Decoder.push": (bytes) => wire().decoder({ model: "m", tools: [], messages: [], thinking: false }).push(bytes),
};

// Functions with a single option set to the value.
const takesOption = {
  number: {
    "recordedModel, speed": (speed) => recordedModel(recording, { speed }),
    "suggest, candidates": (candidates) => engine().suggest(conversation, { candidates }),
    "fetchModel, retries": (retries) => fetchModel({ provider: "ollama", retries }),
    "fetchModel, timeouts": (idleMs) => fetchModel({ provider: "ollama", timeouts: { idleMs } }),
    "Engine, limits": (turns) => engine({ limits: { turns } }),
    "Overlay, quota": (files) => new Overlay(tree(), { files }),
    "FollowupController, delay": (showDelayMs) => new FollowupController({ showDelayMs }),
    "FollowupController, now": (now) => new FollowupController().handle({ type: "wake" }, now),
  },
  signal: {
    suggest: (signal) => engine().suggest(conversation, { signal }),
    speculate: (signal) => engine().speculate(conversation, "go", { signal }),
    turn: (signal) => engine().turn(conversation, { prompt: "go" }, { signal }),
    "speculate in one call": (signal) => speculate({ model: model(), tree: tree(), prompt: "go", signal }),
    "recordedModel.stream": (signal) => model().stream({ model: "", tools: [], messages: [], thinking: false }, signal),
    "fetchModel.stream": (signal) => fetchModel({ provider: "ollama" }).stream({ model: "m", tools: [], messages: [], thinking: false }, signal),
  },
  function: {
    "Engine, runCommand": (runCommand) => engine({ runCommand }),
    "Engine, look": (look) => engine({ look }),
    "Engine, consent": (consent) => engine({ consent }),
    "fetchModel, fetch": (fetch) => fetchModel({ provider: "ollama", fetch }),
  },
  list: {
    "Engine, tools": (tools) => engine({ tools }),
    "Engine, deny": (deny) => engine({ deny }),
    "Engine, policies": (policies) => engine({ policies }),
    "judge, deny": (deny) => judge(call, { deny }),
  },
  object: {
    "Engine, limits": (limits) => engine({ limits }),
    "Engine, staged": (staged) => engine({ limits: { staged } }),
    "Engine, commit": (given) => engine({ commit: given }),
    "fetchModel, timeouts": (timeouts) => fetchModel({ provider: "ollama", timeouts }),
  },
  string: {
    "Engine, modelName": (modelName) => engine({ modelName }),
    "Engine, mode": (mode) => engine({ mode }),
    "Engine, workspace": (workspace) => engine({ workspace }),
    "Engine, atBoundary": (atBoundary) => engine({ atBoundary }),
    "Engine, aheadWrites": (aheadWrites) => engine({ aheadWrites }),
    "judge, mode": (mode) => judge(call, { mode }),
    "speculate, id": (id) => engine().speculate(conversation, "go", { id }),
    "Wire, provider": (provider) => new Wire({ provider }),
    "Wire, baseUrl": (baseUrl) => new Wire({ provider: "ollama", baseUrl }),
    "Wire.encode, key": (key) => wire().encode({ model: "m", tools: [], messages: [], thinking: false }, key),
    "fetchModel, key": (key) => fetchModel({ provider: "ollama", key }),
  },
};

const values = {
  missing: undefined,
  null: null,
  number: 5,
  "a negative number": -1,
  "a fraction": 1.5,
  NaN: NaN,
  string: "x",
  "an empty string": "",
  boolean: true,
  list: [],
  "a list of numbers": [1],
  object: { surprise: 1 },
  "an empty object": {},
  function: () => {},
  symbol: Symbol("odd"),
  signal: new AbortController().signal,
  map: new Map(),
};

function table(name, functions, right) {
  test(`wrong arguments are errors with a code and a path: ${name}`, async () => {
    for (const [what, work] of Object.entries(functions)) {
      for (const [kind, value] of Object.entries(values)) {
        if (right.includes(kind)) continue;
        const error = await outcomeOf(async () => outcomeOf(() => work(value))).then(() => undefined, (thrown) => thrown);
        assert.ok(error instanceof HeadstartError, `${what} with ${kind}: ${error?.stack ?? error ?? "accepted"}`);
        assert.ok(typeof error.code === "string" && typeof error.path === "string" && error.code !== "internal", `${what} with ${kind}: ${error.code} ${error.path}`);
      }
    }
  });
}

table("options", takesOptions, ["missing", "an empty object"]);
table("what has to be there", takesObjects, []);
table("texts", takesTexts, ["string", "an empty string"]);
const left = ["missing", "null"];
table("numbers", takesOption.number, [...left, "number", "a fraction"]);
table("signals", takesOption.signal, [...left, "signal"]);
table("functions", takesOption.function, [...left, "function"]);
table("lists", takesOption.list, [...left, "list"]);
table("objects", takesOption.object, [...left, "an empty object"]);
table("strings", takesOption.string, [...left, "string", "an empty string", "function"]);

test("a number that counts is whole and above zero", async () => {
  for (const candidates of [0, -1, 1.5, "x", Infinity, NaN]) {
    const told = /^options\.candidates: must be a whole number, 1 or more, and is /;
    await assert.rejects(engine().suggest(conversation, { candidates }), failsWith(InputError, "invalid_input", told, "options.candidates"));
  }
  assert.equal((await engine().suggest(conversation, { candidates: 3, signal: null })).suppressed, "early_conversation");
});

test("what is null is left out, and Infinity is no limit", async () => {
  const options = { mode: null, deny: null, limits: null, commit: null, consent: null, runCommand: null, look: null, views: null, tools: null, workspace: null };
  const spacious = engine({ ...options, mode: "auto-edit", limits: { tokens: Infinity, staged: { files: Infinity } } });
  assert.equal((await spacious.speculate(conversation, "go", { id: null, signal: null }).finished).ending.status, "completed");
  assert.ok(!spacious.tools.some(({ name }) => name === "shell"));
  const overlay = new Overlay(tree(), { files: Infinity, bytes: null });
  for (let number = 0; number < 10_001; number++) await overlay.createDir(`d${number}`);
  assert.equal(overlay.usage().files, 10_001);
});

test("options of a class count, with what its getters give", async () => {
  class Options {
    model = recordedModel({ turns: [{ toolCalls: [{ name: "read_file", args: { file_path: "a.txt" } }] }, { text: "Done." }] }, { speed: Infinity });
    tree = tree();
    get deny() {
      return ["a.txt"];
    }
  }
  const { ending } = await new Engine(new Options()).speculate(conversation, "go").finished;
  assert.equal(ending.verdict.reason, "denied_path");
  const inOneCall = speculate(Object.assign(new Options(), { prompt: "go" }));
  assert.equal((await inOneCall.finished).ending.verdict.reason, "denied_path");
});
