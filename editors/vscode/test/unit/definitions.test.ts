import assert from "node:assert/strict";
import { test } from "node:test";
import { type FoundSymbol, definitionsOf } from "../../src/search/definitions.js";

const range = (first: number, last: number) => ({ start: { line: first }, end: { line: last } });

test("what a language's extension found becomes definitions, with what is inside", () => {
  const found: FoundSymbol[] = [
    {
      name: "Cart", kind: 4, range: range(0, 9),
      children: [
        { name: "add(line)", kind: 5, range: range(1, 4), children: [{ name: "sum", kind: 12, range: range(2, 2) }] },
        { name: "lines", kind: 7, range: range(5, 5) },
      ],
    },
    { name: "LIMIT", kind: 13, range: range(11, 11) },
    { name: "shared", kind: 12, range: range(12, 12) },
    { name: "(anonymous)", kind: 11, range: range(13, 14) },
    { name: "flat", kind: 11, location: { range: range(15, 16) } },
  ];
  assert.deepEqual(definitionsOf(found), [
    { name: "Cart", kind: "type", lines: [1, 10] },
    { name: "add", kind: "function", lines: [2, 5] },
    { name: "LIMIT", kind: "constant", lines: [12, 12] },
    { name: "shared", kind: "constant", lines: [13, 13] },
    { name: "flat", kind: "function", lines: [16, 17] },
  ]);
});

test("what makes no sense is left out", () => {
  assert.deepEqual(definitionsOf([{ name: "", kind: 5, range: range(0, 0) }, { name: "nowhere", kind: 5 }, { name: "x", kind: 99, range: range(0, 0) }]), []);
  assert.deepEqual(definitionsOf([{ name: "back", kind: 11, range: range(4, 2) }]), [{ name: "back", kind: "function", lines: [5, 5] }]);
});
