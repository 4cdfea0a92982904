import { fold } from "./fold.js";

/** Turns a title into the last part of a URL. */
export function slugify(title, { separator = "-" } = {}) {
  const words = fold(title).match(/[a-z0-9]+/g) ?? [];
  return words.join(separator);
}
