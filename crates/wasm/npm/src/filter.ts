import { call } from "./call.js";
import { required } from "./options.js";
import { raw } from "./raw.js";
import type { FilterResult } from "./types.js";

/** Whether a text is fit to be suggested as the user's next prompt. */
export function filterSuggestion(text: string): FilterResult {
  return JSON.parse(call(() => raw.filterSuggestion(required("text", text, "string")))) as FilterResult;
}
