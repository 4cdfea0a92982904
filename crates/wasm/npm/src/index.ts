export * from "./core.js";
export { classifyShell } from "./verdicts.js";
