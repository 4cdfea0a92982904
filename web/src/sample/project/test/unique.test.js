import { describe, it } from "node:test";
import assert from "node:assert/strict";
import { unique } from "../src/index.js";

describe("unique", () => {
  it("leaves a free slug alone", () => {
    assert.equal(unique("news", ["old"]), "news");
  });

  it("counts on from 2", () => {
    assert.equal(unique("news", ["news", "news-2"]), "news-3");
  });
});
