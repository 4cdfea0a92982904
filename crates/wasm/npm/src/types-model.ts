// Conversations, models, and wire formats.
import type { ToolCall } from "./types-gate.js";

/** The answer to a call: its result, or why it could not be done, in words that the model can act on. */
export type ToolResult = { id: string; name: string } & ({ output: unknown } | { error: string });

/**
 * What a model gave with an answer besides its words and calls, and wants to see again with them. Keep it unchanged and
 * do not interpret it. Many models refuse a conversation in which it is missing. Only the model and the wire format
 * that wrote it get it back.
 */
export interface Opaque {
  format: string;
  model: string;
  data: unknown;
}

/** A picture that the model is shown: the bytes of its file in base64, with padding. */
export interface Image {
  mediaType: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  data: string;
}

/**
 * A piece of a message. An opaque part is in a message of the model, before the others; an image is in a message of the
 * user.
 */
export type Part =
  | { type: "text"; text: string }
  | ({ type: "image" } & Image)
  | ({ type: "toolCall" } & ToolCall)
  | ({ type: "toolResult" } & ToolResult)
  | ({ type: "opaque" } & Opaque);

/**
 * One entry of a conversation. Every call has exactly one result, in the tool message that follows, in the order of the calls.
 */
export interface Message {
  role: "user" | "model" | "tool";
  parts: Part[];
}

/** What was said so far. */
export interface Conversation {
  /** The system instruction. */
  system?: string | undefined;
  messages: Message[];
}

/** A tool as it is offered to a model. */
export interface ToolSchema {
  name: string;
  /** What it does and when to use it, for the model. */
  description: string;
  /** JSON schema of the arguments, an object. */
  parameters: object;
}

/** What a request cost, in tokens. */
export interface Usage {
  /** Tokens read by the model, including those from its cache. */
  inputTokens: number;
  /** The part of `inputTokens` that was found in the provider's cache. */
  cachedInputTokens: number;
  /** The part of `inputTokens` that was put into that cache, if the provider counts it separately. */
  cacheCreationTokens?: number;
  /** Tokens that were kept for this request under a name, times seconds. */
  cacheTokenSeconds?: number;
  /** Tokens written by the model. */
  outputTokens: number;
  /** How many requests were answered without the server saying what they cost; their cost is unknown, not zero. */
  untoldRequests?: number;
}

/** Everything that a model is asked. */
export interface ModelRequest {
  /** The provider's name of the model. */
  model: string;
  system?: string;
  tools: ToolSchema[];
  messages: Message[];
  /** Whether the model may think first. */
  thinking: boolean;
  /** The JSON schema that the answer must follow. */
  responseSchema?: object;
  /** The most tokens of the answer. */
  maxOutputTokens?: number;
}

/**
 * Why an answer ended: the model had no more to say, its length was limited, the provider withheld it, the model wrote a
 * call as words that is not run.
 */
export type FinishReason = "stop" | "length" | "contentFilter" | "writtenCall";

/** A piece of an answer. */
export type ModelEvent =
  /** Words. */
  | { type: "text"; text: string }
  /** The model's thinking, for display. The part of it that has to be sent back comes as `opaque`. */
  | { type: "thought"; text: string }
  /** What the model wants back with this answer; at most one. */
  | ({ type: "opaque" } & Opaque)
  /** A complete call. If it has no id, it is given one. */
  | ({ type: "toolCall" } & Omit<ToolCall, "id"> & { id?: string })
  /** What the request cost; the last one counts. */
  | { type: "usage"; usage: Partial<Usage> }
  /** The answer is complete. One that ends without this was cut, and is an error. */
  | { type: "finished"; reason: FinishReason };

/** A model is an object with one method. */
export interface Model {
  /**
   * Asks, and streams the answer. The signal fires when the answer is not wanted any more. If it throws, the run ends.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}

/** The answers of a model, to be played again. */
export interface Recording {
  /** The answers in speculations and turns, in the order in which they were asked for. */
  turns?: RecordedTurn[];
  /** The answers to queries for a suggestion; an empty one is silence, several lines are several candidates. */
  suggestions?: (string | { text: string; delayMs?: number; usage?: Partial<Usage> })[];
}

/** How a recording is played. */
export interface RecordedOptions {
  /** How many times faster than it was recorded; `Infinity` without any delay. Default: 1. */
  speed?: number | undefined;
}

/** One answer. */
export interface RecordedTurn {
  /** What the model said. */
  text?: string;
  /** What it called after that. */
  toolCalls?: { name: string; args?: Record<string, unknown> }[];
  /** Milliseconds before it began. */
  delayMs?: number;
  /** Milliseconds from its beginning to its end. */
  streamMs?: number;
  usage?: Partial<Usage>;
}

/**
 * The providers whose wire format is known. `openai` with another `baseUrl` is for every server with its chat
 * completions.
 */
export type ProviderName = "openai" | "responses" | "anthropic" | "gemini" | "dashscope" | "ollama";

export interface WireOptions {
  provider: ProviderName;
  /** The base URL, if it is not the provider's own; it looks like `https://HOST/v1`. */
  baseUrl?: string | undefined;
}

/** Everything that `fetch` needs: `fetch(url, rest)`. */
export interface EncodedRequest {
  url: string;
  method: "POST";
  headers: Record<string, string>;
  body: string;
}

export interface FetchModelOptions extends WireOptions {
  /** The key. It is sent to the base URL, and appears nowhere else: in no error and no JSON. */
  key?: string | undefined;
  /** `false` for a model that takes no images: for each image it is told that there was one. Default: true. */
  images?: boolean | undefined;
  /** A `fetch` in place of the global one: with a proxy of your own, with another header, or in a test. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /**
   * The most further tries of a request that failed for a passing reason; 0 for none. Default: 20 within a minute for
   * the user; 2 for what an engine does in the background, none of them after a limit.
   */
  retries?: number | undefined;
  /** How long to wait. */
  timeouts?: ModelTimeouts | undefined;
  /**
   * Is told when a request of the user waits before it is made again, and why; and with nothing when that is over. If
   * it throws, the error goes to the console.
   */
  onWait?: ((wait: ProviderWait | undefined) => void) | undefined;
}

/** A request that failed for a passing reason and waits to be made again. */
export interface ProviderWait {
  /** Milliseconds. */
  ms: number;
  /** The code of the error, which is the reason. */
  code: string;
}

/** How long to wait, in milliseconds. */
export interface ModelTimeouts {
  /**
   * For the first bytes of an answer; 130 s. A queue, a model that is loaded first, or a long prompt can take this
   * long.
   */
  firstByteMs?: number | undefined;
  /** For the next bytes; 120 s. */
  idleMs?: number | undefined;
  /** For the next piece of the answer, if only signs of life come; 600 s. */
  stalledMs?: number | undefined;
}
