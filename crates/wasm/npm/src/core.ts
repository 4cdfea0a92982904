export { HeadstartError } from "./errors.js";
export { filterSuggestion } from "./filter.js";
export { type ModuleSource, init, initSync, version } from "./init.js";
export type * from "./types.js";
