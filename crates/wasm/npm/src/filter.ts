import { call, textOf } from "./call.js";
import { raw } from "./raw.js";
import type { FilterResult } from "./types.js";

/** Whether a text is fit to be suggested as the user's next prompt. */
export function filterSuggestion(text: string): FilterResult {
  return JSON.parse(call(() => raw.filterSuggestion(textOf("text", text)))) as FilterResult;
}
