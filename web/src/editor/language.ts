import { javascript } from "@codemirror/lang-javascript";
import { json } from "@codemirror/lang-json";
import type { Extension } from "@codemirror/state";

/** How a file is highlighted, by the end of its name. */
export function languageOf(path: string): Extension {
  if (/\.m?js$/.test(path)) return javascript();
  if (path.endsWith(".json")) return json();
  return [];
}
