import assert from "node:assert/strict";
import { test } from "node:test";
import { namedIn, placed } from "../../src/files/placing.js";

function applied(file: string, code: string): string | undefined {
  const place = placed(file, code);
  return place && file.slice(0, place.from) + place.text + file.slice(place.to);
}

const FILE = "import x\n\ndef one():\n    return 1\n\nclass Two:\n    def two(self):\n        return 2\n\n    def three(self):\n        return 3\n";

test("code goes from its first line to its last, and only where these are certain", () => {
  const cases: [file: string, code: string, after: string | undefined][] = [
    [FILE, "def one():\n    log()\n    return 1\n", FILE.replace("    return 1", "    log()\n    return 1")],
    [FILE, "\n\ndef one():\n    return 1\n\n", FILE],
    // The excerpt is indented less than in the file.
    [FILE, "def two(self):\n    x()\n\n    return 2", FILE.replace("        return 2", "        x()\n\n        return 2")],
    [FILE.replaceAll("\n", "\r\n"), "def one():\n    log()\n    return 1", FILE.replace("    return 1", "    log()\n    return 1").replaceAll("\n", "\r\n")],
    [FILE, "def four():\n    return 4", undefined],
    [FILE, "def one():\n    return 11", undefined],
    ["a\nb\na\n", "a\nc\nb", undefined],
    ["b\na\n", "a\nc\nb", undefined],
    ["a\n", "a", "a\n"],
    ["", "a\n", undefined],
    ["a\n", "", undefined],
    ["\n", "\n\n", undefined],
  ];
  for (const [file, code, after] of cases) assert.equal(applied(file, code), after, JSON.stringify({ file, code }));
});

test("a fence names its file, and nothing outside the project", () => {
  const cases: [string, string | undefined][] = [
    ["", undefined], ["ts", undefined], ["typescript src/a.ts", "src/a.ts"], ["src/a.ts", "src/a.ts"], ["ts:src/a.ts", "src/a.ts"], ['ts title="src/a.ts"', "src/a.ts"],
    ["ts {file: './src/a.ts'}", "src/a.ts"], ["c++ main.cpp", "main.cpp"], ["sh ../a.sh", undefined], ["sh /etc/profile.d/a.sh", undefined], ["sh a/../../b.sh", undefined],
    ["diff", undefined], ["console $ ls", undefined],
  ];
  for (const [fence, path] of cases) assert.equal(namedIn(fence), path, fence);
});
