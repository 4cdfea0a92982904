// `headstart/gate`: verdicts, also on shell commands, and nothing that runs.
export { HeadstartError, InputError } from "./errors.js";
export { type ModuleSource, init, initSync, version } from "./init.js";
export type * from "./types-gate.js";
export { classifyShell, judge } from "./verdicts.js";
