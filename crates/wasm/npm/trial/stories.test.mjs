// Plays the stories of `crates/agent/tests/stories` with the class `Agent`. The steps, the end and, except for ids and
// times, the views must be the same as natively (`crates/agent/tests/it/stories.rs`).
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, MemoryTree, init, recordedModel } from "headstart";
import { holds, outcomesOf, plain, toldIn } from "./stories/reading.mjs";

await init();

const PATIENCE_MS = 20_000;

function begin({ files, mode = "auto-edit", background = "always", recording }) {
  const model = recordedModel(recording);
  const now = { mode, lines: "", ledger: "" };
  const tree = new MemoryTree(files);
  const open = (restore) => new Agent({
    model, tree, system: "Do as you are told.", mode: () => now.mode, aheadWrites: "ask", background, ...(restore && { restore }),
    sessions: { append: (lines) => void (now.lines += lines) },
    ledger: { append: (lines) => void (now.ledger += lines) },
  });
  return { tree, now, open, agent: open() };
}

async function until(story, wanted, step) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(10)) if (holds(story.agent.view, wanted)) return;
  assert.fail(`step ${step}: in vain for ${JSON.stringify(wanted)}, there is ${JSON.stringify(plain(story.agent.view), undefined, 1)}`);
}

async function act(story, verb, about, step, views) {
  const { agent, tree, now } = story;
  switch (verb) {
    case "submit": {
      const sent = agent.submit(about);
      return ["begins", "queued"].includes(sent) ? undefined : sent;
    }
    case "type":
      return agent.edited(about);
    case "take":
      return agent.take(about);
    case "interrupt":
      return agent.interrupt();
    case "retry":
      return agent.retry();
    case "answer":
      assert.ok(agent.view.question, `step ${step}: no question`);
      return agent.answer(agent.view.question.id, about);
    case "suggest":
      return agent.suggest();
    case "write":
      for (const [path, content] of Object.entries(about)) tree.write(path, content);
      return agent.filesChanged();
    case "background":
      return agent.setBackground(about);
    case "mode":
      now.mode = about;
      return agent.modeChanged();
    case "pass":
      return void (await sleep(about));
    case "until":
      return until(story, about, step);
    case "view":
      views[about] = plain(agent.view);
      return;
    case "restart":
      await agent.close();
      story.agent = story.open(now.lines);
      return;
    default:
      assert.fail(`step ${step}: there is no step ${verb}`);
  }
}

const folder = new URL("stories/", import.meta.url);

describe("stories", { concurrency: true }, () => {
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".json") && !name.endsWith(".views.json"))) {
    const told = JSON.parse(readFileSync(new URL(file, folder), "utf8"));
    test(`${file}: ${told.story}`, async () => {
      const story = begin(told);
      const views = {};
      for (const [step, { refused, ...said }] of told.steps.entries()) {
        const [[verb, about]] = Object.entries(said);
        assert.equal(await act(story, verb, about, step, views), refused, `step ${step}: ${JSON.stringify(said)}`);
      }
      await story.agent.close();
      const files = Object.fromEntries(Object.entries(story.tree.snapshot()).map(([path, content]) => [path, typeof content === "string" ? content : new TextDecoder().decode(content)]));
      assert.deepEqual([files, toldIn(story.now.lines), outcomesOf(story.now.ledger)], [told.then.files, told.then.told, told.then.outcomes]);
      assert.deepEqual(views, JSON.parse(readFileSync(new URL(file.replace(/json$/, "views.json"), folder), "utf8")));
    });
  }
});
