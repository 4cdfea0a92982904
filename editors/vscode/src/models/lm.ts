import * as vscode from "vscode";
import type { Headstart } from "../session/options.js";
import type { Message, Model, ModelEvent, ModelRequest, Part, Usage } from "headstart";

// Interfaces that newer hosts have, but that are missing in the types of the oldest supported one.
interface ToolHost {
  LanguageModelTextPart: new (value: string) => { value: string };
  LanguageModelToolCallPart: new (callId: string, name: string, input: object) => { callId: string; name: string; input: object };
  LanguageModelToolResultPart: new (callId: string, content: unknown[]) => object;
  /** Exists since 1.103; the oldest supported editor does not have it. */
  LanguageModelDataPart?: { image(bytes: Uint8Array, mediaType: string): unknown };
  LanguageModelChatMessage: { new (role: number, content: unknown): vscode.LanguageModelChatMessage };
}

/** The models that other extensions offer in VS Code; none if VS Code is too old for models that call tools. */
export async function editorModels(): Promise<vscode.LanguageModelChat[]> {
  return toolHost() === undefined ? [] : vscode.lm.selectChatModels({});
}

/** A model that another extension offers in VS Code, or why there is none. */
export async function editorModel(headstart: Pick<Headstart, "ModelError">, name: string): Promise<{ model: Model; name: string; window?: number } | { missing: string }> {
  const host = toolHost();
  if (host === undefined) return { missing: "This version of VS Code offers extensions no models that can call tools. Use another provider." };
  const select = (selector: vscode.LanguageModelChatSelector) => vscode.lm.selectChatModels(selector);
  let found = name === "" ? await select({}) : await select({ family: name });
  if (found.length === 0 && name !== "") found = await select({ id: name });
  const chat = found[0];
  if (chat === undefined) return { missing: `No extension offers VS Code a model${name === "" ? "" : ` named ${name}`}. Install one, or use another provider.` };
  const window = chat.maxInputTokens;
  return { model: new EditorModel(chat, host, headstart), name: chat.name, ...(0 < window && { window }) };
}

function toolHost(): ToolHost | undefined {
  const host = vscode as unknown as Partial<ToolHost> & { lm?: { selectChatModels?: unknown } };
  const parts = host.LanguageModelTextPart && host.LanguageModelToolCallPart && host.LanguageModelToolResultPart;
  return parts && typeof host.lm?.selectChatModels === "function" ? (host as ToolHost) : undefined;
}

class EditorModel implements Model {
  constructor(
    readonly chat: vscode.LanguageModelChat,
    readonly host: ToolHost,
    readonly headstart: Pick<Headstart, "ModelError">,
  ) {}

  async *stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
    const cancel = new vscode.CancellationTokenSource();
    const stop = () => cancel.cancel();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    try {
      const messages = messagesFor(this.host, request);
      const options = {
        justification: "headstart answers your prompt, suggests the next one and runs it ahead.",
        tools: request.tools.map(({ name, description, parameters }) => ({ name, description, inputSchema: parameters })),
      };
      let written = "";
      const answer = await this.chat.sendRequest(messages, options as vscode.LanguageModelChatRequestOptions, cancel.token);
      for await (const part of (answer as unknown as { stream: AsyncIterable<unknown> }).stream) {
        if (part instanceof this.host.LanguageModelTextPart) {
          written += part.value;
          yield { type: "text", text: part.value };
        } else if (part instanceof this.host.LanguageModelToolCallPart) {
          written += JSON.stringify(part.input);
          yield { type: "toolCall", id: part.callId, name: part.name, args: part.input as Record<string, unknown> };
        }
      }
      yield { type: "usage", usage: await this.#usage(request, written) };
      yield { type: "finished", reason: "stop" };
    } catch (error) {
      throw modelError(this.headstart, error);
    } finally {
      signal.removeEventListener("abort", stop);
      cancel.dispose();
    }
  }

  /** Estimates the usage with the host's own counter, because the host does not report any. */
  async #usage(request: ModelRequest, written: string): Promise<Usage> {
    const read = JSON.stringify([request.system, request.tools, request.messages]);
    const [inputTokens, outputTokens] = await Promise.all([read, written].map((text) => this.chat.countTokens(text)));
    return { inputTokens: inputTokens ?? 0, cachedInputTokens: 0, outputTokens: outputTokens ?? 0 };
  }
}

/**
 * The messages of a request in the host's form. The host has no system message, so the system instruction comes first,
 * as a message of the user.
 */
export function messagesFor(host: ToolHost, request: ModelRequest): vscode.LanguageModelChatMessage[] {
  const { User, Assistant } = vscode.LanguageModelChatMessageRole;
  const message = (role: number, parts: unknown[]) => new host.LanguageModelChatMessage(role, parts);
  const told = request.messages.map(({ role, parts }: Message) =>
    message(role === "model" ? Assistant : User, parts.flatMap((part) => partFor(host, part))),
  );
  const system = request.system === undefined ? [] : [message(User, [new host.LanguageModelTextPart(request.system)])];
  const form = request.responseSchema === undefined ? [] : [
    message(User, [new host.LanguageModelTextPart(`Answer with JSON alone, without a fence, that fits this schema: ${JSON.stringify(request.responseSchema)}`)]),
  ];
  return [...system, ...told, ...form];
}

function partFor(host: ToolHost, part: Part): unknown[] {
  switch (part.type) {
    case "text":
      return [new host.LanguageModelTextPart(part.text)];
    case "image": {
      const data = host.LanguageModelDataPart;
      if (data) return [data.image(Uint8Array.from(atob(part.data), (sign) => sign.charCodeAt(0)), part.mediaType)];
      return [new host.LanguageModelTextPart("(An image stands here, which this editor cannot show to the model.)")];
    }
    case "toolCall":
      return [new host.LanguageModelToolCallPart(part.id, part.name, part.args)];
    case "toolResult": {
      const result = "error" in part ? `error: ${part.error}` : part.output;
      const text = typeof result === "string" ? result : JSON.stringify(result);
      return [new host.LanguageModelToolResultPart(part.id, [new host.LanguageModelTextPart(text)])];
    }
    // Models of the editor have no place for opaque parts.
    case "opaque":
      return [];
  }
}

function modelError(headstart: Pick<Headstart, "ModelError">, error: unknown): Error {
  if (error instanceof headstart.ModelError || !(error instanceof Error)) return error as Error;
  const { NoPermissions, NotFound, Blocked } = { NoPermissions: "NoPermissions", NotFound: "NotFound", Blocked: "Blocked" };
  const code = (error as { code?: string }).code;
  const told = {
    [NoPermissions]: "VS Code's user has not allowed headstart to use the model",
    [NotFound]: "the model is no longer offered",
    [Blocked]: "the model's quota is used up, or it refused the request",
  }[code ?? ""];
  return told === undefined ? error : new Error(told, { cause: error });
}
