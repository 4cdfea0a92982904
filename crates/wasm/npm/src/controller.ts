// `headstart/controller`: the suggestion on screen and the filter.
export { DisposedError, HeadstartError, InputError } from "./errors.js";
export { filterSuggestion } from "./filter.js";
export { FollowupController } from "./followup-controller.js";
export { type ModuleSource, init, initSync, version } from "./init.js";
export type * from "./types-controller.js";
