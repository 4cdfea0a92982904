import assert from "node:assert/strict";
import { test } from "node:test";
import { shortNumber } from "../../src/session/costs.js";
import { contentOf, subjectOf } from "../../src/session/items.js";

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
