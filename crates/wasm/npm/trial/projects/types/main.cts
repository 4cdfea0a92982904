// What a strict TypeScript project sees, as a CommonJS module.
import headstart = require("headstart");
import { filterSuggestion } from "headstart/core";

const result: headstart.FilterResult = filterSuggestion("run the tests");
export const forget = (tree: headstart.MemoryTree): void => tree[Symbol.dispose]();
export const said: string = result.keep ? result.suggestion : result.reason;
