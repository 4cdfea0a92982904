// Tools that VS Code has from other extensions, and from servers that it knows.
import * as vscode from "vscode";
import type { Tool } from "headstart";

// Interfaces that newer hosts have, but that are missing in the types of the oldest supported one.
interface EditorTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema?: object;
}
interface ToolsHost {
  readonly tools: readonly EditorTool[];
  invokeTool(name: string, options: { input: object; toolInvocationToken: undefined }, token: vscode.CancellationToken): PromiseLike<{ content: readonly unknown[] }>;
}

/** Begins the name of each such tool, so that none has the name of a tool of headstart. */
const PREFIX = "vscode__";
const MOST_TOOLS = 64;
const LONGEST_NAME = 64;
/** The most characters of a description. The next limit is that of a schema's JSON. */
const LONGEST_DESCRIPTION = 8_192;
const LONGEST_SCHEMA = 65_536;

/**
 * The tools whose names the user lists (`*` stands for any text), sorted. It is not known what they do, so each call is
 * asked about and none runs ahead. Tools that cannot be told apart, and tools that are too large to be offered, are
 * left out.
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
    // Control characters are removed, because the text comes from somebody else.
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

/** The text of a part of a tool's result. A part that is no text is only named. */
function textOf(part: unknown): string {
  const { value, mimeType } = (part ?? {}) as { value?: unknown; mimeType?: unknown };
  if (typeof value === "string") return value;
  if (typeof mimeType === "string") return `(${mimeType}, which is not shown to the model)`;
  return JSON.stringify(value ?? part) ?? "";
}
