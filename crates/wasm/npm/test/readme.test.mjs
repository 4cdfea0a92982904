// Runs the examples of the README, which have to print what they say.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { format } from "node:util";

const here = import.meta.resolve("headstart");
const text = readFileSync(new URL("README.md", here), "utf8");
const examples = [...text.matchAll(/^```js\n(.*?)^```/gms)].map(([, code]) => code);

// Replaces the server in the example with `fetchModel`.
globalThis.fetch = async (url, { method, headers }) => {
  assert.deepEqual([String(url), method], ["http://localhost:11434/v1/chat/completions", "POST"]);
  assert.ok(new Headers(headers).get("authorization"));
  const answer = { choices: [{ delta: { content: "A letter." }, finish_reason: "stop" }] };
  return new Response(`data: ${JSON.stringify(answer)}\n\ndata: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } });
};

test("there are examples", () => assert.ok(examples.length >= 3));

for (const [number, code] of examples.entries()) {
  // An example that waits for ever fails.
  test(`example ${number + 1}`, { timeout: 120_000 }, async () => {
    const expected = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, printed]) => printed);
    assert.ok(expected.length > 0);
    const printed = [];
    const { log } = console;
    console.log = (...values) => printed.push(format(...values));
    try {
      const found = code.replace(/"headstart(\/[\w-]+)?"/g, (entry) => JSON.stringify(import.meta.resolve(JSON.parse(entry))));
      await import(`data:text/javascript,${encodeURIComponent(found)}`);
    } finally {
      console.log = log;
    }
    assert.deepEqual(printed, expected);
  });
}
