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
export { filterSuggestion } from "./filter.js";
export { judge } from "./gate.js";
export { type ModuleSource, init, initSync, version } from "./init.js";
export type * from "./types.js";
