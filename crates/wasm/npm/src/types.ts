/// <reference lib="esnext.disposable" preserve="true" />
// Every type of the package. The JSON is that of the Rust crates, so a log that one of them wrote is read by the other.
export type * from "./types-agent.js";
export type * from "./types-code-index.js";
export type * from "./types-controller.js";
export type * from "./types-engine.js";
export type * from "./types-files.js";
export type * from "./types-gate.js";
export type * from "./types-model.js";
export type * from "./types-views.js";
