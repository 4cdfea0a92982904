import assert from "node:assert/strict";
import { test } from "node:test";
import { FollowupController, InputError, filterSuggestion } from "headstart/controller";

const suggested = (request, suggestion, ...others) => ({ type: "suggested", request, suggestion, others });
const types = (effects) => effects.map((effect) => effect.type);

/** A controller that has shown "run the tests" since 1300. */
function showing(...others) {
  const controller = new FollowupController();
  controller.handle(suggested(1, "run the tests", ...others), 1000);
  controller.handle({ type: "wake" }, 1300);
  return controller;
}

test("a suggestion starts its speculation, waits, shows, and is taken", () => {
  const controller = new FollowupController();
  assert.deepEqual(controller.handle(suggested(1, "run the tests"), 1000), [
    { type: "startSpeculation", suggestion: "run the tests" },
    { type: "wakeAt", at: 1300 },
  ]);
  assert.equal(controller.visible, undefined);
  assert.deepEqual(controller.handle({ type: "wake" }, 1299), [{ type: "wakeAt", at: 1300 }]);
  assert.deepEqual(controller.handle({ type: "wake" }, 1300), [{ type: "show", suggestion: "run the tests" }]);
  assert.equal(controller.visible, "run the tests");
  assert.deepEqual(controller.handle({ type: "accept", method: "tab" }, 2000), [
    {
      type: "record",
      outcome: { outcome: "accepted", acceptMethod: "tab", source: "live", timeToAcceptMs: 700, suggestionLength: 13 },
    },
    { type: "hide" },
    { type: "insert", text: "run the tests" },
  ]);
  assert.deepEqual(controller.handle({ type: "accept", method: "tab" }, 2050), [], "a key that repeats");
  assert.equal(controller.visible, undefined);
});

test("Tab takes nothing that has only just come, and a slip can be taken back", () => {
  const controller = showing();
  assert.deepEqual(controller.handle({ type: "accept", method: "tab" }, 1600), []);
  assert.deepEqual(types(controller.handle({ type: "edited", text: "x" }, 2000)), ["hide", "wakeAt"]);
  assert.equal(controller.visible, undefined);
  assert.deepEqual(types(controller.handle({ type: "edited", text: "" }, 2500)), ["hide", "show"]);
  controller.handle({ type: "edited", text: "x" }, 3000);
  assert.deepEqual(types(controller.handle({ type: "wake" }, 5000)), ["record", "abandonSpeculation"]);
  const quick = new FollowupController({ showDelayMs: 0, tabDelayMs: 0, slipMs: 0 });
  quick.handle(suggested(1, "run the tests"), 10);
  quick.handle({ type: "wake" }, 10);
  assert.deepEqual(types(quick.handle({ type: "accept", method: "tab" }, 10)), ["record", "hide", "insert"]);
});

test("every event", () => {
  const cases = [
    [{ type: "requested", request: 9 }, []],
    [suggested(2, null), ["abandonSpeculation", "hide"]],
    [{ type: "suppressed", request: 2, reason: "empty" }, ["record"]],
    [{ type: "enabled", enabled: false }, ["abandonSpeculation", "hide"]],
    [{ type: "accept", method: "enter", skipInsert: true }, ["record", "hide"]],
    [{ type: "accept", method: "right", fallbackText: null, skipInsert: null }, ["record", "hide", "insert"]],
    [{ type: "dismiss" }, ["record", "hide", "abandonSpeculation"]],
    [{ type: "clear" }, ["abandonSpeculation", "hide"]],
    [{ type: "keystroke", typed: true }, ["record", "hide", "abandonSpeculation"]],
    [{ type: "keystroke", typed: false }, []],
    [{ type: "edited", text: "Run" }, ["hide", "show"]],
    [{ type: "edited", text: "stop" }, ["record", "hide", "abandonSpeculation"]],
    [{ type: "edited", text: "half \ud83d" }, ["record", "hide", "abandonSpeculation"]],
    [{ type: "nextCandidate" }, []],
    [{ type: "previousCandidate" }, []],
    [{ type: "wake" }, []],
    [{ type: "cleanup" }, ["abandonSpeculation"]],
  ];
  for (const [event, expected] of cases) {
    assert.deepEqual(types(showing().handle(event, 2000)), expected, JSON.stringify(event));
  }
});

test("candidates turn and narrow", () => {
  const controller = showing("commit this", "run the linter");
  assert.deepEqual(controller.handle({ type: "nextCandidate" }, 1400), [
    { type: "hide" },
    { type: "show", suggestion: "commit this", place: { number: 2, of: 3 } },
  ]);
  assert.deepEqual(controller.handle({ type: "edited", text: "run the l" }, 1500), [
    { type: "hide" },
    { type: "show", suggestion: "run the linter", rest: "inter" },
  ]);
  // The suggestion was only just shown, so Tab must be ignored, because it may be meant for something else.
  assert.deepEqual(controller.handle({ type: "accept", method: "tab" }, 1600), []);
  const effects = controller.handle({ type: "accept", method: "tab" }, 1900);
  assert.deepEqual(types(effects), ["record", "hide", "abandonOthers", "insert"]);
  assert.equal(effects[2].suggestion, "run the linter");
});

test("the options count", () => {
  const controller = new FollowupController({ showDelayMs: 5, acceptLockMs: 0 });
  assert.equal(controller.handle(suggested(1, "run the tests"), 1000).at(-1).at, 1005);
  assert.deepEqual(new FollowupController({ enabled: false }).handle(suggested(1, "run the tests"), 1), []);
});

test("the clock is the system's unless it is given", () => {
  const before = Date.now();
  const { at } = new FollowupController({ showDelayMs: 0 }).handle(suggested(1, "run the tests")).at(-1);
  assert.ok(before <= at && at <= Date.now());
});

test("a mistake is an InputError that names the field", () => {
  const cases = [
    [{ type: "suggested", request: 1, suggestion: "is it done?" }, "suggestion"],
    [{ type: "suggested", request: 1, others: ["run the tests", 7] }, "others[1]"],
    [{ type: "suggested", request: "1" }, "request"],
    [{ type: "accept", method: "mouse" }, "method"],
    [{ type: "keystroke" }, "typed"],
    [{ type: "explode" }, "type"],
    [undefined, "event"],
    [{ type: "edited", text: 1n }, "text"],
  ];
  for (const [event, path] of cases) {
    assert.throws(
      () => new FollowupController().handle(event, 1),
      (error) => error instanceof InputError && error.code === "invalid_input" && error.path === path,
      `${path}`,
    );
  }
  for (const now of [-1, NaN, Infinity, 2 ** 60]) {
    assert.throws(() => new FollowupController().handle({ type: "wake" }, now), { path: "now" });
  }
  assert.throws(() => new FollowupController({ showDelay: 1 }), { name: "InputError", path: "config.showDelay" });
  assert.throws(() => new FollowupController({ showDelayMs: -1 }), { path: "config.showDelayMs" });
});

test("the filter keeps or says why not", () => {
  assert.deepEqual(filterSuggestion("  run the tests "), { keep: true, suggestion: "run the tests" });
  assert.deepEqual(filterSuggestion("rm -rf /"), { keep: false, reason: "destructive" });
  assert.throws(() => filterSuggestion(undefined), { name: "InputError", path: "text" });
});
