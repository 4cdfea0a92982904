import changelog from "./project/CHANGELOG.md";
import readme from "./project/README.md";
import pyproject from "./project/pyproject.toml";
import test from "./project/tests/test_counter.py";
import init from "./project/wordcount/__init__.py";
import counter from "./project/wordcount/counter.py";
import type { Recording } from "headstart";

/** The sample project. */
export const PROJECT: Record<string, string> = {
  "CHANGELOG.md": changelog,
  "README.md": readme,
  "pyproject.toml": pyproject,
  "tests/__init__.py": "",
  "tests/test_counter.py": test,
  "wordcount/__init__.py": init,
  "wordcount/counter.py": counter,
};

export const FIRST_PROMPT = "add a function that gives the most frequent words";

/** What the chat says about the sample before the first prompt. */
export const ABOUT = `A recording answers here, no model, whatever is typed: it adds a function to this small project, its tests, a line of the changelog, and stops at a question. \
Tools, files, diffs and questions are the real ones. Press Tab to begin.`;

const RETURN = "    return Counter(word.lower() for word in WORD.findall(text))\n";
const TOP = `

def top(text: str, number: int) -> list[tuple[str, int]]:
    """The most frequent words, the most frequent first."""
    return count(text).most_common(number)
`;
const TESTS = `from unittest import TestCase

from wordcount.counter import top


class TopTest(TestCase):
    def test_the_most_frequent_word_comes_first(self):
        self.assertEqual(top("to be or not to be or to do", 1), [("to", 3)])

    def test_no_more_than_there_are(self):
        self.assertEqual(top("one word", 9), [("one", 1), ("word", 1)])
`;

/**
 * The answers of the recorded model. Only these are recorded: the tools, the gate, the staging and the files are the
 * real ones.
 */
export const RECORDING: Recording = {
  turns: [
    { text: "I'll read the counter first.", toolCalls: [{ name: "read_file", args: { file_path: "wordcount/counter.py" } }], delayMs: 500 },
    {
      toolCalls: [{ name: "edit", args: { file_path: "wordcount/counter.py", old_string: RETURN, new_string: RETURN + TOP } }],
      delayMs: 800,
    },
    { text: "`top(text, number)` is in wordcount/counter.py. No test covers it yet.", delayMs: 400, usage: { inputTokens: 2_100, cachedInputTokens: 1_800, outputTokens: 260 } },

    {
      text: "I'll look at the tests there are.",
      toolCalls: [
        { name: "read_file", args: { file_path: "tests/test_counter.py" } },
        { name: "grep", args: { pattern: "^def ", path: "wordcount" } },
      ],
      delayMs: 700,
    },
    {
      toolCalls: [
        { name: "write_file", args: { file_path: "tests/test_top.py", content: TESTS } },
        { name: "edit", args: { file_path: "wordcount/__init__.py", old_string: 'from .counter import count\n\n__all__ = ["count"]', new_string: 'from .counter import count, top\n\n__all__ = ["count", "top"]' } },
      ],
      delayMs: 1_000,
    },
    { text: "tests/test_top.py holds two tests for `top`, and the package exports it. The changelog does not mention it yet.", delayMs: 400, usage: { inputTokens: 2_600, cachedInputTokens: 2_100, outputTokens: 310 } },

    { toolCalls: [{ name: "read_file", args: { file_path: "CHANGELOG.md" } }], delayMs: 500 },
    {
      toolCalls: [
        { name: "edit", args: { file_path: "CHANGELOG.md", old_string: "## Unreleased\n", new_string: "## Unreleased\n\n- `top` gives the most frequent words.\n" } },
      ],
      delayMs: 600,
    },
    { text: "The changelog mentions `top` now.", delayMs: 300, usage: { inputTokens: 3_000, cachedInputTokens: 2_600, outputTokens: 90 } },

    {
      text: "That goes into the repository's own exclude file, which is not shared.",
      toolCalls: [{ name: "write_file", args: { file_path: ".git/info/exclude", content: "notes/\n" } }],
      delayMs: 600,
    },
    { text: "git leaves notes/ alone from now on. Here the recording ends; with a model of your own it goes on.", delayMs: 300 },
  ],
  suggestions: [
    { text: "add tests for top", delayMs: 300, usage: { inputTokens: 2_400, cachedInputTokens: 2_350, outputTokens: 12 } },
    { text: "update the changelog", delayMs: 300 },
    { text: "keep my notes folder out of git", delayMs: 300 },
  ],
};
