export * from "./core.js";
export { classifyShell } from "./gate.js";
