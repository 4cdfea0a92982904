// Every error of the package. `code` is stable; `message` is for people and says what to do.

/**
 * Any error of this package. Its own codes are `not_initialized` (call `init` first), `not_loaded` (the module could not be had) and
 * `internal` (a mistake in this package; please report it).
 */
export class HeadstartError extends Error {
  /** Stable, for programs. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  override get name(): string {
    return "HeadstartError";
  }
}

/** An argument that is not what it must be; code `invalid_input`. */
export class InputError extends HeadstartError {
  /** Which field, as `turns[0].text`. */
  readonly path?: string;

  constructor(message: string, path?: string, options?: ErrorOptions) {
    super("invalid_input", message, options);
    if (path !== undefined) this.path = path;
  }

  override get name(): string {
    return "InputError";
  }
}

/** An argument of the wrong type. */
export function mistyped(path: string, expected: string, value: unknown): InputError {
  return new InputError(`${path}: must be ${expected}, and is ${shown(value)}`, path);
}

/** A value in a few words. */
export function shown(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}`;
  return typeof value === "string" ? JSON.stringify(value.slice(0, 60)) : String(value);
}

/**
 * A file that cannot be read or written. Codes: `not_found`, `not_a_directory`, `is_a_directory`, `already_exists`,
 * `escapes` (a link leads out of the workspace), `unsupported`, `quota`, `io`. If a tree of yours threw something, that
 * is the `cause` of an `io` or `unsupported`.
 */
export class TreeError extends HeadstartError {
  /** The path of the file. */
  readonly path?: string;

  constructor(code: string, message: string, path?: string, options?: ErrorOptions) {
    super(code, message, options);
    if (path !== undefined) this.path = path;
  }

  override get name(): string {
    return "TreeError";
  }
}

/**
 * A model that gives no (whole) answer. Codes: `misconfigured`, `unauthorized`, `rate_limited`, `rejected`, `window_exceeded`, `tools_refused`, `server`, `unreachable`,
 * `timeout`, `cut`, `malformed`, `wrong_server`, `recording_exhausted`.
 */
export class ModelError extends HeadstartError {
  /** After how many milliseconds the model may be asked again, if the provider said. */
  readonly retryAfterMs?: number;
  /** The HTTP status, if the server refused with one. */
  readonly status?: number;

  constructor(code: string, message: string, retryAfterMs?: number, options?: ErrorOptions & { status?: number | undefined }) {
    super(code, message, options);
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
    if (options?.status !== undefined) this.status = options.status;
  }

  override get name(): string {
    return "ModelError";
  }
}

/**
 * Work that cannot be accepted; nothing was changed. Codes: `taken` (it was accepted before), `not_yet` (accept the step below first),
 * `damaged`.
 */
export class AcceptError extends HeadstartError {
  override get name(): string {
    return "AcceptError";
  }
}

/** A prompt that is not run ahead. Codes: `empty`, `command` (it begins with a slash, so it is for the host). */
export class StartError extends HeadstartError {
  override get name(): string {
    return "StartError";
  }
}

/** Something was used after its `dispose`; code `disposed`. */
export class DisposedError extends HeadstartError {
  override get name(): string {
    return "DisposedError";
  }
}

/** A failure as the module tells it. */
export interface Failure {
  code: string;
  message: string;
  path?: string;
  retryAfterMs?: number;
  status?: number;
}

type ToError = (failure: Failure) => HeadstartError;

const CLASSES: readonly (readonly [codes: string, toError: ToError])[] = [
  ["invalid_input", ({ message, path }) => new InputError(message, path)],
  [
    "not_found not_a_directory is_a_directory already_exists escapes unsupported quota io",
    ({ code, message, path }) => new TreeError(code, message, path, causeOf(message)),
  ],
  [
    "misconfigured unauthorized rate_limited rejected window_exceeded tools_refused server unreachable timeout cut malformed wrong_server recording_exhausted",
    ({ code, message, retryAfterMs, status }) => new ModelError(code, message, retryAfterMs, { status }),
  ],
  ["taken not_yet damaged", ({ code, message }) => new AcceptError(code, message)],
  ["empty command", ({ code, message }) => new StartError(code, message)],
  ["disposed", ({ code, message }) => new DisposedError(code, message)],
];

/** What the module threw, as an error of this package. */
export function toError(thrown: unknown): HeadstartError {
  if (thrown instanceof HeadstartError) return thrown;
  const failure = typeof thrown === "string" ? failureIn(thrown) : undefined;
  if (failure === undefined) {
    return new HeadstartError("internal", `internal error: ${messageOf(thrown)}`, { cause: thrown });
  }
  const found = CLASSES.find(([codes]) => codes.split(" ").includes(failure.code));
  return found === undefined ? new HeadstartError(failure.code, failure.message) : found[1](failure);
}

/**
 * What callbacks of trees threw last, with the words that the module is told of it. This is kept because the module
 * only gets the words of an error.
 */
const thrownLast: [words: string, thrown: unknown][] = [];

/** Remembers what was thrown, so that the error which the module makes of these words has it as its cause. */
export function keepThrown(words: string, thrown: unknown): void {
  thrownLast.unshift([words, thrown]);
  thrownLast.length = Math.min(thrownLast.length, 8);
}

function causeOf(message: string): ErrorOptions | undefined {
  const found = thrownLast.find(([words]) => message.endsWith(words));
  return found && { cause: found[1] };
}

/** What to tell the module of something that a callback threw; `code` is for errors that have no code of their own. */
export function failureOf(thrown: unknown, code: string): Failure {
  if (!(thrown instanceof HeadstartError)) return { code, message: messageOf(thrown) };
  const { path, retryAfterMs } = thrown as { path?: string; retryAfterMs?: number };
  const failure: Failure = { code: thrown.code, message: thrown.message };
  if (path !== undefined) failure.path = path;
  if (retryAfterMs !== undefined && retryAfterMs >= 0) failure.retryAfterMs = Math.ceil(Math.min(retryAfterMs, 2 ** 53 - 1));
  return failure;
}

/** The words of whatever was thrown. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return thrown.message === "" ? thrown.name : thrown.message;
    return typeof thrown === "string" ? thrown : (JSON.stringify(thrown) ?? String(thrown));
  } catch {
    return "something was thrown that cannot be shown";
  }
}

function failureIn(text: string): Failure | undefined {
  try {
    const failure = JSON.parse(text) as Failure;
    return typeof failure.code === "string" && typeof failure.message === "string" ? failure : undefined;
  } catch {
    return undefined;
  }
}
