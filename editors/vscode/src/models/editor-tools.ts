// Tools that other extensions, and servers that VS Code knows, offer to it.
import * as vscode from "vscode";
import type { Tool } from "headstart";

// What newer hosts have and the types of the oldest one do not.
interface EditorTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema?: object;
}
interface ToolsHost {
  readonly tools: readonly EditorTool[];
  invokeTool(name: string, options: { input: object; toolInvocationToken: undefined }, token: vscode.CancellationToken): PromiseLike<{ content: readonly unknown[] }>;
}

/** So that none has the name of a tool of headstart's. */
const PREFIX = "vscode__";
const MOST_TOOLS = 64;
const LONGEST_NAME = 64;
/** Characters of a description, and of the JSON of a schema. */
const LONGEST_DESCRIPTION = 8_192;
const LONGEST_SCHEMA = 65_536;

/**
 * Those whose names the user lists (`*` stands for any text), sorted. What they do nobody here knows, so each call is asked about and none runs ahead. What cannot be
 * told apart, and what is too large to be offered, is left out.
 */
export function editorTools(wanted: readonly string[]): Tool[] {
  const { lm } = vscode as unknown as { lm?: Partial<ToolsHost> };
  if (wanted.length === 0 || !Array.isArray(lm?.tools) || typeof lm.invokeTool !== "function") return [];
  const host = lm as ToolsHost;
  const fits = wanted.map((pattern) => new RegExp(`^${pattern.split(/\*+/).map((part) => part.replace(/[\\^$.+?()[\]{}|]/g, "\\$&")).join(".*")}$`, "s"));
  const tools = host.tools.filter(({ name }) => fits.some((pattern) => pattern.test(name))).map((tool) => toolFor(host, tool));
  const isAlone = ({ name }: Tool): boolean => tools.filter((other) => other.name === name).length === 1;
  const offered = tools.filter((tool) => isAlone(tool) && JSON.stringify(tool.parameters).length <= LONGEST_SCHEMA);
  return offered.sort((one, other) => (one.name < other.name ? -1 : 1)).slice(0, MOST_TOOLS);
}

function toolFor(host: ToolsHost, { name, description, inputSchema }: EditorTool): Tool {
  return {
    name: `${PREFIX}${name.replace(/[^\w-]/g, "_")}`.slice(0, LONGEST_NAME),
    // It is a text of somebody else's.
    description: description.replace(/[\p{Cc}\p{Cf}]+/gu, " ").slice(0, LONGEST_DESCRIPTION),
    parameters: (inputSchema ?? { type: "object", properties: {} }) as Tool["parameters"],
    run: async (args, _view, signal) => {
      const cancel = new vscode.CancellationTokenSource();
      const stop = () => cancel.cancel();
      signal.addEventListener("abort", stop, { once: true });
      try {
        const { content } = await host.invokeTool(name, { input: args, toolInvocationToken: undefined }, cancel.token);
        return content.map(textOf).join("\n");
      } finally {
        signal.removeEventListener("abort", stop);
        cancel.dispose();
      }
    },
  };
}

/** A part of what a tool gives; what is no text is named. */
function textOf(part: unknown): string {
  const { value, mimeType } = (part ?? {}) as { value?: unknown; mimeType?: unknown };
  if (typeof value === "string") return value;
  if (typeof mimeType === "string") return `(${mimeType}, which is not shown to the model)`;
  return JSON.stringify(value ?? part) ?? "";
}
