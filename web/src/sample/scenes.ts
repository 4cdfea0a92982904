import type { RecordedTurn } from "headstart";
import { FIRST_PROMPT, LAST_PROMPT } from "./files.js";

/** The result of a tool, as the model reads it. */
export type Result = { name: string; text: string; failed: boolean };

/** An answer as it was recorded, or a function that makes it from the results of tools, if it reports them. */
export type Answer = RecordedTurn | ((results: readonly Result[]) => RecordedTurn);

export interface Scene {
  prompt: string;
  answers: readonly Answer[];
  /** The prompt that the user may send next, made from the results of this turn. */
  next: (results: readonly Result[]) => string;
}

const read = (file_path: string) => ({ name: "read_file", args: { file_path } });
const edit = (file_path: string, old_string: string, new_string: string) => ({
  name: "edit",
  args: { file_path, old_string, new_string },
});
const shell = (command: string) => ({ name: "shell", args: { command } });

/** An answer that gives the text if the last calls succeeded, and otherwise tells the failure. */
function afterwards(text: string): Answer {
  return (results) => {
    const failure = results.find((result) => result.failed);
    const said = failure ? `That did not work: ${failure.text}` : text;
    return { text: said, delayMs: 350, streamMs: 450 };
  };
}

const SIGNATURE = 'export function slugify(title, { separator = "-" } = {}) {';
const JOINED = "  return words.join(separator);";
const CUT = "  return words.join(separator).slice(0, maxLength);";
const CUT_TIDILY = `  const cut = words.join(separator).slice(0, maxLength);
  return separator && cut.endsWith(separator) ? cut.slice(0, -separator.length) : cut;`;
const LAST_TEST = `  assert.equal(slugify("!?"), "");
});
`;
const NEW_TESTS = `
test("maxLength cuts a long slug", () => {
  assert.equal(slugify("one two three", { maxLength: 7 }), "one-two");
});

test("a slug that is cut does not end with a separator", () => {
  assert.equal(slugify("one two three", { maxLength: 4 }), "one");
});
`;

/** The counts of a test run, read from its output. */
export function testCounts(results: readonly Result[]): { pass: number; fail: number; failing: string[]; why?: string } | undefined {
  const output = [...results].reverse().find((result) => result.name === "shell" && /ℹ tests \d+/.test(result.text))?.text;
  if (output === undefined) return undefined;
  const count = (name: string) => Number(new RegExp(`ℹ ${name} (\\d+)`).exec(output)?.[1] ?? 0);
  const failing = [...output.matchAll(/✖ (.+?)(?: \([\d.]+ms\))?$/gm)].map((match) => match[1] ?? "");
  const why = /AssertionError: (.+)/.exec(output)?.[1];
  return { pass: count("pass"), fail: count("fail"), failing, ...(why === undefined ? {} : { why }) };
}

/**
 * An answer that reports the real result of the run, because the tests ran in the visitor's browser on files that the
 * visitor may have changed.
 */
function tellTests(results: readonly Result[]): RecordedTurn {
  const counts = testCounts(results);
  const timing = { delayMs: 450, streamMs: 500 };
  if (!counts) return { text: "The tests did not run, so I cannot say whether they pass.", ...timing };
  if (counts.fail === 0) return { text: `All ${counts.pass} tests pass.`, ...timing };
  const why = counts.why ? `: ${counts.why}` : "";
  const total = counts.pass + counts.fail;
  return { text: `${counts.fail} of ${total} tests ${counts.fail === 1 ? "fails" : "fail"}. "${counts.failing[0]}"${why}`, ...timing };
}

export const SCENES: readonly Scene[] = [
  {
    prompt: FIRST_PROMPT,
    answers: [
      {
        text: "I'll read slugify and look for its callers.",
        toolCalls: [read("src/slugify.js"), { name: "grep", args: { pattern: "slugify\\(" } }],
        delayMs: 700,
        streamMs: 400,
      },
      {
        toolCalls: [edit("src/slugify.js", SIGNATURE, SIGNATURE.replace(" }", ", maxLength = Infinity }")), edit("src/slugify.js", JOINED, CUT)],
        delayMs: 900,
      },
      afterwards("`slugify` takes `maxLength` now and cuts the slug there. No test covers it yet."),
    ],
    next: () => "add tests for maxLength",
  },
  {
    prompt: "add tests for maxLength",
    answers: [
      { text: "I'll look at the tests there are.", toolCalls: [read("test/slugify.test.js")], delayMs: 650, streamMs: 350 },
      { toolCalls: [edit("test/slugify.test.js", LAST_TEST, LAST_TEST + NEW_TESTS)], delayMs: 1100 },
      afterwards("Two tests for `maxLength` are in test/slugify.test.js: one for a long slug, one for a cut right behind a word."),
    ],
    next: () => "run the tests",
  },
  {
    prompt: "run the tests",
    answers: [
      { text: "I'll see what `npm test` would run.", toolCalls: [shell("cat package.json")], delayMs: 600, streamMs: 350 },
      { toolCalls: [shell("npm test")], delayMs: 500 },
      tellTests,
    ],
    next: (results) => {
      const counts = testCounts(results);
      if (!counts) return "run the tests";
      return 0 < counts.fail ? "fix the failing test" : "document maxLength";
    },
  },
  {
    prompt: "fix the failing test",
    answers: [
      { text: "The cut can leave a separator at the end. I'll look.", toolCalls: [read("src/slugify.js")], delayMs: 700, streamMs: 400 },
      { toolCalls: [edit("src/slugify.js", CUT, CUT_TIDILY)], delayMs: 1000 },
      afterwards("A slug that is cut behind a word loses the separator now."),
    ],
    next: () => "run the tests",
  },
  {
    prompt: "document maxLength",
    answers: [
      { text: "I'll add it to the README and the changelog.", toolCalls: [read("README.md"), read("CHANGELOG.md")], delayMs: 600, streamMs: 350 },
      {
        toolCalls: [
          edit(
            "README.md",
            "- `separator`: what stands between two words, `-` by default\n",
            "- `separator`: what stands between two words, `-` by default\n- `maxLength`: the most characters, without limit by default\n",
          ),
          edit("CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n- `slugify` has an option `maxLength`.\n"),
        ],
        delayMs: 1000,
      },
      afterwards("README.md and CHANGELOG.md tell of `maxLength`."),
    ],
    next: () => LAST_PROMPT,
  },
  {
    prompt: LAST_PROMPT,
    answers: [
      { toolCalls: [edit("package.json", '"version": "1.3.0"', '"version": "1.4.0"')], delayMs: 600 },
      afterwards("package.json has version 1.4.0. That is the end of this recording."),
    ],
    next: () => "",
  },
];

/** The answers to every prompt that is not in the recording. They look at the project, so that there is something to read. */
export const UNKNOWN: readonly RecordedTurn[] = [
  { text: "I am a recording, and this prompt is not in it. This is the project that I know:", toolCalls: [{ name: "ls", args: { path: "." } }], delayMs: 400, streamMs: 400 },
  { text: "The prompts that I can do are below. Choose a model of your own to ask anything.", delayMs: 350, streamMs: 500 },
];

/** The prompts of the recording, those first that have most in common with this one. */
export function nearest(prompt: string): { prompt: string; likeness: number }[] {
  const asked = wordsOf(prompt);
  const rated = SCENES.map((scene) => ({ prompt: scene.prompt, likeness: likeness(asked, wordsOf(scene.prompt)) }));
  return rated.toSorted((one, other) => other.likeness - one.likeness);
}

/** Words that a prompt may have or not. */
const FILLERS = new Set(["a", "an", "the", "to", "for", "of", "in", "please", "now", "can", "could", "you", "me", "my", "some"]);

function wordsOf(prompt: string): Set<string> {
  // maxLength is the same as max length, and tests are the same as a test.
  const words = prompt.replaceAll(/([a-z])([A-Z])/g, "$1 $2").toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return new Set(words.filter((word) => !FILLERS.has(word)).map((word) => word.replace(/(?<=\p{L}{2})s$/u, "")));
}

/** From 0 to 1, how many of the words are in both. */
function likeness(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  const shared = [...one].filter((word) => other.has(word)).length;
  return shared === 0 ? 0 : (2 * shared) / (one.size + other.size);
}
