export { filterSuggestion } from "./filter.js";
export type * from "./types.js";
