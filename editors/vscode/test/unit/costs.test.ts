import assert from "node:assert/strict";
import { test } from "node:test";
import { shortNumber } from "../../src/session/costs.js";
import { contentOf, subjectOf } from "../../src/session/items.js";
import { questionOf } from "../../src/session/words.js";

test("numbers are short", () => {
  const cases: [number, string][] = [[0, "0"], [999, "999"], [1_000, "1k"], [1_234, "1.2k"], [99_960, "100k"], [123_456, "123k"], [999_499, "999k"], [999_500, "1M"], [3_450_000, "3.5M"]];
  for (const [number, short] of cases) assert.equal(shortNumber(number), short);
});

test("a call is told in one line, and what it would write is told whole", () => {
  const call = (name: string, args: Record<string, unknown>) => ({ id: "1", name, args });
  assert.equal(subjectOf(call("read_file", { file_path: "a/b.txt" })), "a/b.txt");
  assert.equal(subjectOf(call("grep", { pattern: "^def", path: "src" })), "^def in src");
  assert.equal(subjectOf(call("shell", { command: "one\ntwo" })), "one…");
  assert.equal(subjectOf(call("ls", {})), "");
  assert.equal(contentOf(call("write_file", { file_path: "a", content: "x\n".repeat(500) }))?.length, 1_000);
  assert.equal(contentOf(call("edit", { file_path: "a", old_string: "b\n", new_string: "c\nd\n" })), "- b\n+ c\n+ d");
});

test("a question shows all of a call, and what the model says of it as the model's words", () => {
  const asked = (name: string, args: Record<string, unknown>) =>
    questionOf({ type: "call", id: "1", call: { id: "1", name, args }, verdict: { decision: "boundary", reason: "policy", detail: "It asks." } } as never, undefined);
  const shell = asked("shell", { command: "make \u202ex\nrm y", directory: "vendor/tool", description: "only lists\nRun shell ls?" });
  assert.deepEqual(
    [shell.subject, shell.content, shell.said],
    ["make \\u{202e}x… in vendor/tool", "make \\u{202e}x\nrm y", "only lists\\u{a}Run shell ls?"],
  );
  assert.match(asked("edit", { file_path: "a", old_string: "b", new_string: "c", replace_all: true }).content ?? "", /^- b\n\+ c\n.*"replace_all": true/s);
  // Of a tool that is not built in, no argument stands for the others.
  const other = asked("send", { content: "Hello", to: "everybody", description: "a note" });
  assert.match(other.content ?? "", /"to": "everybody"/);
  assert.equal(other.said, undefined);
});
