// Tests that the package gives for the fixtures what the crates give. `crates/wasm/tests/fixtures.rs` runs the same
// fixtures natively and as WebAssembly, and `crates/followup-state/tests/shared.rs` runs those of the parts that the
// package has in TypeScript.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

/** For each kind of fixture, by its file name, the function that gives the outcome of an input. */
const runs = { filter: ({ filterSuggestion }, text) => filterSuggestion(text), controller, gate, overlay, speculation };

/** The kinds that run in the module. Their JSON is compared byte for byte. */
const inModule = ["gate", "overlay", "speculation"];

/** The entries, and the fixtures that each has to pass. `headstart/core` does not read shell commands. */
const entries = {
  headstart: Object.keys(runs),
  "headstart/core": ["filter", "controller", "overlay"],
  "headstart/gate": ["gate"],
  "headstart/controller": ["filter", "controller"],
};

function gate({ judge }, { call, context }) {
  return judge(call, context);
}

function controller({ FollowupController }, { config, events }) {
  const followup = new FollowupController(config);
  return events.map(({ now, event }) => ({ effects: followup.handle(event, now), visible: followup.visible ?? null }));
}

async function overlay({ MemoryTree, Overlay, commit }, { files, operations }) {
  const tree = new MemoryTree(files);
  const staged = new Overlay(tree);
  for (const [name, path, argument] of operations) {
    const content = Array.isArray(argument) ? Uint8Array.from(argument) : argument;
    await staged[name](path, content);
  }
  const changes = staged.changeSet();
  const usage = staged.usage();
  const { type } = await commit(tree, changes);
  return {
    changeSet: changes,
    summary: changes.summary(),
    diff: changes.diff(),
    patch: changes.patch(),
    usage,
    committed: type === "committed",
    files: filesOf(tree),
  };
}

/** Runs a speculation. Its outcome has no times, because they differ each time. */
async function speculation({ MemoryTree, recordedModel, speculate }, { files, mode, prompt, recording }) {
  const tree = new MemoryTree(files);
  const run = speculate({ model: recordedModel(recording, { speed: Infinity }), tree, mode, prompt });
  const events = [];
  for await (const event of run) events.push(event);
  const { ending, transcript, changes, pendingCall, cost } = await run.finished;
  const before = filesOf(tree);
  // After the end a further event may still be asked for, and an accept does not wait for it.
  await run.next();
  const { type, ...given } = await run.accept();
  const accepted =
    type === "accepted" ? { type, changes: given.changes, merged: given.merged, next: given.next ?? null } : { type };
  return {
    events,
    ending,
    transcript,
    changes,
    pendingCall: pendingCall ?? null,
    cost: [cost.turns, cost.toolCalls, cost.stagedFiles, cost.stagedBytes],
    before,
    accepted,
    after: filesOf(tree),
  };
}

/** All files in the order of their paths. Contents are bytes, so that nothing is lost. */
function filesOf(tree) {
  const files = Object.entries(tree.snapshot()).sort(([one], [other]) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
  return Object.fromEntries(files.map(([path, content]) => [path, [...content]]));
}

for (const [entry, name] of Object.entries(entries).flatMap(([entry, names]) => names.map((name) => [entry, name]))) {
  test(`fixtures, ${entry}: ${name}`, async () => {
    const api = await import(entry);
    const cases = JSON.parse(readFileSync(new URL(`fixtures/${name}.json`, import.meta.url), "utf8"));
    assert.ok(0 < cases.length);
    for (const { input, output } of cases) {
      if (!inModule.includes(name)) {
        assert.deepEqual(runs[name](api, input), output, JSON.stringify(input));
        continue;
      }
      const [here, wanted] = [await runs[name](api, input), output].map((value) => JSON.stringify(value));
      const place = wanted.split("").findIndex((unit, index) => unit !== here[index]);
      const from = Math.max(0, place - 60);
      assert.ok(here === wanted, `${JSON.stringify(input)}: from ${place} on\n  ${here.slice(from, from + 200)}\nis not\n  ${wanted.slice(from, from + 200)}`);
    }
  });
}

test("every fixture has its run", () => {
  // A conversation in lines (`.jsonl`) is not one of these fixtures; `test/sessions.test.mjs` reads it.
  const files = readdirSync(new URL("fixtures", import.meta.url)).filter((file) => file.endsWith(".json"));
  const names = files.map((file) => file.replace(".json", ""));
  assert.deepEqual(names.sort(), Object.keys(runs).sort());
});
