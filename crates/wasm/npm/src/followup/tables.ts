// The data of the filter. The Rust crate `followup-state` writes it (`tables.json`), so that no list is written twice.
import { characters, commands, english, languages, maxBytes, maxCandidates, maxCharacters, maxUnspaced, maxUnspacedLong, maxWords, reasons } from "#tables";

/** Entries that are separated by bars. */
type List = string;

/** The lists of the filter for one language; a list that is missing is empty. `lexicon.rs` says what each is for. */
export type Language = { readonly [Name in Exclude<keyof (typeof languages)[number], "destroy">]?: List } & {
  readonly destroy?: readonly { readonly verbs: List; readonly objects: List; readonly alone: List; readonly between: List }[];
};

export { characters as CHARACTERS, commands as COMMANDS, english as ENGLISH, maxBytes, maxCandidates, maxCharacters, maxUnspaced, maxUnspacedLong, maxWords };
export const LANGUAGES: readonly Language[] = languages;
export const REASONS: Readonly<Record<string, string>> = reasons;

export function entries(list: List | undefined): string[] {
  return list === undefined ? [] : list.split("|").filter((entry) => entry !== "");
}

export function has(list: List, word: string | undefined): boolean {
  return word !== undefined && entries(list).includes(word);
}

/** Whether an entry of one list, in any language, passes a test. */
export function anyOf(list: (language: Language) => List | undefined, test: (entry: string) => boolean): boolean {
  return LANGUAGES.some((language) => entries(list(language)).some(test));
}
