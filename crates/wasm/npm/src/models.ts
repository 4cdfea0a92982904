import { inBackground, wantsName } from "./answers.js";
import { toError } from "./errors.js";
import { rest } from "./init.js";
import { type Fields, optional, options as checked, required } from "./options.js";
import { raw } from "./raw.js";
import { Limiter, POLICIES, patiently, purposeOf } from "./retry.js";
import { LONGEST_MS, type Purpose, startTimer } from "./timers.js";
import type { EncodedRequest, FetchModelOptions, Model, ModelEvent, ModelRequest, ModelTimeouts, Part } from "./types.js";
import { keyText, WIRE, Wire } from "./wire.js";
import { withoutSecrets } from "./wire-url.js";

/** How many bytes of an error's body are read. */
const BODY_BYTES = 16 * 1024;

/** The codes for a server that took the request, or part of it, and closed the connection. */
const HUNG_UP = ["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"];

const TIMEOUTS: Fields<ModelTimeouts> = { firstByteMs: "number", idleMs: "number", stalledMs: "number" };
const FETCH: Fields<FetchModelOptions> = { ...WIRE, key: "string", images: "boolean", fetch: "function", retries: "number", timeouts: "object", onWait: "function" };

/**
 * A model over `fetch`.
 *
 * A request is made when its answer is first asked for. If it fails for a passing reason (`rate_limited`, `server`,
 * `unreachable`), it is made again, as long as no piece of the answer was given. For the user that is up to 4 times,
 * after half a second to twenty, a minute in all; for what an {@link Engine} does in the background up to twice, from
 * two seconds on, half a minute in all. Without a connection it is twice at the most, because a wrong address looks the
 * same. A wait that the provider asks for (`retry-after`) is kept; if that is longer, the error comes at once, with its
 * `retryAfterMs`. While a turn of the user is held up by a rate limit, background requests of the same model wait, and
 * those under way are given up and made again later.
 *
 * If a server refuses a parameter of the request by its name, the request is made again without it, or with the name
 * that the server accepts (`max_completion_tokens` in place of `max_tokens`), and so are the next ones to that model.
 *
 * Redirects are not followed, because they would carry the conversation to another place. When the signal fires, the
 * connection is closed and the signal's reason is thrown. The connection is also closed when nobody reads on.
 *
 * In a browser, everybody who can see the page can see the key, and the server has to allow the page (CORS). Some
 * servers require a header for that, which a `fetch` of yours can add.
 */
export function fetchModel(options: FetchModelOptions): Model {
  const { provider, baseUrl, images } = checked("", options, FETCH);
  const wire = new Wire({ provider, baseUrl });
  const key = keyText(options.key);
  const { needsKey, accept } = JSON.parse(wire.handle.describe()) as { needsKey: boolean; accept: string };
  if (needsKey && key === "") throw toError(wire.handle.misconfigured("there is no key; set the option `key` to one"));
  const { firstByteMs, idleMs, stalledMs } = checked("timeouts", options.timeouts ?? {}, TIMEOUTS);
  const limits = { firstByteMs: firstByteMs ?? 130_000, idleMs: idleMs ?? 120_000, stalledMs: stalledMs ?? 600_000 };
  const retries = options.retries ?? undefined;
  const send = options.fetch ?? ((url: string, init: RequestInit) => fetch(url, init));
  const limiter = new Limiter();
  const refusals: Refusals = new Map();
  const model: Model = {
    stream: (given, signal) => ({
      [Symbol.asyncIterator]: () => {
        optional("signal", signal, "signal");
        const request = images === false ? withoutImages(given) : given;
        const ending = new AbortController();
        const priority = signal !== undefined && inBackground.has(signal) ? "background" : "foreground";
        const policy = { ...POLICIES[priority], ...(retries !== undefined && { retries }) };
        const attempt = (connection: AbortController): AsyncIterable<ModelEvent> =>
          answer(new Exchange(wire, key, accept, limits, purposeOf(priority), connection, send), request, refusals);
        const events = until(signal, ending, patiently(attempt, { priority, policy, limiter, signal: ending.signal, ...(options.onWait && { onWait: options.onWait }) }));
        return {
          next: () => events.next(),
          // A call that waits for bytes must not be waited for.
          return: async () => {
            ending.abort();
            return events.return(undefined);
          },
        };
      },
    }),
  };
  wantsName.add(model);
  return model;
}

/** Replaces images by words, the same as those of the crate `providers`. */
function withoutImages(request: ModelRequest): ModelRequest {
  const without = (part: Part): Part => (part.type === "image" ? { type: "text", text: "\n\n[an image, which you cannot see]" } : part);
  const messages = required("request.messages", required("request", request, "object").messages, "list");
  return { ...request, messages: messages.map(({ role, parts }) => ({ role, parts: parts.map(without) })) };
}

/** Has a signal end an answer, as long as the answer lasts. */
async function* until(
  signal: AbortSignal | undefined,
  ending: AbortController,
  events: AsyncGenerator<ModelEvent, undefined>,
): AsyncGenerator<ModelEvent, undefined> {
  const forward = (): void => ending.abort(signal?.reason);
  if (signal?.aborted) throw signal.reason;
  signal?.addEventListener("abort", forward, { once: true });
  try {
    yield* events;
    return undefined;
  } finally {
    signal?.removeEventListener("abort", forward);
  }
}

/** For each model, by its name, how its requests are written since its server refused a parameter of them. */
type Refusals = Map<string, raw.WireHandle>;

/** The events of one request's answer. */
async function* answer(exchange: Exchange, request: ModelRequest, refusals: Refusals): AsyncGenerator<ModelEvent, undefined> {
  let decoder = exchange.wire.open(request, exchange.key);
  try {
    const response = await taken(exchange, request, decoder, refusals);
    if (exchange.isDocument(response)) decoder = decoder.unstreamed();
    const pieces = exchange.pieces(response, decoder);
    while (!decoder.isClosed) {
      const bytes = await pieces.next();
      // If the connection broke, what was received as a whole still counts.
      const events = bytes === undefined ? decoder.end() : decoder.push(bytes);
      yield* JSON.parse(events) as ModelEvent[];
      const failure = decoder.failure();
      if (failure !== undefined) throw toError(failure);
    }
    return undefined;
  } finally {
    exchange.ending.abort();
    decoder.free();
  }
}

/**
 * The head of the answer, once the server accepts the request, which is sent without the parameters that it refuses. A
 * refusal may be misread, so it is only remembered when the server has accepted the changed request.
 */
async function taken(exchange: Exchange, request: ModelRequest, decoder: raw.DecoderHandle, refusals: Refusals): Promise<Response> {
  const { wire, key } = exchange;
  for (let spoken = refusals.get(request?.model) ?? wire.handle; ; ) {
    const encoded = wire.encodeBy(spoken, request, key);
    const answer = await exchange.send(encoded, decoder, spoken);
    if ("taken" in answer) {
      if (spoken !== wire.handle) refusals.set(request.model, spoken);
      return answer.taken;
    }
    spoken = answer.without;
  }
}

type Limits = Record<keyof ModelTimeouts, number>;

/** One request and its answer. */
class Exchange {
  constructor(
    readonly wire: Wire,
    readonly key: string,
    readonly accept: string,
    readonly limits: Limits,
    readonly purpose: Purpose,
    /** Closes the connection. */
    readonly ending: AbortController,
    readonly fetch: (url: string, init: RequestInit) => Promise<Response>,
  ) {}

  /** The head of a successful answer, or how the request is written without what the server refuses. */
  async send(
    { url, ...init }: EncodedRequest,
    decoder: raw.DecoderHandle,
    spoken: raw.WireHandle,
  ): Promise<{ taken: Response } | { without: raw.WireHandle }> {
    const { signal } = this.ending;
    const options: RequestInit = { ...init, signal, redirect: "manual", credentials: "omit", referrerPolicy: "no-referrer" };
    let response: Response;
    try {
      response = await this.within(this.limits.firstByteMs, () => this.fetch(url, options));
    } catch (error) {
      await rest();
      if (signal.aborted) throw reasonOf(signal);
      throw toError(this.notSent(url, error, decoder));
    }
    // The part of the module that reads an answer, or an error, may still be on its way, so it is waited for.
    await rest();
    if (response.type === "opaqueredirect" || (300 <= response.status && response.status < 400)) {
      throw toError(this.wire.handle.stranger(redirect(response, url), this.key));
    }
    if (response.status !== 200) {
      const body = await this.beginning(response);
      const without = spoken.learn(response.status, body);
      if (without !== undefined) return { without };
      throw toError(this.wire.handle.refused(response.status, retryAfterMs(response.headers), body, this.key));
    }
    if (mediaType(response).startsWith("text/html")) {
      const page = await this.beginning(response);
      throw toError(this.wire.handle.stranger(/^\s*</.test(page) ? page : `a web page: ${page}`, this.key));
    }
    return { taken: response };
  }

  /**
   * Whether the answer comes as one JSON document, from a server that does not stream. Lines of JSON count as such
   * documents too.
   */
  isDocument(response: Response): boolean {
    return mediaType(response).startsWith("application/json") && this.accept === "text/event-stream";
  }

  /** The bytes of an answer; undefined at its end, or if the connection broke. */
  pieces(response: Response, decoder: raw.DecoderHandle): { next(): Promise<Uint8Array | undefined> } {
    const { signal } = this.ending;
    const { firstByteMs, idleMs, stalledMs } = this.limits;
    const reader = response.body?.getReader();
    let silence = firstByteMs;
    let grown = { at: performance.now(), steps: 0 };
    const next = async (): Promise<Uint8Array | undefined> => {
      if (decoder.steps !== grown.steps) grown = { at: performance.now(), steps: decoder.steps };
      // Signs of life go on forever if the model behind them has died.
      const left = grown.at + stalledMs - performance.now();
      const [wait, told] = left < silence ? [left, stalledMs] : [silence, silence];
      silence = idleMs;
      try {
        return (await this.within(wait, async () => reader?.read(), told))?.value;
      } catch {
        // Everything that matters may have been received.
        if (signal.aborted && !(decoder.isComplete && signal.reason instanceof Silence)) throw reasonOf(signal);
        return undefined;
      }
    };
    return { next };
  }

  /** As much of a body as can be read in a short time. */
  async beginning(response: Response): Promise<string> {
    const reader = response.body?.getReader();
    const text = new TextDecoder();
    let [body, bytes] = ["", 0];
    try {
      while (reader !== undefined && bytes < BODY_BYTES) {
        const { done, value } = await this.within(this.limits.idleMs, () => reader.read());
        if (done) break;
        body += text.decode(value.subarray(0, BODY_BYTES - bytes), { stream: true });
        bytes += value.length;
      }
    } catch {
      // What was received is enough.
    }
    return body + text.decode();
  }

  /** Waits this long, or until the signal fires. */
  within<T>(ms: number, work: () => Promise<T>, told = ms): Promise<T> {
    const { signal } = this.ending;
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const silent = (): void => this.ending.abort(new Silence(this.wire.handle.silent(Math.min(told, LONGEST_MS))));
      const stopTimer = startTimer(ms, this.purpose, silent);
      const end = (): void => {
        stopTimer();
        signal.removeEventListener("abort", stop);
      };
      // The work may never end, so nothing of it may be left.
      const stop = (): void => {
        end();
        reject(signal.reason);
      };
      signal.addEventListener("abort", stop, { once: true });
      void (async () => work())().then(resolve, reject).finally(end);
    });
  }

  /** The failure of a request that has no answer. */
  notSent(url: string, error: unknown, decoder: raw.DecoderHandle): string {
    const causes = [...chain(error)];
    if (causes.some(({ code }) => HUNG_UP.includes(`${code}`))) {
      decoder.end();
      const failure = decoder.failure();
      if (failure !== undefined) return failure;
    }
    const why = causes.map(({ message, code }) => `${message || (code ?? "")}`).filter((text) => text !== "");
    // A browser does not tell a page the reason.
    const hint = causes.length === 1 && typeof location !== "undefined" ? " (the server may not allow this page: CORS)" : "";
    return this.wire.handle.unreachable(url, `${why.at(-1) ?? "fetch failed"}${hint}`, this.key);
  }
}

/** Why a connection that was silent was closed. */
class Silence {
  constructor(readonly failure: string) {}
}

function reasonOf(signal: AbortSignal): unknown {
  return signal.reason instanceof Silence ? toError(signal.reason.failure) : signal.reason;
}

/** An error, and what caused it. */
function* chain(error: unknown): Generator<{ message?: unknown; code?: unknown }> {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth += 1) yield at;
}

function mediaType(response: Response): string {
  return response.headers.get("content-type")?.toLowerCase() ?? "";
}

/** The target of a redirect, without anything in it that could be a secret. */
function redirect(response: Response, url: string): string {
  const location = response.headers.get("location");
  if (location === null) return response.status === 0 ? "a redirect" : `a redirect (${response.status})`;
  let to = location;
  try {
    to = new URL(location, url).href;
  } catch {
    // The target is shown as it is.
  }
  return `a redirect (${response.status}) to ${withoutSecrets(to)}`;
}

/**
 * After how long the provider wants to be asked again. A date is compared with the response's own date, so that a wrong
 * clock on this machine does no harm.
 */
function retryAfterMs(headers: Headers): number | undefined {
  const ms = headers.get("retry-after-ms")?.trim() ?? "";
  if (/^\d+$/.test(ms)) return Number(ms);
  const after = headers.get("retry-after")?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(after)) return Number(after) * 1000;
  const wait = Date.parse(after) - Date.parse(headers.get("date") ?? "");
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}
