import { AGENT } from "./agent.js";
import { call, calling, toJson } from "./call.js";
import { engineText, rulesText } from "./engine.js";
import { HostPort } from "./host.js";
import { type Fields, plainOptions } from "./options.js";
import { raw } from "./raw.js";
import { workspaceOf } from "./tree.js";
import type { AgentOptions, EngineOptions, Surroundings } from "./types.js";

const SURROUNDINGS: Fields<Surroundings> = { folder: "string", system: "string", date: "string", gitStatus: "string" };

/**
 * A system instruction for an `Agent` with the same options. It says what the agent is, how its tools are used well,
 * which rules the project has (if there is a `projectRules`), and where the agent works, with an overview of the
 * project's files. Make it once for a conversation, because a provider's cache compares every byte.
 *
 * ```js
 * const options = { model, tree, mode: "auto-edit" };
 * const system = await systemText(options, { folder: "shop", date: "2026-01-31" });
 * const agent = new Agent({ ...options, system });
 * ```
 */
export async function systemText(options: AgentOptions, surroundings: Surroundings = {}): Promise<string> {
  const given = plainOptions("", options, AGENT);
  const told = toJson("surroundings", plainOptions("surroundings", surroundings, SURROUNDINGS));
  const { projectRules } = given;
  const port = new HostPort(options as EngineOptions, { projectRules });
  const hasRules = projectRules !== undefined;
  const [text, rules] = [engineText(given, port, hasRules), rulesText(given)];
  return (await calling(() => raw.systemText(text, rules, told, hasRules, port, workspaceOf(options.tree)))) as string;
}
