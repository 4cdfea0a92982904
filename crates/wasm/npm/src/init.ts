import * as glue from "#glue";
import { ADVICE, atFirstUse, later, open, packaged } from "#platform";
import { HeadstartError } from "./errors.js";
import type { ModuleSource } from "./packaged.js";

export type { ModuleSource };

/** The version of this package. */
export const version: string = VERSION;

/** What wasm-bindgen's code for bundlers has in addition to the functions of the module. */
const { __wbg_set_wasm: setExports } = glue as unknown as { __wbg_set_wasm(exports: object): void };

let exported: WebAssembly.Exports | undefined;
let loading: Promise<void> | undefined;

/** What the running module lacks: `rest` while the rest is being fetched, or if it could not be had. */
let lacks: "nothing" | "rest" = "nothing";
let loadingRest: Promise<void> | undefined;

/**
 * Loads the module; needed before anything else, but not in Node and in bundles for it.
 *
 * It may be called often and from several places: the module is loaded once. A load that failed may be tried again.
 *
 * @param source Left out, a browser fetches the file that lies beside the package's code, which bundlers that know
 * `new URL(…, import.meta.url)` copy into their output. With another bundler pass what it makes of
 * `headstart/headstart.wasm`: bytes, a `Response`, an address or a `WebAssembly.Module`.
 * @throws {HeadstartError} `not_loaded`: the module could not be had or is no module of this package's.
 */
export function init(source?: ModuleSource): Promise<void> {
  if (exported) return rest() ?? Promise.resolve();
  // Everything is wanted, so both parts are fetched at the same time.
  const fetched = source === undefined && loading === undefined ? later?.fetched() : undefined;
  fetched?.catch(() => {});
  return begun(source).then(() => rest(fetched));
}

/**
 * Loads what a conversation begins with: a page can make an {@link Agent} and its model, and send a prompt. The rest follows by itself; the first
 * answer of a model waits for it, so for whoever uses nothing else there is nothing to do. Before anything else is used, {@link init} has to have
 * come to its end: what is asked of the rest before stops the page until that is fetched.
 *
 * Only in a browser, and only of `headstart` itself, is there a part that is smaller; elsewhere this is {@link init}.
 */
export function initToBegin(): Promise<void> {
  return begun(undefined).then(() => {
    // Code that needs the rest is told of a failure, and has it tried again.
    rest()?.catch(() => {});
  });
}

/** @internal Waits for what the module lacks; `undefined` if it lacks nothing. */
export function rest(fetched?: Promise<Response>): Promise<void> | undefined {
  if (lacks === "nothing") return undefined;
  loadingRest ??= loadRest(fetched).catch((cause: unknown) => {
    loadingRest = undefined;
    throw notLoaded(cause);
  });
  return loadingRest;
}

function begun(source: ModuleSource | undefined): Promise<void> {
  if (exported) return Promise.resolve();
  loading ??= load(source).catch((cause: unknown) => {
    loading = undefined;
    throw notLoaded(cause);
  });
  return loading;
}

/**
 * {@link init} without waiting: from bytes, or from a module that was compiled before.
 *
 * @throws {HeadstartError} `not_loaded`: these are not the bytes of this package's module.
 */
export function initSync(source: BufferSource | WebAssembly.Module): void {
  if (exported) return;
  startNow(source);
}

const imports: WebAssembly.Imports = { "./glue_bg.js": glue as unknown as WebAssembly.ModuleImports };

async function load(source: ModuleSource | undefined): Promise<void> {
  const given = await (source ?? packaged());
  const found = typeof given === "string" || given instanceof URL ? await open(given) : given;
  const instance = await instantiate(found, imports);
  // `initSync` may have been called meanwhile.
  if (exported) return;
  if (source === undefined && later !== undefined) haveRestAskedFor(instance);
  start(instance);
}

/**
 * Passes a function to the first part, which uses it to ask for the rest. It goes into the last place of the table,
 * which takes only functions of modules.
 */
function haveRestAskedFor({ exports }: WebAssembly.Instance): void {
  lacks = "rest";
  const functions = exports["table0"] as WebAssembly.Table;
  const passedOn = new WebAssembly.Instance(new WebAssembly.Module(PASSES_ON), { a: { b: loadRestNow } });
  functions.set(functions.length - 1, passedOn.exports["c"]);
}

/** A module that exports as `c` what it imports as `a.b`: a function without arguments. */
const PASSES_ON = Uint8Array.from("\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x02\x07\x01\x01a\x01b\0\0\x07\x05\x01\x01c\0\0", (character) =>
  character.charCodeAt(0),
);

const restImports = (): WebAssembly.Imports => ({ ...imports, start: exported as WebAssembly.ModuleImports });

async function loadRest(fetched = later?.fetched()): Promise<void> {
  // If the rest was needed at once meanwhile, it is loaded twice. That does no harm, because everything in it is
  // constant.
  await instantiate(await (fetched as Promise<Response>), restImports());
  lacks = "nothing";
}

/** Loads the rest at once, for a function that needs it and cannot wait. */
function loadRestNow(): void {
  const bytes = later?.atOnce();
  if (bytes === undefined) {
    throw new HeadstartError("not_initialized", "this needs all of the module: `await init()` before anything but a conversation");
  }
  new WebAssembly.Instance(new WebAssembly.Module(bytes), restImports());
  lacks = "nothing";
}

async function instantiate(
  source: BufferSource | WebAssembly.Module | Response,
  imported: WebAssembly.Imports,
): Promise<WebAssembly.Instance> {
  if (source instanceof WebAssembly.Module) return WebAssembly.instantiate(source, imported);
  if (!(typeof Response === "function" && source instanceof Response)) {
    return (await WebAssembly.instantiate(source as BufferSource, imported)).instance;
  }
  if (!source.ok) throw new Error(`${source.url} answered ${source.status}`);
  // Servers that do not know the type are common, but streaming requires it.
  const streams = source.headers.get("content-type")?.startsWith("application/wasm");
  const { instance } = streams
    ? await WebAssembly.instantiateStreaming(source, imported)
    : await WebAssembly.instantiate(await source.arrayBuffer(), imported);
  return instance;
}

function startNow(source: BufferSource | WebAssembly.Module): WebAssembly.Exports {
  try {
    const module = source instanceof WebAssembly.Module ? source : new WebAssembly.Module(source);
    return start(new WebAssembly.Instance(module, imports));
  } catch (cause) {
    throw notLoaded(cause);
  }
}

function start({ exports }: WebAssembly.Instance): WebAssembly.Exports {
  setExports(exports);
  (exports["__wbindgen_start"] as () => void)();
  exported = exports;
  return exports;
}

function notLoaded(cause: unknown): HeadstartError {
  if (cause instanceof HeadstartError) return cause;
  const why = cause instanceof Error ? cause.message : String(cause);
  const file = `headstart/${MODULE_FILE.slice(2)}`;
  const message = `the module could not be loaded (${why}); ${ADVICE}; or pass init() what your tools make of ${file}: its bytes, an address, a WebAssembly.Module`;
  return new HeadstartError("not_loaded", message, { cause });
}

function found(): BufferSource | undefined {
  try {
    return atFirstUse();
  } catch (cause) {
    throw notLoaded(cause);
  }
}

// Until the module is there, every access to its exports ends here.
setExports(
  new Proxy(Object.create(null) as WebAssembly.Exports, {
    get(_, name: string) {
      const bytes = found();
      if (bytes === undefined) {
        throw new HeadstartError("not_initialized", "the module is not loaded yet: `await init()` before anything else");
      }
      return startNow(bytes)[name];
    },
  }),
);
