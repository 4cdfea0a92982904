/** `code` is stable; `message` is for people and says what to do. */
export class HeadstartError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
export class InputError extends HeadstartError {
  readonly path?: string;
  constructor(message: string, path?: string) {
    super("invalid_input", message);
    if (path !== undefined) this.path = path;
  }
}
export class TreeError extends HeadstartError {
  readonly path?: string;
  constructor(code: string, message: string, path?: string) {
    super(code, message);
    if (path !== undefined) this.path = path;
  }
}
export class DisposedError extends HeadstartError {}
export class ModelError extends HeadstartError {
  readonly retryAfterMs?: number;
  constructor(code: string, message: string, retryAfterMs?: number) {
    super(code, message);
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
  }
}
export function toError(failure: unknown): unknown {
  if (typeof failure !== "string") return failure;
  const { code, message, path, retryAfterMs } = JSON.parse(failure);
  if (code === "invalid_input") return new InputError(message, path);
  if (["misconfigured","unauthorized","rate_limited","rejected","server","unreachable","timeout","cut","malformed","wrong_server"].includes(code)) return new ModelError(code, message, retryAfterMs);
  return new TreeError(code, message, path);
}
