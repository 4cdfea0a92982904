// Plays the stories of `crates/agent/tests/stories` through the page's session. What a visitor does goes through the
// session, and the conversation behind it has to be the same as in all other front ends. The page has only one mode, so
// stories of other modes are left out.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "vite";
import { holds, outcomesOf, plain, toldIn } from "../../crates/agent/tests/stories/reading.mjs";

const PATIENCE_MS = 20_000;
const web = fileURLToPath(new URL("..", import.meta.url));
const folder = new URL("../../crates/agent/tests/stories/", import.meta.url);

// The code is built beside the packages, so that its imports of the page's packages are found.
const made = mkdtempSync(join(web, "node_modules/.stories-"));
after(() => rmSync(made, { recursive: true }));
await build({
  root: web,
  configFile: false,
  logLevel: "error",
  resolve: { alias: [{ find: /^headstart$/, replacement: join(web, "test/stories/seen.mjs"), customResolver: { resolveId: (path, importer) => (importer?.endsWith("seen.mjs") ? { id: "headstart", external: true } : path) } }] },
  build: { ssr: true, target: "node20", outDir: made, emptyOutDir: true, rolldownOptions: { input: { session: join(web, "src/session/session.ts"), storage: join(web, "src/session/storage.ts"), seen: join(web, "test/stories/seen.mjs") }, output: { entryFileNames: "[name].mjs" } } },
});
const kept = new Map();
globalThis.sessionStorage ??= { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => void kept.set(name, value), removeItem: (name) => void kept.delete(name) };
const [{ Session }, { load, forget }, { seen, recordedModel }] = await Promise.all(
  ["session", "storage", "seen"].map((name) => import(pathToFileURL(join(made, `${name}.mjs`)))),
);

class Played {
  views = {};
  /** The text of the prompt line. */
  prompt = "";
  #model;
  #files;
  #isReloaded = false;

  constructor(story) {
    forget();
    Object.assign(seen, { agent: undefined, lines: "", ledger: "" });
    this.#model = recordedModel(story.recording);
    this.#files = story.files;
    this.#open();
  }

  #open(saved) {
    this.session = new Session({ model: this.#model, system: "Do as you are told.", files: this.#files, saved });
    this.session.onInsert = (text) => (this.prompt = text);
    this.session.onReturn = (text) => (this.prompt = text);
    this.session.begin();
  }

  /** Does what the page does for this step. The page offers only actions that are possible. */
  async act(verb, about) {
    const { session } = this;
    switch (verb) {
      case "submit":
        return session.send(about);
      case "type":
        return session.edited(about);
      case "take":
        if (session.ghost?.suggestion === about) session.accept();
        return;
      case "interrupt":
        return session.stop();
      // The page has no such command. A button that belongs to the prompt does the same.
      case "retry": {
        const last = seen.agent.view.items.findLast(({ type }) => type === "prompt");
        if (session.phase === "idle" && last) session.send(last.text);
        return;
      }
      case "suggest":
        return seen.agent.suggest();
      case "answer":
        assert.ok(session.question, "there is a question");
        return session.question.answer(about);
      case "write":
        for (const [path, content] of Object.entries(about)) session.project.write(path, content);
        return session.project.settled();
      case "background":
        return session.enable(about !== "off");
      case "pass":
        return sleep(about);
      case "until":
        return this.#until(about);
      case "view": {
        this.views[about] = plain(seen.agent.view);
        // After a reload the page asks for a suggestion, but the recording has no further one.
        if (this.#isReloaded) delete this.views[about].unsuggested;
        return;
      }
      case "restart":
        this.#isReloaded = true;
        session.saveNow();
        session.dispose();
        return this.#open(load());
      default:
        assert.fail(`there is no step ${verb}`);
    }
  }

  async #until(wanted) {
    for (const end = Date.now() + PATIENCE_MS; !holds(seen.agent.view, wanted); await sleep(10)) {
      assert.ok(Date.now() < end, `in vain for ${JSON.stringify(wanted)}, there is ${JSON.stringify(plain(seen.agent.view), undefined, 1)}`);
    }
  }

  /** Checks that the session and the conversation behind it agree. */
  check() {
    const { session } = this;
    const { view } = seen.agent;
    assert.equal(session.phase === "idle", view.phase === "idle", view.phase);
    assert.deepEqual(session.queued, view.queued);
    assert.equal(session.question?.about.id, view.question?.id);
    assert.equal(session.ghost?.suggestion, view.suggestion?.text);
    const prompts = view.items.filter(({ type }) => type === "prompt").map(({ text }) => text);
    assert.deepEqual(session.entries.filter(({ kind }) => kind === "user").map(({ text }) => text), prompts);
  }
}

for (const file of readdirSync(folder).filter((name) => name.endsWith(".json") && !name.endsWith(".views.json"))) {
  const story = JSON.parse(readFileSync(new URL(file, folder), "utf8"));
  const skip = (story.mode ?? "auto-edit") !== "auto-edit" || story.steps.some(({ mode }) => mode !== undefined) ? "another mode" : false;
  test(`${file}: ${story.story}`, { skip }, async () => {
    const played = new Played(story);
    for (const [step, { refused, ...said }] of story.steps.entries()) {
      const [[verb, about]] = Object.entries(said);
      const before = seen.agent.view.phase;
      await played.act(verb, about);
      if (refused !== undefined) assert.equal(seen.agent.view.phase, before, `step ${step}: ${JSON.stringify(said)} does nothing`);
      // The updates of the agent reach the session a moment later.
      await sleep(0);
      played.check();
    }
    await sleep(0);
    const files = Object.fromEntries(await played.session.project.refresh().then(() => played.session.project.files));
    played.session.dispose();
    assert.deepEqual([files, toldIn(seen.lines), outcomesOf(seen.ledger)], [story.then.files, story.then.told, story.then.outcomes]);
    assert.deepEqual(played.views, JSON.parse(readFileSync(new URL(file.replace(/json$/, "views.json"), folder), "utf8")));
  });
}
