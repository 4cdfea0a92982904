import { filter } from "./followup/filter.js";
import { required } from "./options.js";
import type { FilterResult } from "./types-controller.js";

/** Whether a text is fit to be suggested as the user's next prompt. */
export function filterSuggestion(text: string): FilterResult {
  const found = filter(wellFormed(required("text", text, "string")));
  return "suggestion" in found ? { keep: true, ...found } : { keep: false, ...found };
}

/** Replaces half a character, which a line holds while it is being typed, by a sign. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}
