import { filter } from "./followup/filter.js";
import { required } from "./options.js";
import type { FilterResult } from "./types-controller.js";

/** Whether a text is fit to be suggested as the user's next prompt. */
export function filterSuggestion(text: string): FilterResult {
  const found = filter(wellFormed(required("text", text, "string")));
  return "suggestion" in found ? { keep: true, ...found } : { keep: false, ...found };
}

/** With a sign in place of half of a character, as a line holds it while somebody types. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}
