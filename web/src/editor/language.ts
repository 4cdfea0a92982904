import { javascript } from "@codemirror/lang-javascript";
import { json } from "@codemirror/lang-json";
import type { Extension } from "@codemirror/state";

/** The highlighting for a file, chosen by the extension of its name. */
export function languageOf(path: string): Extension {
  if (/\.m?js$/.test(path)) return javascript();
  if (path.endsWith(".json")) return json();
  return [];
}
