const raw = import.meta.glob<string>("./project/**/*", { query: "?raw", import: "default", eager: true });

/** The files of the sample project, by path. */
export function sampleFiles(): Record<string, string> {
  return Object.fromEntries(Object.entries(raw).map(([path, text]) => [path.replace("./project/", ""), text]));
}

/** The first prompt that is offered, and the last one of the recording. */
export const FIRST_PROMPT = "add a maxLength option to slugify";
export const LAST_PROMPT = "bump the version to 1.4.0";

export const SYSTEM =
  "You are a coding agent in a small JavaScript project, in a web page. Look at files before you change them, keep changes small, say in " +
  "one or two sentences what you did. Tests run with `npm test`. Only plain commands work in the shell: cat, ls, grep, head, tail, wc, " +
  "find, npm test.";
