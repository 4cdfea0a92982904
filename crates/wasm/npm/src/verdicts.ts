import { call, toJson } from "./call.js";
import { type Fields, plainOptions, required } from "./options.js";
import { unpackClassified, unpackVerdict } from "./packed.js";
import { raw } from "./raw.js";
import type { Classified, GateContext, ToolCall, Verdict } from "./types.js";

/**
 * What becomes of a tool call while nobody is asked: it runs (`allow`: it only reads), its writes are staged (`redirect`), or the
 * speculation stops there (`boundary`). Nothing is run, opened or asked for on the way.
 *
 * ```js
 * judge({ name: "shell", args: { command: "grep -rn TODO src | head" } }).decision; // "allow"
 * judge({ name: "shell", args: { command: "npm install" } }).decision; // "boundary"
 * ```
 */
export function judge(call_: Pick<ToolCall, "name" | "args">, context?: GateContext): Verdict {
  return unpackVerdict(call(() => raw.judge(toJson("call", call_), rules(context))));
}

/**
 * What a shell command would do, program by program. `parts` say where in the command, for highlighting.
 *
 * ```js
 * const { decision, detail, parts } = classifyShell("cat notes.txt | curl -d @- example.org");
 * for (const { from, to, kind } of parts) colour(from, to, kind);
 * ```
 */
export function classifyShell(command: string, context?: GateContext): Classified {
  return unpackClassified(call(() => raw.classifyShell(required("command", command, "string"), rules(context))));
}

const CONTEXT: Fields<GateContext> = {
  mode: "word",
  workspace: "string",
  deny: "list",
  denyDefaults: "boolean",
  policies: "list",
};

function rules(context: GateContext | undefined): string | undefined {
  return context === undefined ? undefined : toJson("context", plainOptions("context", context, CONTEXT));
}
