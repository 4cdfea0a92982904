import { call, toJson } from "./call.js";
import { DisposedError, InputError, toError } from "./errors.js";
import { type Fields, optional, options as checked, required } from "./options.js";
import { raw } from "./raw.js";
import type { EncodedRequest, ModelEvent, ModelRequest, WireOptions } from "./types.js";
import { baseUrl as plainUrl, requestUrl } from "./wire-url.js";

export const WIRE: Fields<WireOptions> = { provider: "string", baseUrl: "string" };

/** A provider's wire format: encoders and decoders, no IO. */
export class Wire implements Disposable {
  #handle: raw.WireHandle | undefined;
  readonly #base: string;

  constructor(options: WireOptions) {
    const { provider, baseUrl } = checked("", options, WIRE);
    required("provider", provider, "string");
    const given = baseUrl ?? undefined;
    const handle = call(() => new raw.WireHandle(provider, given));
    try {
      const { baseUrl: address, endings } = JSON.parse(handle.describe()) as { baseUrl: string; endings: string[] };
      this.#base = plainUrl(address, endings);
      // Messages show the address that was checked.
      this.#handle = handle.at(given === undefined ? address : this.#base);
    } catch (error) {
      throw toError(handle.misconfigured((error as Error).message));
    } finally {
      handle.free();
    }
  }

  /** Everything that `fetch` needs. Without `key` no header has one; white space around the key is not part of it. */
  encode(request: ModelRequest, key?: string): EncodedRequest {
    return this.encodeBy(this.#get(), request, key);
  }

  /** @internal The request as a handle of this wire encodes it; the handle knows what the server refused. */
  encodeBy(handle: raw.WireHandle, request: ModelRequest, key?: string): EncodedRequest {
    if (request?.model === "") {
      throw new InputError("request.model: is empty; set it to the provider's name of the model (of an Engine: `modelName`)", "request.model");
    }
    const { path, query, headers, keyHeader, body } = JSON.parse(call(() => handle.encode(toJson("request", request)))) as Encoded;
    const all = Object.fromEntries(headers);
    const sent = keyText(key);
    if (sent !== "") {
      if (!/^[\x20-\x7e\t]*$/.test(sent)) {
        throw toError(handle.misconfigured("the key holds characters that no key has; check the option `key`"));
      }
      all[keyHeader[0]] = keyHeader[1] + sent;
    }
    return { url: requestUrl(this.#base, path, query), method: "POST", headers: all, body };
  }

  /** A decoder for the answer to this request: its calls get ids that no call in the request has. */
  decoder(request: ModelRequest): Decoder {
    return Decoder.of(this.open(request, ""));
  }

  /** @internal A decoder whose errors do not show the key. */
  open(request: ModelRequest, key: string): raw.DecoderHandle {
    return call(() => this.#get().decoder(toJson("request", request), key));
  }

  /** @internal */
  get handle(): raw.WireHandle {
    return this.#get();
  }

  /** Frees its memory. */
  dispose(): void {
    this.#handle?.free();
    this.#handle = undefined;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #get(): raw.WireHandle {
    if (this.#handle === undefined) throw new DisposedError("disposed", "the wire format was disposed of");
    return this.#handle;
  }
}

/** A key in the form in which it is sent. */
export function keyText(key: unknown): string {
  return (optional("key", key, "string") as string | undefined)?.trim() ?? "";
}

/**
 * Turns the bytes of an answer into its events. Pass the bytes in pieces of any size, then call `end()`. After an
 * error, and after the answer is complete, nothing more comes.
 */
export class Decoder implements Disposable {
  #handle: raw.DecoderHandle | undefined;

  private constructor(handle: raw.DecoderHandle) {
    this.#handle = handle;
  }

  /** @internal */
  static of(handle: raw.DecoderHandle): Decoder {
    return new Decoder(handle);
  }

  /** The events in the next bytes. If something goes wrong after them, the next call throws it. */
  push(bytes: Uint8Array): ModelEvent[] {
    if (!(bytes instanceof Uint8Array)) throw new InputError("bytes: must be a Uint8Array", "bytes");
    return this.#events((handle) => handle.push(bytes)).events;
  }

  /** To be called after the last byte; throws a `ModelError` with the code `cut` if the answer is incomplete. */
  end(): ModelEvent[] {
    const { events, handle } = this.#events((handle) => handle.end());
    throwFailure(handle);
    return events;
  }

  /** Frees its memory. */
  dispose(): void {
    this.#handle?.free();
    this.#handle = undefined;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #events(next: (handle: raw.DecoderHandle) => string): { events: ModelEvent[]; handle: raw.DecoderHandle } {
    const handle = this.#handle;
    if (handle === undefined) throw new DisposedError("disposed", "the decoder was disposed of");
    throwFailure(handle);
    const events = JSON.parse(call(() => next(handle))) as ModelEvent[];
    if (events.length === 0) throwFailure(handle);
    return { events, handle };
  }
}

function throwFailure(handle: raw.DecoderHandle): void {
  const failure = handle.failure();
  if (failure !== undefined) throw toError(failure);
}

interface Encoded {
  path: string;
  query: string | null;
  headers: [string, string][];
  keyHeader: [name: string, before: string];
  body: string;
}
