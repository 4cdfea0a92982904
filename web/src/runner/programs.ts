/** The result of a program that only reads: its output and its exit code. */
export interface Printed {
  output: string;
  exitCode: number;
}

export interface Place {
  /** The content of every file by its path from the root. */
  files: ReadonlyMap<string, string>;
  /** The folder that names are relative to; empty for the root. */
  directory: string;
}

type Program = (words: readonly string[], place: Place) => Printed;

export const PROGRAMS: Readonly<Record<string, Program>> = { cat, ls, grep, head, tail, wc, find, pwd, echo };

const done = (output: string): Printed => ({ output, exitCode: 0 });
const failed = (output: string, exitCode = 1): Printed => ({ output: `${output}\n`, exitCode });

/** The path of a name from the root; `undefined` if it leads out of the project. */
export function locate(name: string, { directory }: Place): string | undefined {
  const inWorkspace = name.startsWith("/workspace/") || name === "/workspace";
  if (name.startsWith("/") && !inWorkspace) return undefined;
  const parts = inWorkspace || directory === "" ? [] : directory.split("/");
  for (const part of (inWorkspace ? name.slice("/workspace".length) : name).split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) return undefined;
  }
  return parts.join("/");
}

const isFolder = (path: string, { files }: Place) => path === "" || [...files.keys()].some((file) => file.startsWith(`${path}/`));
const below = (path: string, { files }: Place) =>
  [...files.keys()].filter((file) => path === "" || file === path || file.startsWith(`${path}/`)).sort();

/**
 * Splits words into options of one letter and operands; `unknown` is an option that this page's program does not have.
 */
function split(words: readonly string[], known: string): { options: Set<string>; operands: string[]; unknown?: string } {
  const options = new Set<string>();
  const operands: string[] = [];
  let ended = false;
  for (const word of words) {
    if (ended || !word.startsWith("-") || word === "-") operands.push(word);
    else if (word === "--") ended = true;
    else {
      for (const letter of word.slice(1)) {
        if (!known.includes(letter)) return { options, operands, unknown: word };
        options.add(letter);
      }
    }
  }
  return { options, operands };
}

const noOption = (program: string, option: string) => failed(`${program}: this page's ${program} has no option ${option}`, 2);

/** The texts of the named files, and the errors that a program prints for missing ones. */
function read(program: string, names: readonly string[], place: Place): { texts: [string, string][]; errors: string[] } {
  const texts: [string, string][] = [];
  const errors: string[] = [];
  for (const name of names) {
    const path = locate(name, place);
    const text = path === undefined ? undefined : place.files.get(path);
    if (text !== undefined) texts.push([name, text]);
    else if (path !== undefined && isFolder(path, place)) errors.push(`${program}: ${name}: Is a directory`);
    else errors.push(`${program}: ${name}: No such file or directory`);
  }
  return { texts, errors };
}

const joined = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");
const linesOf = (text: string) => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));

function cat(words: readonly string[], place: Place): Printed {
  const { options, operands, unknown } = split(words, "n");
  if (unknown) return noOption("cat", unknown);
  const { texts, errors } = read("cat", operands, place);
  let number = 0;
  const bodies = texts.map(([, text]) =>
    options.has("n") ? joined(linesOf(text).map((line) => `${String((number += 1)).padStart(6)}\t${line}`)) : text,
  );
  return { output: bodies.join("") + joined(errors), exitCode: errors.length ? 1 : 0 };
}

function ls(words: readonly string[], place: Place): Printed {
  const { options, operands, unknown } = split(words, "1aAR");
  if (unknown) return noOption("ls", unknown);
  const names = operands.length ? operands : ["."];
  const parts: string[] = [];
  let exitCode = 0;
  for (const name of names) {
    const path = locate(name, place);
    if (path !== undefined && place.files.has(path)) parts.push(`${name}\n`);
    else if (path === undefined || !isFolder(path, place)) {
      parts.push(`ls: cannot access '${name}': No such file or directory\n`);
      exitCode = 2;
    } else {
      const inside = below(path, place).map((file) => (path === "" ? file : file.slice(path.length + 1)));
      const shown = options.has("R") ? inside : [...new Set(inside.map((file) => file.split("/")[0] ?? ""))];
      parts.push((1 < names.length ? `${name}:\n` : "") + joined(shown.sort()));
    }
  }
  return { output: parts.join("\n"), exitCode };
}

function grep(words: readonly string[], place: Place): Printed {
  const { options, operands, unknown } = split(words, "nirRlcEFvw");
  if (unknown) return noOption("grep", unknown);
  const [pattern, ...names] = operands;
  if (pattern === undefined) return failed("usage: grep [-nirlcEFvw] PATTERN [FILE]...", 2);
  let expression: RegExp;
  try {
    const source = options.has("F") ? pattern.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") : pattern;
    expression = new RegExp(options.has("w") ? `\\b(?:${source})\\b` : source, options.has("i") ? "i" : "");
  } catch (error) {
    return failed(`grep: ${(error as Error).message}`, 2);
  }
  const isRecursive = options.has("r") || options.has("R");
  if (!isRecursive && names.length === 0) return failed("grep: there is no input on this page; name a file, or a folder with -r", 2);
  const wanted = isRecursive
    ? (names.length ? names : ["."]).flatMap((name) => {
        const path = locate(name, place);
        const found = path === undefined ? [] : below(path, place);
        return found.length ? found.map((file) => relative(file, place)) : [name];
      })
    : names;
  const { texts, errors } = read("grep", wanted, place);
  const lines: string[] = [];
  for (const [name, text] of texts) {
    const prefix = isRecursive || 1 < wanted.length ? `${name}:` : "";
    const hits = linesOf(text).flatMap((line, index) => (expression.test(line) !== options.has("v") ? [{ line, index }] : []));
    if (options.has("l")) lines.push(...(hits.length ? [name] : []));
    else if (options.has("c")) lines.push(`${prefix}${hits.length}`);
    else lines.push(...hits.map(({ line, index }) => `${prefix}${options.has("n") ? `${index + 1}:` : ""}${line}`));
  }
  const nothing = lines.length === 0 || (options.has("c") && lines.every((line) => line.endsWith("0")));
  return { output: joined([...lines, ...errors]), exitCode: errors.length ? 2 : nothing ? 1 : 0 };
}

const relative = (path: string, { directory }: Place) =>
  directory !== "" && path.startsWith(`${directory}/`) ? path.slice(directory.length + 1) : path;

function ends(program: "head" | "tail") {
  return (words: readonly string[], place: Place): Printed => {
    let count = 10;
    const names: string[] = [];
    for (let index = 0; index < words.length; index += 1) {
      const word = words[index] ?? "";
      const attached = /^-n?(\d+)$/.exec(word);
      if (attached) count = Number(attached[1]);
      else if (word === "-n" && /^\d+$/.test(words[index + 1] ?? "")) count = Number(words[(index += 1)]);
      else if (word.startsWith("-")) return noOption(program, word);
      else names.push(word);
    }
    const { texts, errors } = read(program, names, place);
    const bodies = texts.map(([name, text]) => {
      const lines = linesOf(text);
      const kept = program === "head" ? lines.slice(0, count) : lines.slice(Math.max(0, lines.length - count));
      return (1 < names.length ? `==> ${name} <==\n` : "") + joined(kept);
    });
    return { output: bodies.join("\n") + joined(errors), exitCode: errors.length ? 1 : 0 };
  };
}

function head(words: readonly string[], place: Place): Printed {
  return ends("head")(words, place);
}

function tail(words: readonly string[], place: Place): Printed {
  return ends("tail")(words, place);
}

function wc(words: readonly string[], place: Place): Printed {
  const { options, operands, unknown } = split(words, "lwc");
  if (unknown) return noOption("wc", unknown);
  const { texts, errors } = read("wc", operands, place);
  const all = options.size === 0;
  const rows = texts.map(([name, text]) => {
    const counts: string[] = [];
    if (all || options.has("l")) counts.push(String(text.split("\n").length - 1));
    if (all || options.has("w")) counts.push(String(text.split(/\s+/).filter(Boolean).length));
    if (all || options.has("c")) counts.push(String(new TextEncoder().encode(text).length));
    return `${counts.join(" ")} ${name}`;
  });
  return { output: joined([...rows, ...errors]), exitCode: errors.length ? 1 : 0 };
}

function find(words: readonly string[], place: Place): Printed {
  const option = words.find((word) => word.startsWith("-"));
  if (option) return noOption("find", option);
  const [name = "."] = words;
  const path = locate(name, place);
  const found = path === undefined ? [] : below(path, place);
  if (found.length === 0) return failed(`find: '${name}': No such file or directory`);
  const prefix = name.replace(/\/$/, "");
  return done(joined(found.map((file) => (path === "" || path === undefined ? `${prefix}/${file}` : `${prefix}${file.slice(path.length)}`))));
}

function pwd(_words: readonly string[], { directory }: Place): Printed {
  return done(`/workspace${directory && `/${directory}`}\n`);
}

function echo(words: readonly string[]): Printed {
  return done(`${words.join(" ")}\n`);
}
