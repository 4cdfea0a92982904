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
export { classifyShell, judge } from "./gate.js";
export type * from "./types.js";
