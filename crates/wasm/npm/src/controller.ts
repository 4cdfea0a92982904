// `headstart/controller`: the suggestion on screen and the filter, without a module.
export { HeadstartError, InputError } from "./errors.js";
export { filterSuggestion } from "./filter.js";
export { FollowupController } from "./followup-controller.js";
export type * from "./types-controller.js";
