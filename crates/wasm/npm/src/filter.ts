import { raw } from "./raw.js";
import type { FilterResult } from "./types.js";

/** Whether a text is fit to be suggested as the user's next prompt. */
export function filterSuggestion(text: string): FilterResult {
  return JSON.parse(raw.filterSuggestion(text)) as FilterResult;
}
