import { test } from "node:test";
import assert from "node:assert/strict";
import { slugify } from "../src/index.js";

test("words are joined by a dash", () => {
  assert.equal(slugify("Hello, big world!"), "hello-big-world");
});

test("letters lose their accents", () => {
  assert.equal(slugify("Crème brûlée"), "creme-brulee");
});

test("the separator can be another one", () => {
  assert.equal(slugify("one two", { separator: "_" }), "one_two");
});

test("a title without words is empty", () => {
  assert.equal(slugify("!?"), "");
});
