// Calls into the module: values go in as JSON, and what it throws comes out as an error of this package.
import { HeadstartError, InputError, messageOf, toError } from "./errors.js";
import { raw } from "./raw.js";
import { setAwaited } from "./timers.js";

/** The JSON of an argument. */
export function toJson(name: string, value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new InputError(`${name}: cannot be written as JSON: ${messageOf(cause)}`, name, { cause });
  }
  if (text === undefined) throw new InputError(`${name}: is missing`, name);
  // Half a character is replaced. A line holds one while it is being typed, but outside JavaScript no text can.
  return /\\ud[89a-f]/.test(text) ? text.replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, "$1\ufffd") : text;
}

/** Runs a call into the module. */
export function call<T>(work: () => T): T {
  try {
    watch();
    return work();
  } catch (thrown) {
    throw explained(thrown);
  }
}

/** Runs a call into the module whose answer comes later. */
export function calling<T>(work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    waiting.add(reject);
    setAwaited(true);
    const forget = () => {
      waiting.delete(reject);
      setAwaited(waiting.size > 0);
    };
    try {
      watch();
      work().then(
        (answer) => (forget(), resolve(answer)),
        (thrown: unknown) => (forget(), reject(explained(thrown))),
      );
    } catch (thrown) {
      forget();
      reject(explained(thrown));
    }
  });
}

/** The calls that wait for the module; after a panic nothing else would answer them. */
const waiting = new Set<(error: HeadstartError) => void>();

let watching = false;

function watch(): void {
  if (watching) return;
  raw.onPanic(panicked);
  watching = true;
}

function panicked(message: string): void {
  panic = new HeadstartError("internal", `internal error, please report it: ${message}`);
  for (const reject of waiting) reject(panic);
  waiting.clear();
  setAwaited(false);
}

/** What the module said before its last trap; the trap itself has no message. */
let panic: HeadstartError | undefined;

function explained(thrown: unknown): HeadstartError {
  return thrown instanceof WebAssembly.RuntimeError && panic !== undefined ? panic : toError(thrown);
}
