// `headstart/code-index`: search over a project's files, and the tools of a model's over it.
export { DisposedError, HeadstartError, InputError, TreeError } from "./errors.js";
export { type ModuleSource, init, initSync, version } from "./init.js";
export { CodeIndex } from "./project-index.js";
export type * from "./types-code-index.js";
