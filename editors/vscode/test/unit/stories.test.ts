// Plays the stories of `crates/agent/tests/stories` through the session of the extension. What a user does goes through
// the session, and the conversation behind it has to be the same as in all other front ends.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import * as headstart from "headstart";
import type { AgentOptions, ApprovalMode, Recording, View } from "headstart";
import { holds, outcomesOf, plain, toldIn } from "../../../../crates/agent/tests/stories/reading.mjs";
import type { Saved } from "../../src/session/saved.js";
import { Session } from "../../src/session/session.js";
import type { Answer } from "../../src/view/protocol.js";

await headstart.init();

const FOLDER = "../../crates/agent/tests/stories";
const PATIENCE_MS = 20_000;

interface Story {
  story: string;
  files: Record<string, string>;
  mode?: ApprovalMode;
  recording: Recording;
  steps: (Record<string, unknown> & { refused?: string })[];
  then: { files: Record<string, string>; told: string[]; outcomes: string[] };
}

class Played {
  readonly tree: InstanceType<typeof headstart.MemoryTree>;
  readonly views: Record<string, unknown> = {};
  /** The text of the prompt line. */
  prompt = "";
  ledger = "";
  #mode: ApprovalMode;
  #background: "off" | "always" = "always";
  readonly #model: headstart.Model;
  #saved: Saved | undefined;
  #agent: headstart.Agent | undefined;
  session: Session;

  constructor(story: Story) {
    this.tree = new headstart.MemoryTree(story.files);
    this.#model = headstart.recordedModel(story.recording);
    this.#mode = story.mode ?? "auto-edit";
    this.session = this.#open();
  }

  get view(): View {
    assert.ok(this.#agent);
    return this.#agent.view;
  }

  #open(): Session {
    const played = this;
    class Seen extends headstart.Agent {
      constructor(options: AgentOptions) {
        super(options);
        played.#agent = this;
      }
    }
    return new Session({
      headstart: { Agent: Seen },
      model: this.#model,
      modelName: "recorded", system: () => "Do as you are told.",
      // The type is that of an editor's tree, but the session only needs a tree.
      tree: this.tree as never,
      mode: () => this.#mode,
      settings: () => ({ enabled: this.#background !== "off", background: "always", speculation: true, candidates: 1, deny: [], index: true, rules: true, aheadWrites: "ask", tab: "take", tools: { user: {}, project: {} } }),
      ledger: { append: (lines) => void (this.ledger += lines) },
      ...(this.#saved && { saved: this.#saved }),
      save: (saved) => (this.#saved = structuredClone(saved)),
      changed: () => {},
      announce: () => {},
      insert: (text) => (this.prompt = text),
    });
  }

  /** Does what the page does for this step. The page offers only actions that are possible. */
  async act(verb: string, about: unknown): Promise<void> {
    const { session, view } = this;
    switch (verb) {
      case "submit":
        return void session.submit(String(about));
      case "type":
        return session.edited(String(about));
      case "take":
        if (session.view.ghost?.text === about) session.accept("tab");
        return;
      case "interrupt":
        return session.stop();
      // The chat has no such command. A button that belongs to the prompt does the same.
      case "retry": {
        const last = view.items.filter(({ type }) => type === "prompt").at(-1);
        if (view.phase === "idle" && last?.type === "prompt") session.submit(last.text);
        return;
      }
      case "suggest":
        return session.suggest();
      case "answer": {
        const { question } = session.view;
        assert.ok(question, "there is a question");
        const { keep, no } = about as { keep?: ("yours" | "work")[]; no?: string };
        const answer = keep?.[0] ?? (no === undefined ? about : { no });
        const offered = typeof answer === "object" ? "why" : answer;
        if (question.choices.some((choice) => choice.answer === offered)) session.answer(question.id, answer as Exclude<Answer, "why"> | { no: string });
        return;
      }
      case "write":
        for (const [path, content] of Object.entries(about as Record<string, string>)) this.tree.write(path, content);
        return session.filesChanged();
      case "background":
        this.#background = about as "off";
        return session.settingsChanged();
      case "mode":
        this.#mode = about as ApprovalMode;
        return session.settingsChanged();
      case "pass":
        return void (await sleep(Number(about)));
      case "until":
        return this.#until(about);
      case "view":
        this.views[String(about)] = plain(view);
        return;
      case "restart":
        this.session.dispose();
        await this.#agent?.close();
        this.session = this.#open();
        return;
      default:
        assert.fail(`there is no step ${verb}`);
    }
  }

  async #until(wanted: unknown): Promise<void> {
    for (const end = Date.now() + PATIENCE_MS; !holds(this.view, wanted); await sleep(10)) {
      assert.ok(Date.now() < end, `in vain for ${JSON.stringify(wanted)}, there is ${JSON.stringify(plain(this.view), undefined, 1)}`);
    }
  }

  /** Checks that the session and the conversation behind it agree. */
  check(): void {
    const { view, session } = this;
    assert.equal(session.view.busy === "idle", view.phase === "idle", view.phase);
    assert.deepEqual(session.view.queued, view.queued);
    assert.equal(session.view.question?.id, view.question?.id);
    assert.equal(session.view.ghost?.text, view.suggestion?.rest === undefined ? undefined : view.suggestion.text);
    const [prompts, shown] = [view.items.filter(({ type }) => type === "prompt"), session.items.filter(({ kind }) => kind === "user")];
    assert.deepEqual(shown.map((item) => ("text" in item ? item.text : "")), prompts.map((item) => ("text" in item ? item.text : "")));
  }

  /** The lines of the conversation as they are kept. */
  get lines(): string {
    return this.#saved?.lines ?? "";
  }

  async end(): Promise<void> {
    this.session.dispose();
    await this.#agent?.close();
  }
}

describe("stories", { concurrency: true }, () => {
  for (const file of readdirSync(FOLDER).filter((name) => name.endsWith(".json") && !name.endsWith(".views.json"))) {
    const story = JSON.parse(readFileSync(`${FOLDER}/${file}`, "utf8")) as Story;
    test(`${file}: ${story.story}`, async () => {
      const played = new Played(story);
      for (const [step, { refused, ...said }] of story.steps.entries()) {
        const [[verb, about] = ["", undefined]] = Object.entries(said);
        const before = played.view.phase;
        await played.act(verb, about);
        if (refused !== undefined) assert.equal(played.view.phase, before, `step ${step}: ${JSON.stringify(said)} does nothing`);
        // The updates of the agent reach the session a moment later.
        await sleep(0);
        played.check();
        const { draft } = played.view;
        if (verb === "until" && draft) assert.equal(played.prompt, draft.text);
      }
      await played.end();
      const files = Object.fromEntries(Object.entries(played.tree.snapshot()).map(([path, content]) => [path, typeof content === "string" ? content : new TextDecoder().decode(content)]));
      assert.deepEqual([files, toldIn(played.lines), outcomesOf(played.ledger)], [story.then.files, story.then.told, story.then.outcomes]);
      assert.deepEqual(played.views, JSON.parse(readFileSync(`${FOLDER}/${file.replace(/json$/, "views.json")}`, "utf8")));
    });
  }
});
