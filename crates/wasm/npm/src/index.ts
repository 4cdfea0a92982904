export { ChangeSet } from "./change-set.js";
export { FollowupController } from "./controller.js";
export {
  AcceptError,
  DisposedError,
  HeadstartError,
  InputError,
  ModelError,
  StartError,
  TreeError,
} from "./errors.js";
export { commit, Overlay } from "./files.js";
export { filterSuggestion } from "./filter.js";
export { classifyShell, judge } from "./gate.js";
export { MemoryTree } from "./memory-tree.js";
export { fetchModel } from "./models.js";
export { Decoder, Wire } from "./wire.js";
export type * from "./types.js";
