import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import * as headstart from "headstart";
import type { ApprovalMode, Model, ModelRequest, Recording } from "headstart";
import { Session } from "../../src/session/session.js";

await headstart.init();

const looks = { toolCalls: [{ name: "ls", args: { path: "." } }] };
const writes = (path: string, content = "x\n") => ({ toolCalls: [{ name: "write_file", args: { file_path: path, content } }] });
/** A first turn of the user, in which the model answers twice. */
const FIRST = [looks, { text: "First answer." }];

interface Given {
  mode?: ApprovalMode;
  aheadWrites?: "ask" | "boundary";
  tab?: "take" | "insert";
  rulesInSystem?: () => headstart.RulesTold | undefined;
}

function setup(recording: Recording, given: Given = {}) {
  const tree = new headstart.MemoryTree({ "notes.md": "mine\n" });
  const recorded = headstart.recordedModel(recording);
  const requests: ModelRequest[] = [];
  const model: Model = {
    stream: (request, signal) => {
      requests.push(request);
      return recorded.stream(request, signal);
    },
  };
  const tools: headstart.Tool[] = [];
  const rules = { mode: given.mode ?? "auto-edit" as ApprovalMode, aheadWrites: given.aheadWrites ?? "ask" as const, enabled: true, reads: true, tools: { user: {}, project: {} } as { user: headstart.ToolPolicies; project: headstart.ToolPolicies } };
  const prompt = { text: "" };
  const session = new Session({
    headstart, model, modelName: "recorded", system: () => "Be brief.",
    // The type is that of an editor's tree, but the session only needs a tree.
    tree: tree as never,
    tools: () => [...tools],
    mode: () => rules.mode,
    ...(given.rulesInSystem && { rulesInSystem: given.rulesInSystem }),
    settings: () => ({ enabled: rules.enabled, background: "always", speculation: true, candidates: 1, deny: [], tools: rules.tools, index: true, rules: rules.reads, aheadWrites: rules.aheadWrites, tab: given.tab ?? "take" }),
    changed: () => {},
    announce: () => {},
    insert: (text) => (prompt.text = text),
  });
  const files = () => Object.keys(tree.snapshot());
  const notes = () => session.items.flatMap((item) => (item.kind === "note" ? [item.text] : []));
  const prompts = () => session.items.flatMap((item) => (item.kind === "user" ? [item.text] : []));
  return { session, tree, requests, rules, tools, prompt, files, notes, prompts };
}

async function until(what: string, holds: () => boolean): Promise<void> {
  for (const started = Date.now(); !holds(); await delay(5)) assert.ok(Date.now() - started < 10_000, `in vain: ${what}`);
}

const ready = (session: Session) => until("work ahead is ready", () => session.view.ahead?.state === "ready" && session.view.busy === "idle");
/** Presses Tab after the time in which it is ignored. */
async function tab(session: Session): Promise<void> {
  await until("a suggestion", () => session.view.ghost !== undefined);
  await delay(420);
  session.accept("tab");
}

test("stop while an accept waits applies nothing, and runs nothing in its place", async () => {
  const { session, requests, files, notes } = setup({ turns: [...FIRST, writes("ahead.md"), { text: "late", delayMs: 60_000 }, { text: "Ran anew." }], suggestions: ["add tests"] });
  await session.submit("begin");
  await until("it works ahead", () => 0 < (session.view.ahead?.files.length ?? 0));
  await tab(session);
  await until("the accept waits", () => session.view.busy === "accept");
  await delay(30);
  const asked = requests.length;
  session.stop();
  await until("it is over", () => session.view.busy === "idle");
  await delay(50);
  assert.equal(requests.length, asked);
  assert.deepEqual(files(), ["notes.md"]);
  assert.match(notes().at(-1) ?? "", /^Stopped\./);
  session.dispose();
});

test("stop gives queued prompts back, before what is typed", async () => {
  const { session, prompt, prompts } = setup({ turns: [{ text: "late", delayMs: 60_000 }, { text: "Never." }] });
  void session.submit("one");
  await until("a turn", () => prompts().length === 1);
  await delay(30);
  await session.submit("two");
  await session.submit("three");
  session.edited("four");
  session.stop();
  await until("it is over", () => session.view.busy === "idle");
  assert.equal(prompt.text, "one\ntwo\nthree\nfour");
  assert.deepEqual([session.view.queued, prompts()], [[], ["one"]]);
  session.dispose();
});

test("stop before the turn has begun begins none, and the prompt is the draft again", async () => {
  const { session, requests, prompt, prompts } = setup({ turns: [{ text: "Never." }] });
  const turn = session.submit("one");
  session.stop();
  await turn;
  assert.deepEqual([requests.length, prompts(), prompt.text, session.view.busy], [0, ["one"], "one", "idle"]);
  session.dispose();
});

test("nothing is asked for whoever types already", async () => {
  const { session, requests } = setup({ turns: [looks, { text: "First answer.", delayMs: 80 }], suggestions: ["add tests"] });
  const turn = session.submit("begin");
  session.edited("and the");
  await turn;
  await delay(100);
  assert.equal(requests.length, 2);
  assert.equal(session.view.ghost, undefined);
  session.dispose();
});

test("plan mode takes suggestion and work away", async () => {
  const { session, rules, files } = setup({ turns: [...FIRST, writes("ahead.md"), { text: "Written." }], suggestions: ["add tests"] });
  await session.submit("begin");
  await ready(session);
  rules.mode = "plan";
  session.settingsChanged();
  assert.deepEqual([session.view.ghost, session.ahead], [undefined, undefined]);
  session.accept("tab");
  await delay(20);
  assert.deepEqual(files(), ["notes.md"]);
  session.dispose();
});

test("in default mode one question shows all, and nothing is written before the yes", async () => {
  for (const [answer, expected] of [["yes", ["ahead.md", "notes.md"]], ["no", ["notes.md"]], ["stop", ["notes.md"]]] as const) {
    const { session, files, prompt } = setup({ turns: [...FIRST, writes("ahead.md"), { text: "Written." }], suggestions: ["add tests"] }, { mode: "default" });
    await session.submit("begin");
    await ready(session);
    await tab(session);
    await until("a question", () => session.view.question !== undefined);
    const { title, subject, content, id } = session.view.question ?? { id: "" };
    assert.deepEqual([title, subject], ["Write what ran ahead?", "1 file +1 −0"]);
    assert.match(content ?? "", /^\+x$/m);
    assert.deepEqual(files(), ["notes.md"]);
    if (answer === "stop") session.stop();
    else session.answer(id, answer);
    await until("it is over", () => session.view.busy === "idle");
    assert.deepEqual(files(), expected, answer);
    assert.equal(prompt.text, answer === "yes" ? "" : "add tests");
    session.dispose();
  }
});

test("a yes does not outlive the mode under which it was asked, and boundary stages nothing", async () => {
  const recording = { turns: [...FIRST, writes("ahead.md"), { text: "Written." }], suggestions: ["add tests"] };
  const { session, rules, files, notes } = setup(recording, { mode: "default" });
  await session.submit("begin");
  await ready(session);
  await tab(session);
  await until("a question", () => session.view.question !== undefined);
  rules.mode = "plan";
  session.answer(session.view.question?.id ?? "", "yes");
  await until("it is over", () => session.view.busy === "idle");
  assert.deepEqual(files(), ["notes.md"]);
  assert.match(notes().join(), /is not allowed any more/);
  session.dispose();

  const boundary = setup(recording, { mode: "default", aheadWrites: "boundary" });
  await boundary.session.submit("begin");
  await until("it waits", () => boundary.session.view.ahead?.state === "waits");
  assert.deepEqual(boundary.session.view.ahead?.files, []);
  boundary.session.dispose();
});

test("right puts the suggestion into the prompt with its work, and a slip takes neither away", async () => {
  const { session, prompt, files, prompts } = setup({ turns: [...FIRST, writes("ahead.md"), { text: "Written." }], suggestions: ["add tests"] });
  await session.submit("begin");
  await ready(session);
  session.edited("x");
  const ghost = () => session.view.ghost?.text;
  assert.equal(ghost(), undefined);
  session.edited("");
  assert.equal(ghost(), "add tests");
  session.accept("right");
  assert.equal(prompt.text, "add tests");
  session.edited("add testsx");
  session.edited("add tests");
  await session.submit("add tests");
  assert.deepEqual([files(), prompts()], [["ahead.md", "notes.md"], ["begin", "add tests"]]);
  session.dispose();
});

test("Tab puts the suggestion into the prompt for whoever wants that, and Enter takes it with its work", async () => {
  const { session, prompt, files, prompts } = setup(
    { turns: [...FIRST, writes("ahead.md"), { text: "Written." }], suggestions: ["add tests"] },
    { tab: "insert" },
  );
  await session.submit("begin");
  await ready(session);
  session.accept("tab");
  assert.deepEqual([prompt.text, session.view.tab, session.view.busy, files()], ["add tests", "insert", "idle", ["notes.md"]]);
  await session.submit("add tests");
  assert.deepEqual([files(), prompts()], [["ahead.md", "notes.md"], ["begin", "add tests"]]);
  session.dispose();
});

test("a setting that is about something else leaves suggestion and work, and who turns suggestions on gets one", async () => {
  const { session, rules } = setup({ turns: [...FIRST, writes("ahead.md"), { text: "Written." }, writes("ahead.md"), { text: "Written." }], suggestions: ["add tests", "", "add docs"] });
  await session.submit("begin");
  await ready(session);
  session.settingsChanged();
  assert.deepEqual([session.view.ghost?.text, session.view.ahead?.state], ["add tests", "ready"]);
  rules.enabled = false;
  session.settingsChanged();
  assert.deepEqual([session.view.ghost, session.view.ahead], [undefined, undefined]);
  rules.enabled = true;
  session.settingsChanged();
  await until("a suggestion", () => session.view.ghost?.text === "add docs");
  session.dispose();
});

test("with other tools the conversation goes on, and nothing of it is lost", async () => {
  const { session, requests, tools, prompts } = setup({ turns: [...FIRST, { text: "late", delayMs: 300 }, { text: "Third." }] });
  await session.submit("begin");
  const [lines, before] = [session.items.length, session.costs];
  const turn = session.submit("go on");
  await until("a turn", () => session.view.busy === "turn");
  tools.push({ name: "look_up", description: "Looks something up.", parameters: { type: "object", properties: {} }, run: () => "found" });
  // The running turn has to go on as it began.
  session.settingsChanged();
  await turn;
  assert.ok(session.items.some((item) => item.kind === "model" && item.text === "late"));
  await until("it has them", () => session.view.busy === "idle");
  await delay(20);
  await session.submit("and now?");
  assert.deepEqual(prompts(), ["begin", "go on", "and now?"]);
  assert.ok(lines + 4 <= session.items.length, "no line takes the place of another");
  const { tools: offered, messages } = requests.filter(({ responseSchema }) => responseSchema === undefined).at(-1) ?? { tools: [], messages: [] };
  assert.ok(offered.some(({ name }) => name === "look_up"));
  assert.deepEqual(messages.filter(({ role }) => role === "user").flatMap(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : ""))), ["begin", "go on", "and now?"]);
  assert.ok(before.turns.inputTokens <= session.costs.turns.inputTokens);
  session.dispose();
});

test("Tab takes nothing that has only just come", async () => {
  const { session, files } = setup({ turns: [...FIRST, writes("ahead.md"), { text: "Written." }], suggestions: ["add tests"] });
  await session.submit("begin");
  await until("a suggestion", () => session.view.ghost !== undefined);
  session.accept("tab");
  assert.equal(session.view.busy, "idle");
  await ready(session);
  assert.deepEqual(files(), ["notes.md"]);
  await tab(session);
  await until("it is written", () => files().includes("ahead.md"));
  session.dispose();
});

test("a mention is completed, told, and where it cannot be, the prompt is back in the line", async () => {
  const { session, requests, prompt, notes } = setup({ turns: [{ text: "I see." }] });
  assert.deepEqual(await session.complete("see @no"), { at: 4, choices: [{ mention: "@notes.md" }] });
  assert.equal(await session.complete("see"), undefined);
  await session.submit("see @gone/x.md");
  assert.equal(requests.length, 0);
  assert.equal(prompt.text, "see @gone/x.md");
  assert.match(notes().at(-1) ?? "", /^Not sent: @gone\/x\.md: there is no such file/);
  await session.submit("see @notes.md");
  assert.match(JSON.stringify(requests[0]?.messages), /<mentioned file=.{0,3}notes\.md.{0,3}>\\nmine/);
});

test("the project's rules go to the model and are named, unless the setting says no", async () => {
  const { session, tree, requests, rules, notes } = setup({ turns: [{ text: "I see." }, { text: "I see again." }] });
  await tree.write("AGENTS.md", "Use tabs.\n");
  await tree.write(".headstart/rules/odd.md", "---\nglobs: [\n---\nx\n");
  rules.reads = false;
  session.settingsChanged();
  await session.submit("begin");
  assert.doesNotMatch(JSON.stringify(requests[0]?.messages), /Use tabs/);
  rules.reads = true;
  session.settingsChanged();
  await session.submit("go on");
  assert.match(JSON.stringify(requests.at(-1)?.messages), /Use tabs/);
  assert.deepEqual(notes().filter((text) => text.startsWith("The project's rules")), ["The project's rules go to the model: AGENTS.md."]);
  assert.equal(notes().filter((text) => text.startsWith("Rules: .headstart/rules/odd.md")).length, 1);
});

const asked = (session: Session, path: string) => until(`it asks about ${path}`, () => session.view.question?.subject === path);

test("a yes may count for calls like it until it is taken back", async () => {
  const { session, files } = setup({ turns: [writes("src/a.md"), writes("src/b.md"), { text: "Both." }, writes("src/c.md"), { text: "One." }] }, { mode: "default" });
  const turn = session.submit("begin");
  await asked(session, "src/a.md");
  const { id, choices } = session.view.question ?? { id: "", choices: [] };
  assert.deepEqual(choices.map(({ title, key }) => [key, title]).at(-1), ["A", "Always: edits in src/"]);
  session.answer(id, "always");
  await turn;
  assert.deepEqual(files(), ["notes.md", "src/a.md", "src/b.md"]);
  assert.deepEqual(session.allowed, ["edits in src/"]);
  session.askAgain("edits in src/");
  const next = session.submit("more");
  await asked(session, "src/c.md");
  assert.deepEqual(session.allowed, []);
  session.answer(session.view.question?.id ?? "", "no");
  await next;
  session.dispose();
});

test("what the settings say of tools counts at once; what is wrong with them is said, and what they said before counts", async () => {
  const { session, rules, requests, notes, files } = setup({ turns: [{ text: "Hello." }, writes("a.md"), { text: "Not written." }] });
  const names = () => requests.filter(({ responseSchema }) => responseSchema === undefined).at(-1)?.tools.map(({ name }) => name) ?? [];
  await session.submit("begin");
  assert.ok(names().includes("write_file") && names().includes("multi_edit") && !names().includes("create_rule"));
  rules.tools = { user: { edit: "ask" }, project: { write_file: "exclude" } };
  session.settingsChanged();
  rules.tools = { user: { reed_file: "ask" }, project: { write_file: "exclude" } };
  session.settingsChanged();
  assert.match(notes().at(-1) ?? "", /^The settings do not count yet.*headstart\.tools\.reed_file: .*the nearest is read_file/);
  await session.submit("write it");
  assert.ok(!names().includes("write_file"));
  assert.deepEqual(files(), ["notes.md"]);
  session.dispose();
});

test("a plan can be carried out; the rules in the system text are told with the first prompt, once", async () => {
  const told = [{ rules: [{ path: "AGENTS.md", text: "x" }], gone: [], problems: [] }];
  const { session, notes } = setup({ turns: [{ text: "A plan." }, { text: "Done." }] }, { mode: "plan", rulesInSystem: () => told.shift() });
  assert.deepEqual(notes(), []);
  await session.submit("plan it");
  assert.deepEqual(notes(), ["The project's rules go to the model: AGENTS.md.", "In the mode Plan nothing is written."]);
  await session.submit("and on");
  assert.equal(notes().filter((text) => text.startsWith("The project's rules")).length, 1);
  session.dispose();
});

test("a conversation is made shorter, and the chat says what came of it", async () => {
  const turns = Array.from({ length: 9 }, (_, number) => ({ text: `Answer ${number}.` }));
  const { session, notes, requests } = setup({ turns: [...turns, { text: "Shorter." }] });
  assert.match(session.compact() ?? "", /not enough/);
  for (let turn = 0; turn < 8; turn += 1) await session.submit(`prompt ${turn} ${"word ".repeat(200)}`);
  await until("it is idle", () => session.view.busy === "idle");
  assert.equal(session.compact(), undefined);
  await until("it is shorter", () => notes().length === 1);
  assert.ok(!notes()[0]?.startsWith("No suggestion"), notes()[0]);
  await session.submit("and now?");
  assert.ok(!JSON.stringify(requests.filter(({ responseSchema }) => responseSchema === undefined).at(-1)?.messages).includes("prompt 0 "));
  session.dispose();
});
