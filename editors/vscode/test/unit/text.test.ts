import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesOf, changedStretch, sameText, textOf } from "../../src/files/text.js";

function applied(before: string, after: string): string {
  const stretch = changedStretch(before, after);
  return stretch ? before.slice(0, stretch.from) + stretch.text + before.slice(stretch.to) : before;
}

test("the changed stretch makes the one text of the other, and is short", () => {
  const cases: [string, string, number][] = [
    ["", "a", 1],
    ["a", "", 0],
    ["same", "same", 0],
    ["one\ntwo\nthree\n", "one\n2\nthree\n", 1],
    ["aaa", "aaaa", 1],
    ["aaaa", "aaa", 0],
    ["abc", "xyz", 3],
  ];
  for (const [before, after, length] of cases) {
    assert.equal(applied(before, after), after);
    assert.equal(changedStretch(before, after)?.text.length ?? 0, length, `${before} → ${after}`);
  }
});

test("neither a pair of surrogates nor a line ending is cut in two", () => {
  for (const [before, after] of [["a😀b", "a😁b"], ["a😀", "a😀😀"], ["a\r\nb", "a\r\n\r\nb"], ["x\r\ny", "x\ny"], ["😀", "😁"]] as const) {
    const stretch = changedStretch(before, after);
    assert.ok(stretch);
    assert.equal(applied(before, after), after);
    for (const at of [stretch.from, stretch.to]) {
      assert.ok(!(/[\ud800-\udbff]/.test(before[at - 1] ?? "") && /[\udc00-\udfff]/.test(before[at] ?? "")), JSON.stringify({ before, at }));
      assert.ok(!(before[at - 1] === "\r" && before[at] === "\n"), JSON.stringify({ before, at }));
    }
  }
});

test("random texts", () => {
  let seed = 7;
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const text = () => Array.from({ length: random(12) }, () => ["a", "b", "\n", "\r\n", "😀", "😁"][random(6)]).join("");
  for (let round = 0; round < 5_000; round++) {
    const [before, after] = [text(), text()];
    assert.equal(applied(before, after), after, JSON.stringify({ before, after }));
  }
});

test("what is no UTF-8 text has no text, and a byte order mark is no part of one", () => {
  assert.equal(textOf(bytesOf("é\n")), "é\n");
  assert.equal(textOf(new Uint8Array([0xef, 0xbb, 0xbf, 0x61])), "a");
  assert.equal(textOf(new Uint8Array([0xff])), undefined);
  assert.equal(textOf(new Uint8Array([0x61, 0x00])), undefined);
});

test("line endings tell no texts apart", () => {
  assert.ok(sameText("a\r\nb\n", "a\nb\n"));
  assert.ok(!sameText("a\nb", "a b"));
});
