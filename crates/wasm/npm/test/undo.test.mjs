// Tests of work that the user undoes outside of the conversation.

import assert from "node:assert/strict";
import { test } from "node:test";
import { commit, DisposedError, Engine, InputError, MemoryTree, Overlay, UndoWatch, recordedModel } from "headstart";
import { failsWith, hostTree } from "./support.mjs";

const edit = { name: "edit", args: { file_path: "a.txt", old_string: "one", new_string: "ONE" } };
const create = { name: "write_file", args: { file_path: "b.txt", content: "new\n" } };
const text = (message) => message.parts.map(({ text = "" }) => text).join("");

for (const [name, make] of [["memory", (files) => new MemoryTree(files)], ["callbacks", (files) => hostTree(files)]]) {
  test(`work in ${name} that is undone is told to the model, once`, async () => {
    const tree = make({ "a.txt": "one\n" });
    const bytes = (content) => new TextEncoder().encode(content);
    const put = (path, content) => tree.write(path, bytes(content), { executable: false });
    const watch = new UndoWatch(tree);
    const asked = [];
    const recorded = recordedModel({ turns: [{ toolCalls: [edit, create] }, { text: "Done." }, { text: "I see." }] }, { speed: Infinity });
    const model = { stream: (request, signal) => (asked.push(request), recorded.stream(request, signal)) };
    const engine = new Engine({ model, mode: "auto-edit", tree: watch });
    const conversation = { messages: [] };
    const speculation = engine.speculate(conversation, "write it large");
    const { type, transcript } = await speculation.accept();
    assert.equal(type, "accepted");
    conversation.messages.push(...transcript.messages);
    assert.equal(await watch.news(), undefined);

    await put("a.txt", "one\n");
    await tree.remove("b.txt");
    const news = await watch.news();
    assert.deepEqual(news.undone.map(({ path, exists }) => [path, exists]), [["a.txt", true], ["b.txt", false]]);
    assert.deepEqual(news.redone, []);
    assert.equal(news.forUser, "The model is told that you have undone its changes of a.txt, b.txt.");
    // If it is redone before the next prompt, there must be nothing to report.
    await put("a.txt", "ONE\n");
    await put("b.txt", "new\n");
    assert.equal(await watch.news(), undefined);
    await put("a.txt", "one\n");
    await tree.remove("b.txt");

    const before = JSON.stringify(conversation.messages);
    const again = await watch.news();
    const turn = await engine.turn(conversation, { prompt: `${again.note}\n\ngo on` }).finished;
    assert.equal(JSON.stringify(asked.at(-1).messages.slice(0, -1)), before);
    assert.equal(
      text(asked.at(-1).messages.at(-1)),
      "[Note: the user has undone changes that you made. These files are as they were before them:\n- a.txt\n- b.txt (there is no such file now)]\n\ngo on",
    );
    conversation.messages.push(...turn.transcript.messages);
    watch.told(JSON.parse(JSON.stringify(again)));
    assert.equal(await watch.news(), undefined);
    await put("b.txt", "new\n");
    assert.deepEqual((await watch.news()).redone.map(({ path }) => path), ["b.txt"]);
    watch.forgetAll();
    assert.equal(await watch.news(), undefined);
  });
}

test("a watch is a tree to commit to, and what engines hold of it outlives it", async () => {
  const tree = hostTree({ a: "1" });
  const watch = new UndoWatch(tree);
  const overlay = new Overlay(tree);
  await overlay.write("a", "2");
  assert.equal((await commit(watch, overlay.changeSet())).type, "committed");
  tree.put("a", "1");
  assert.deepEqual((await watch.news()).undone.map(({ path }) => path), ["a"]);
  const engine = new Engine({ model: recordedModel({ turns: [{ toolCalls: [{ ...create }] }, { text: "Done." }] }, { speed: Infinity }), mode: "auto-edit", tree: watch });
  watch.dispose();
  await assert.rejects(watch.news(), failsWith(DisposedError, "disposed"));
  assert.throws(() => new Engine({ model: recordedModel({ turns: [{ text: "" }] }), tree: watch }), failsWith(DisposedError, "disposed"));
  assert.equal((await engine.speculate({ messages: [] }, "create").accept()).type, "accepted");
  assert.equal(tree.snapshot()["b.txt"], "new\n");
});

test("what is no tree or no news is refused", () => {
  assert.throws(() => new UndoWatch({}), failsWith(InputError, "invalid_input", /tree.metadata/));
  const watch = new UndoWatch(new MemoryTree());
  for (const news of [undefined, {}, { look: "0" }, { look: 0.5 }]) {
    assert.throws(() => watch.told(news), failsWith(InputError, "invalid_input"));
  }
});
