/** What the filter says of a text. */
export type FilterResult =
  | { keep: true; /** The text without what does not belong to it. */ suggestion: string }
  | { keep: false; /** The code of the rule that refused it. */ reason: string };
