import type { CommandOutput, CommandRequest } from "headstart";
import { PROGRAMS, type Printed, locate } from "./programs.js";
import { runTests, testFiles } from "./tests.js";
import { plainWords } from "./words.js";

const NOT_FOUND = 127;
const KNOWN = [...Object.keys(PROGRAMS), "npm test", "node --test"].join(", ");

/**
 * The shell of this page. It knows a few programs that read, and it runs the project's tests. Its output is that of
 * real runs. For every other command it says that there is no such program here.
 */
export async function runCommand(request: CommandRequest, files: ReadonlyMap<string, string>, signal: AbortSignal): Promise<CommandOutput> {
  const words = plainWords(request.command);
  if (!Array.isArray(words)) {
    return print(request, refused(`this page has no shell for ${words.notPlain}: it runs one plain command at a time`, 2));
  }
  const place = { files, directory: request.directory === "." ? "" : request.directory };
  const [program = "", ...rest] = words;
  const reads = Object.hasOwn(PROGRAMS, program) ? PROGRAMS[program] : undefined;
  if (reads) return print(request, reads(rest, place));
  const isTest = rest[0] === "test" || rest[0] === "t" || (rest[0] === "run" && rest[1] === "test");
  if (program === "npm" && isTest) return npmTest(request, files, rest.length === (rest[0] === "run" ? 2 : 1), signal);
  if (program === "node" && rest[0] === "--test") return nodeTest(request, files, rest.slice(1), "", signal);
  return print(request, refused(`${program}: this page has no such program; it has ${KNOWN}`, NOT_FOUND));
}

async function npmTest(request: CommandRequest, files: ReadonlyMap<string, string>, isPlain: boolean, signal: AbortSignal) {
  if (!isPlain) return print(request, refused("npm: this page's npm test takes no further words", 2));
  const manifest = files.get("package.json");
  let script: unknown;
  let title = "";
  try {
    const parsed = JSON.parse(manifest ?? "") as { name?: string; version?: string; scripts?: Record<string, unknown> };
    script = parsed.scripts?.["test"];
    title = `${parsed.name ?? ""}@${parsed.version ?? ""}`;
  } catch (error) {
    const why = manifest === undefined ? "there is no package.json" : `package.json is not JSON: ${(error as Error).message}`;
    return print(request, refused(`npm error ${why}`, 1));
  }
  if (typeof script !== "string") return print(request, refused('npm error Missing script: "test"', 1));
  const words = plainWords(script);
  if (!Array.isArray(words) || words[0] !== "node" || words[1] !== "--test") {
    return print(request, refused(`npm test would run ${JSON.stringify(script)}: this page has no such program; it has ${KNOWN}`, NOT_FOUND));
  }
  return nodeTest(request, files, words.slice(2), `> ${title} test\n> ${script}\n\n`, signal);
}

async function nodeTest(
  request: CommandRequest,
  files: ReadonlyMap<string, string>,
  named: readonly string[],
  before: string,
  signal: AbortSignal,
): Promise<CommandOutput> {
  const option = named.find((word) => word.startsWith("-"));
  if (option) return print(request, refused(`node: this page's node --test has no option ${option}`, 9));
  const paths = named.map((name) => locate(name, { files, directory: request.directory === "." ? "" : request.directory }) ?? name);
  const chosen = named.length ? paths : testFiles(files.keys());
  const run = await runTests(files, chosen, { timeLimitMs: request.timeLimitMs, signal });
  const printed = print(request, { output: before + run.output, exitCode: run.exitCode });
  return run.timedOut ? { ...printed, timedOut: true } : printed;
}

const refused = (output: string, exitCode: number): Printed => ({ output: `${output}\n`, exitCode });

function print(request: CommandRequest, { output, exitCode }: Printed): CommandOutput {
  const bytes = new TextEncoder().encode(output);
  if (bytes.length <= request.outputLimit) return { output, exitCode };
  return { output: new TextDecoder().decode(bytes.subarray(0, request.outputLimit)), exitCode, truncated: true };
}
