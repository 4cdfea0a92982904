// What a front end lists of a call's result.
import type { ContextItem } from "./types-engine.js";
import type { ItemRow, ViewCall } from "./types-agent.js";
import { visible } from "./visible.js";

/** Arguments of the built-in tools that say what a call is about. */
const SUBJECTS = ["file_path", "path", "command"];

/** Rows for what a call found, looked at or did; none if its result is only a text. */
export function itemRows({ call, items }: Pick<ViewCall, "call" | "items">): ItemRow[] {
  const listed = items?.filter(({ hidden }) => !hidden) ?? [];
  const subjects = SUBJECTS.map((name) => call.args[name]).filter((subject) => typeof subject === "string");
  return listed.map((item) => ({ ...rowOf(item), ...(listed.length === 1 && isAbout(item, subjects) && { isNamed: true }) }));
}

function rowOf({ name, description, uri, status }: ContextItem): ItemRow {
  const words = description || (uri?.type === "url" ? uri.value : "");
  const isSaid = words === "" || name.startsWith(words);
  return {
    name: visible(name),
    ...(!isSaid && { description: visible(words) }),
    ...(status !== undefined && { status: visible(status) }),
    ...(uri?.type === "file" && { place: { path: uri.value, ...(uri.lines && { lines: uri.lines }) } }),
  };
}

/** Whether an item is what the call is about; a call may name a file by its whole path. */
function isAbout({ description, uri }: ContextItem, subjects: string[]): boolean {
  return uri?.type === "file" ? subjects.some((subject) => `/${subject}`.endsWith(`/${uri.value}`)) : subjects.some((subject) => subject === description);
}
