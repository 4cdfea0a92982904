// Conversations, models, and wire formats.
import type { ToolCall } from "./types-gate.js";

/** The answer to a call: what came out, or why it could not be done, in words that the model can act on. */
export type ToolResult = { id: string; name: string } & ({ output: unknown } | { error: string });

/**
 * What a model gave with an answer beside its words and calls, and wants to see again with them: keep it, and look at nothing in it. Many
 * models refuse a conversation in which it is missing. Only the model and the wire format that wrote it get it back.
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

/** A piece of a message; an opaque one stands in a message of the model, before the others, and an image in one of the user. */
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
  /** Read by the model, those from its cache included. */
  inputTokens: number;
  /** Of these, found in the provider's cache. */
  cachedInputTokens: number;
  /** Of these, put into that cache, where the provider counts them apart. */
  cacheCreationTokens?: number;
  /** Kept for this request under a name, times seconds. */
  cacheTokenSeconds?: number;
  /** Written by the model. */
  outputTokens: number;
  /** Requests that were answered and of which the server did not say what they cost: it is not known, and not nothing. */
  untoldRequests?: number;
}

/** All that a model is asked. */
export interface ModelRequest {
  /** The provider's name of the model. */
  model: string;
  system?: string;
  tools: ToolSchema[];
  messages: Message[];
  /** Whether it may think first. */
  thinking: boolean;
  /** JSON schema that the answer must have. */
  responseSchema?: object;
  /** At most so many tokens in the answer. */
  maxOutputTokens?: number;
}

/** Why an answer ended: the model had no more to say, its length was limited, the provider withheld it. */
export type FinishReason = "stop" | "length" | "contentFilter";

/** A piece of an answer. */
export type ModelEvent =
  /** Words. */
  | { type: "text"; text: string }
  /** The model's thinking, to show. What of it has to go back comes as `opaque`. */
  | { type: "thought"; text: string }
  /** What the model wants back with this answer; at most one. */
  | ({ type: "opaque" } & Opaque)
  /** A call, whole. Without an id it gets one. */
  | ({ type: "toolCall" } & Omit<ToolCall, "id"> & { id?: string })
  /** What the request cost; the last one counts. */
  | { type: "usage"; usage: Partial<Usage> }
  /** The answer is complete. One that ends without this was cut, and is an error. */
  | { type: "finished"; reason: FinishReason };

/** A model is an object with one method. */
export interface Model {
  /** Asks, and streams the answer. The signal fires when the answer is not wanted any more. What it throws ends the run. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}

/** The answers of a model, to be played again. */
export interface Recording {
  /** The answers in speculations and turns, in the order they were asked for. */
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

/** The providers whose wire format is known. `openai` with another `baseUrl` is every server that speaks its chat completions. */
export type ProviderName = "openai" | "responses" | "anthropic" | "gemini" | "dashscope" | "ollama";

export interface WireOptions {
  provider: ProviderName;
  /** Where it is, if not at the provider's own address; it looks like `https://HOST/v1`. */
  baseUrl?: string | undefined;
}

/** All that `fetch` needs: `fetch(url, rest)`. */
export interface EncodedRequest {
  url: string;
  method: "POST";
  headers: Record<string, string>;
  body: string;
}

export interface FetchModelOptions extends WireOptions {
  /** It is sent to the base URL, and appears nowhere else: in no error and no JSON. */
  key?: string | undefined;
  /** `false` for a model that takes no images: it is told of each that there was one. Default: true. */
  images?: boolean | undefined;
  /** In place of the global one: through a proxy of your own, with a header more, in a test. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /**
   * At most so many further tries of a request that failed for a moment; 0: none. Default: 4 for the user, 2 for what an engine does
   * in the background.
   */
  retries?: number | undefined;
  /** How long to wait. */
  timeouts?: ModelTimeouts | undefined;
  /**
   * Hears when a request of the user's waits before it is made again, and why; and with nothing when that is over. What it throws is told to the
   * console.
   */
  onWait?: ((wait: ProviderWait | undefined) => void) | undefined;
}

/** A request that failed for a moment waits to be made again. */
export interface ProviderWait {
  /** Milliseconds. */
  ms: number;
  /** Why: the code of the error. */
  code: string;
}

/** In milliseconds. */
export interface ModelTimeouts {
  /** For the first bytes of an answer; 130 s. A queue, a model that is loaded first or a long prompt take their time. */
  firstByteMs?: number | undefined;
  /** For the next bytes; 120 s. */
  idleMs?: number | undefined;
  /** For the next piece of the answer, where only signs of life come; 600 s. */
  stalledMs?: number | undefined;
}
