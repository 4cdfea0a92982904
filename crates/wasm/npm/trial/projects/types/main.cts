// The types that a strict TypeScript project sees in a CommonJS module.
import headstart = require("headstart");
import { filterSuggestion } from "headstart/core";
import gate = require("headstart/gate");

const result: headstart.FilterResult = filterSuggestion("run the tests");
export const forget = (tree: headstart.MemoryTree): void => tree[Symbol.dispose]();
export const judged: gate.Verdict = gate.judge({ name: "ls", args: {} });
export const said: string = result.keep ? result.suggestion : result.reason;
