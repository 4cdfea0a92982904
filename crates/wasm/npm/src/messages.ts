// `headstart/messages`: conversations as other libraries write them. No module is loaded.
import { InputError, mistyped, shown } from "./errors.js";
import type { ToolCall } from "./types-gate.js";
import type { Conversation, Image, Message, Part, ToolResult } from "./types-model.js";

export { HeadstartError, InputError } from "./errors.js";
export type { ToolCall } from "./types-gate.js";
export type { Conversation, Image, Message, Opaque, Part, ToolResult } from "./types-model.js";

/** A message of OpenAI's chat completions, as far as words, images and calls go. */
export type OpenAIMessage =
  | { role: "system" | "developer"; content: string | OpenAIText[] }
  | { role: "user"; content: string | (OpenAIText | OpenAIImage)[] }
  | { role: "assistant"; content?: string | OpenAIText[] | null; tool_calls?: OpenAICall[] }
  | { role: "tool"; tool_call_id: string; content: string | OpenAIText[] };

export interface OpenAIText {
  type: "text";
  text: string;
}

export interface OpenAIImage {
  type: "image_url";
  image_url: { /** `data:image/png;base64,…`. */ url: string };
}

export interface OpenAICall {
  id: string;
  type: "function";
  function: { name: string; /** JSON. */ arguments: string };
}

/** A `ModelMessage` of the AI SDK (version 5 and later), as far as words, images and calls go. */
export type ModelMessage =
  | { role: "system"; content: string }
  | { role: "user"; content: string | ({ type: "text"; text: string } | ModelImage)[] }
  | { role: "assistant"; content: string | ({ type: "text"; text: string } | ModelToolCall)[] }
  | { role: "tool"; content: ModelToolResult[] };

export interface ModelImage {
  type: "image";
  /** Base64. */
  image: string;
  mediaType: Image["mediaType"];
}

export interface ModelToolCall {
  type: "tool-call";
  toolCallId: string;
  toolName: string;
  input: unknown;
}

export interface ModelToolResult {
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  output: { type: "text"; value: string } | { type: "error-text"; value: string } | { type: "json"; value: Json } | { type: "error-json"; value: Json };
}

/** What JSON can hold. */
export type Json = null | string | number | boolean | Json[] | { [key: string]: Json };

/**
 * The conversation that OpenAI's messages hold. Each call has its name and its result by its id. What has no place in a conversation (an address of a
 * picture, which nobody fetches, a system message in the middle, a call without its result) is an `InputError` that names the message.
 */
export function fromOpenAI(messages: readonly unknown[]): Conversation {
  return read(messages, (message, at, into) => {
    const { role, content } = message;
    if (role === "system" || role === "developer") return into.system(texts(content, `${at}.content`).join(""), at);
    if (role === "user") return into.says("user", seen(content, `${at}.content`, openAIImage));
    if (role === "tool") {
      const output = texts(content, `${at}.content`).join("");
      return into.result(text(message.tool_call_id, `${at}.tool_call_id`), { output }, at);
    }
    if (role !== "assistant") throw unknownRole(role, at, "system, developer, user, assistant and tool");
    if (message.function_call != null) throw wrong(`${at}.function_call`, "is the older way; give tool_calls");
    const said = content == null ? [] : texts(content, `${at}.content`);
    const calls = message.tool_calls == null ? [] : list(message.tool_calls, `${at}.tool_calls`);
    return into.says("model", [...words(said), ...calls.map((call, index) => openAICall(call, `${at}.tool_calls[${index}]`))]);
  });
}

/**
 * The same conversation as OpenAI's messages. A transcript is possible too; it has no system instruction. What a model
 * wants back (`opaque`) is left out.
 */
export function toOpenAI(conversation: Conversation): OpenAIMessage[] {
  const all: OpenAIMessage[] = conversation.system === undefined ? [] : [{ role: "system", content: conversation.system }];
  for (const message of conversation.messages) {
    if (message.role === "tool") {
      for (const result of resultsOf(message)) all.push({ role: "tool", tool_call_id: result.id, content: wordsOf(result) });
    } else if (message.role === "user") {
      all.push({ role: "user", content: shownAs(message, ({ mediaType, data }): OpenAIImage => ({ type: "image_url", image_url: { url: `data:${mediaType};base64,${data}` } })) });
    } else {
      const calls = callsOf(message).map(({ id, name, args }): OpenAICall => ({ id, type: "function", function: { name, arguments: JSON.stringify(args) } }));
      all.push({ role: "assistant", content: textOf(message), ...(calls.length > 0 && { tool_calls: calls }) });
    }
  }
  return all;
}

/**
 * The conversation that messages of the AI SDK hold. What a page keeps (`UIMessage`) goes through the SDK's `convertToModelMessages` first. Reasoning is
 * left out. Words stand for what has no place in a conversation: for files and for pictures that are addresses, for a call that was denied, and for one
 * that was cut off. What the provider's own tools did is a call like any other. What is no message of the SDK is an `InputError` that names it.
 */
export function fromModelMessages(messages: readonly unknown[]): Conversation {
  return read(messages, (message, at, into) => {
    const { role, content } = message;
    if (role === "system") return into.system(text(content, `${at}.content`), at);
    if (role === "user") return into.says("user", seen(content, `${at}.content`, modelSeen));
    if (role === "tool") {
      for (const [index, part] of list(content, `${at}.content`).entries()) {
        const here = `${at}.content[${index}]`;
        const { type, toolCallId, output, ...rest } = object(part, here);
        if (type === "tool-approval-response") {
          if (rest.approved === false) into.denied(text(rest.approvalId, `${here}.approvalId`), deniedBecause(rest.reason));
          continue;
        }
        if (type !== "tool-result") throw wrong(`${here}.type`, `is ${shown(type)}; a tool's answer is a "tool-result"`);
        into.result(text(toolCallId, `${here}.toolCallId`), modelOutput(output, `${here}.output`), here);
      }
      return;
    }
    if (role !== "assistant") throw unknownRole(role, at, "system, user, assistant and tool");
    if (typeof content === "string") return into.says("model", words([content]));
    let parts: Part[] = [];
    let says = (some: Part[]): void => into.says("model", some);
    for (const [index, part] of list(content, `${at}.content`).entries()) {
      const here = `${at}.content[${index}]`;
      const { type, toolCallId, toolName, output, approvalId } = object(part, here);
      if (type === "tool-approval-request") {
        into.asks(text(approvalId, `${here}.approvalId`), text(toolCallId, `${here}.toolCallId`));
      } else if (type === "tool-result") {
        // A tool of the provider ran in the middle of the answer.
        const given = modelOutput(output, `${here}.output`);
        if (parts.some((one) => one.type === "toolCall" && one.id === toolCallId)) {
          says(parts);
          says = (some) => into.saysMore(some);
          parts = [];
        }
        if (into.hasOpen(toolCallId)) into.result(text(toolCallId, `${here}.toolCallId`), given, here);
        else parts.push(...words([`[${text(toolName, `${here}.toolName`)} gave: ${"error" in given ? given.error : JSON.stringify(given.output)}]`]));
      } else {
        parts.push(...modelPart(part, here));
      }
    }
    return says(parts);
  }, CUT_OFF);
}

/** What stands for the result of a call that has none. */
const CUT_OFF = "The call was cut off before it had a result.";

function deniedBecause(reason: unknown): string {
  return typeof reason === "string" && reason !== "" ? `The user did not allow this call: ${reason}` : "The user did not allow this call.";
}

/** The same conversation as messages of the AI SDK. What a model wants back (`opaque`) is left out. */
export function toModelMessages(conversation: Conversation): ModelMessage[] {
  const all: ModelMessage[] = conversation.system === undefined ? [] : [{ role: "system", content: conversation.system }];
  for (const message of conversation.messages) {
    if (message.role === "user") {
      all.push({ role: "user", content: shownAs(message, ({ mediaType, data }): ModelImage => ({ type: "image", image: data, mediaType })) });
    } else if (message.role === "model") {
      const calls = callsOf(message).map(({ id, name, args }): ModelToolCall => ({ type: "tool-call", toolCallId: id, toolName: name, input: args }));
      const said = textOf(message);
      all.push({ role: "assistant", content: [...(said === "" ? [] : [{ type: "text" as const, text: said }]), ...calls] });
    } else {
      all.push({ role: "tool", content: resultsOf(message).map((result) => ({ type: "tool-result", toolCallId: result.id, toolName: result.name, output: outputOf(result) })) });
    }
  }
  return all;
}

/** Puts a conversation together, message by message. */
class Reader {
  readonly messages: Message[] = [];
  instruction: string | undefined;
  /** The calls of the last answer, in order, and the results that came for them. */
  #open: { call: ToolCall; result?: ToolResult; isDenied?: boolean }[] = [];
  /** The calls whose permission was asked, by the number of the question. */
  readonly #asked = new Map<string, string>();
  readonly #cutOff: string | undefined;

  /** @param cutOff What a call without a result gets as its error; without it such a call is an `InputError`. */
  constructor(cutOff?: string) {
    this.#cutOff = cutOff;
  }

  system(words: string, at: string): void {
    if (this.messages.length > 0 || this.#open.length > 0) throw wrong(at, "is a system message in the middle of the conversation; only the first messages may be such");
    this.instruction = this.instruction === undefined ? words : `${this.instruction}\n\n${words}`;
  }

  says(role: "user" | "model", parts: Part[]): void {
    this.settle();
    this.messages.push({ role, parts });
    this.#opens(parts);
  }

  /** Goes on with the model's answer: behind the results that it has already, or, if one is still to come, before them. */
  saysMore(parts: Part[]): void {
    if (parts.length === 0) return;
    if (this.#open.every(({ result }) => result !== undefined)) return this.says("model", parts);
    this.messages.at(-1)?.parts.push(...parts);
    this.#opens(parts);
  }

  #opens(parts: readonly Part[]): void {
    for (const part of parts) {
      if (part.type === "toolCall") this.#open.push({ call: part });
    }
  }

  asks(approval: string, id: string): void {
    this.#asked.set(approval, id);
  }

  denied(approval: string, error: string): void {
    const open = this.#open.find(({ call }) => call.id === this.#asked.get(approval));
    if (open === undefined || open.result !== undefined) return;
    open.result = { id: open.call.id, name: open.call.name, error };
    open.isDenied = true;
  }

  hasOpen(id: unknown): boolean {
    return this.#open.some(({ call }) => call.id === id);
  }

  result(id: string, outcome: { output: unknown } | { error: string }, at: string): void {
    const open = this.#open.find(({ call }) => call.id === id);
    if (open === undefined) throw wrong(at, `answers the call ${shown(id)}, which the answer before it does not have`);
    if (open.result !== undefined && !open.isDenied) throw wrong(at, `answers the call ${shown(id)} a second time`);
    open.result = { id, name: open.call.name, ...outcome };
    open.isDenied = false;
  }

  /** Adds the results of the last answer's calls, in the order of the calls. */
  settle(): void {
    const parts = this.#open.map(({ call, result }, index) => {
      if (result !== undefined) return { type: "toolResult" as const, ...result };
      if (this.#cutOff !== undefined) return { type: "toolResult" as const, id: call.id, name: call.name, error: this.#cutOff };
      throw wrong(`messages`, `have no result for the call ${shown(call.id)} (${call.name}), number ${index + 1} of its answer`);
    });
    this.#open = [];
    if (parts.length > 0) this.messages.push({ role: "tool", parts });
  }
}

function read(messages: unknown, take: (message: Record<string, unknown>, at: string, into: Reader) => void, cutOff?: string): Conversation {
  const into = new Reader(cutOff);
  for (const [index, message] of list(messages, "messages").entries()) take(object(message, `messages[${index}]`), `messages[${index}]`, into);
  into.settle();
  return { ...(into.instruction !== undefined && { system: into.instruction }), messages: into.messages };
}

function openAICall(call: unknown, at: string): Part {
  const { id, function: called } = object(call, at);
  const { name, arguments: given } = object(called, `${at}.function`);
  const written = text(given, `${at}.function.arguments`);
  let args: unknown;
  try {
    args = JSON.parse(written === "" ? "{}" : written);
  } catch (cause) {
    throw new InputError(`${at}.function.arguments: is no JSON: ${shown(written)}`, `${at}.function.arguments`, { cause });
  }
  return { type: "toolCall", id: text(id, `${at}.id`), name: text(name, `${at}.function.name`), args: object(args, `${at}.function.arguments`) };
}

function modelPart(part: unknown, at: string): Part[] {
  const { type, ...rest } = object(part, at);
  if (type === "text") return words([text(rest.text, `${at}.text`)]);
  if (type === "reasoning" || type === "reasoning-file" || type === "custom") return [];
  if (type === "file") return words([attached("file", rest)]);
  if (type !== "tool-call") throw wrong(`${at}.type`, `is ${shown(type)}; a conversation holds words and calls only`);
  if (!("input" in rest) && "args" in rest) throw wrong(`${at}.args`, "is of an AI SDK before version 5; its calls have `input` now");
  // A tool of the provider's may take anything, and a call that was cut off may hold a piece of its input.
  const args = isObject(rest.input) ? rest.input : rest.input == null ? {} : { input: rest.input };
  return [{ type: "toolCall", id: text(rest.toolCallId, `${at}.toolCallId`), name: text(rest.toolName, `${at}.toolName`), args }];
}

function modelOutput(output: unknown, at: string): { output: unknown } | { error: string } {
  const { type, value } = object(output, at);
  if (type === "text") return { output: text(value, `${at}.value`) };
  if (type === "json") return { output: value ?? null };
  if (type === "error-text") return { error: text(value, `${at}.value`) };
  if (type === "error-json") return { error: JSON.stringify(value) };
  if (type === "execution-denied") return { error: deniedBecause(object(output, at).reason) };
  if (type === "content") {
    const parts = list(value, `${at}.value`).map((part, index) => object(part, `${at}.value[${index}]`));
    return { output: parts.map((part, index) => (part.type === "text" ? text(part.text, `${at}.value[${index}].text`) : attached("file", part))).join("") };
  }
  throw wrong(`${at}.type`, `is ${shown(type)}; a conversation holds text, JSON and errors`);
}

function outputOf(result: ToolResult): ModelToolResult["output"] {
  if ("error" in result) return { type: "error-text", value: result.error };
  return typeof result.output === "string" ? { type: "text", value: result.output } : { type: "json", value: result.output as Json };
}

/** The words of a result as the module writes them to a provider. */
function wordsOf(result: ToolResult): string {
  if ("error" in result) return `Error: ${result.error}`;
  return typeof result.output === "string" ? result.output : JSON.stringify(result.output);
}

/** The texts in a content: a text, or a list of parts that are texts. The first part has the number `first`. */
function texts(content: unknown, at: string, first = 0): string[] {
  if (typeof content === "string") return [content];
  if (!Array.isArray(content)) throw mistyped(at, "a string or an array of text parts", content);
  return Array.from(content, (part: unknown, index) => {
    const here = `${at}[${first + index}]`;
    const { type, ...rest } = object(part, here);
    if (type === "refusal") return text(rest.refusal, `${here}.refusal`);
    if (type !== "text") throw wrong(`${here}.type`, `is ${shown(type)}; a conversation holds words, images of the user's, and calls only`);
    return text(rest.text, `${here}.text`);
  });
}

/** The words and images of a user. */
function seen(content: unknown, at: string, image: (part: Record<string, unknown>, at: string) => Image | string | undefined): Part[] {
  if (!Array.isArray(content)) return words(texts(content, at));
  return content.flatMap((part: unknown, index): Part[] => {
    const here = `${at}[${index}]`;
    const found = image(object(part, here), here);
    if (typeof found === "string") return words([found]);
    return found === undefined ? words(texts([part], at, index)) : [{ type: "image", ...found }];
  }).reduce<Part[]>((parts, part) => {
    const last = parts.at(-1);
    if (last?.type === "text" && part.type === "text") last.text += part.text;
    else parts.push(part);
    return parts;
  }, []);
}

function openAIImage({ type, image_url }: Record<string, unknown>, at: string): Image | undefined {
  if (type !== "image_url") return undefined;
  return imageOf(object(image_url, `${at}.image_url`).url, undefined, `${at}.image_url.url`);
}

/** An image of the user's, or words that stand for a file and for an image that is not here or of another kind. */
function modelSeen(part: Record<string, unknown>, at: string): Image | string | undefined {
  const { type, mediaType } = part;
  if (type !== "image" && type !== "file") return undefined;
  const given = type === "image" ? part.image : part.data;
  // Version 7 of the SDK says of a file's content what it is.
  const content = isObject(given) && typeof given.type === "string" ? given : { type: "data", data: given };
  if (content.type === "text") return text(content.text, `${at}.data.text`);
  const data = content.type === "url" ? content.url : content.data;
  const isHere = data instanceof ArrayBuffer || data instanceof Uint8Array || data instanceof URL || typeof data === "string";
  if (!isHere && content.type === "data" && !isObject(data)) throw mistyped(`${at}.${type === "image" ? "image" : "data"}`, "base64, bytes or a URL", data);
  if (isHere) {
    try {
      return imageOf(data, mediaType, at);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
    }
  }
  return attached(type, part);
}

/** Words that stand for something that the conversation does not hold. */
function attached(kind: "image" | "file", { filename, mediaType, data, image, url }: Record<string, unknown>): string {
  const content = image ?? data ?? url;
  const address = isObject(content) && content.type === "url" ? content.url : content;
  const where = address instanceof URL ? address.href : typeof address === "string" ? address : "";
  const told = [filename, mediaType, /^https?:/i.test(where) ? where : undefined].filter((one) => typeof one === "string" && one !== "");
  return `[${kind === "image" ? "An image" : "A file"} is attached here that is not shown${told.length > 0 ? `: ${told.join(", ")}` : ""}]`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof URL) && !ArrayBuffer.isView(value) && !(value instanceof ArrayBuffer);
}

/** The beginnings of image files, in base64. */
const BEGINNINGS: readonly (readonly [beginning: string, mediaType: Image["mediaType"]])[] = [
  ["iVBORw0KGgo", "image/png"], ["/9j/", "image/jpeg"], ["R0lGOD", "image/gif"], ["UklGR", "image/webp"],
];

/**
 * An image from bytes, from base64, or from a `data:` URL. Its type is given in one of these, beside it, or by its
 * first bytes.
 */
function imageOf(given: unknown, named: unknown, at: string): Image {
  const bytes = given instanceof ArrayBuffer ? new Uint8Array(given) : given;
  const written = bytes instanceof Uint8Array ? base64(bytes) : given instanceof URL ? given.href : text(given, at);
  const url = /^data:([^;,]*);base64,(.*)$/s.exec(written);
  if (url === null && /^[a-z][a-z0-9+.-]*:/i.test(written)) {
    throw wrong(at, `is the address ${shown(written)}; nobody fetches it, so give the picture itself: base64, or data:image/png;base64,…`);
  }
  const [mediaType, data] = url === null ? [named, written] : [url[1], url[2] ?? ""];
  const known = BEGINNINGS.find(([beginning, type]) => type === mediaType || ((mediaType === undefined || mediaType === "image/*") && data.startsWith(beginning)));
  if (known === undefined) throw wrong(at, `is of the type ${shown(mediaType)}; a conversation holds ${BEGINNINGS.map(([, type]) => type).join(", ")}`);
  return { mediaType: known[1], data };
}

function base64(bytes: Uint8Array): string {
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return btoa(letters);
}

/** What a user said: their words, or parts where there are images. */
function shownAs<I>(message: Message, image: (image: Image) => I): string | ({ type: "text"; text: string } | I)[] {
  if (!message.parts.some((part) => part.type === "image")) return textOf(message);
  return message.parts.flatMap((part): ({ type: "text"; text: string } | I)[] => {
    if (part.type === "text") return [{ type: "text", text: part.text }];
    return part.type === "image" ? [image(part)] : [];
  });
}

function words(texts: string[]): Part[] {
  const all = texts.join("");
  return all === "" ? [] : [{ type: "text", text: all }];
}

function textOf(message: Message): string {
  return message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function callsOf(message: Message): ToolCall[] {
  return message.parts.filter((part) => part.type === "toolCall");
}

function resultsOf(message: Message): ToolResult[] {
  return message.parts.filter((part) => part.type === "toolResult");
}

function object(value: unknown, at: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw mistyped(at, "an object", value);
  return value as Record<string, unknown>;
}

function list(value: unknown, at: string): unknown[] {
  if (!Array.isArray(value)) throw mistyped(at, "an array", value);
  return value;
}

function text(value: unknown, at: string): string {
  if (typeof value !== "string") throw mistyped(at, "a string", value);
  return value;
}

function unknownRole(role: unknown, at: string, known: string): InputError {
  return wrong(`${at}.role`, `is ${shown(role)}; there are ${known}`);
}

function wrong(path: string, what: string): InputError {
  return new InputError(`${path}: ${what}`, path);
}
