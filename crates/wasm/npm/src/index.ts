export { ChangeSet } from "./change-set.js";
export { commit, Overlay } from "./files.js";
export { filterSuggestion } from "./filter.js";
export { MemoryTree } from "./memory-tree.js";
export type * from "./types.js";
