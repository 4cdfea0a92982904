import * as glue from "#glue";
import { ADVICE, atFirstUse, open, packaged } from "#platform";
import { HeadstartError } from "./errors.js";
import type { ModuleSource } from "./packaged.js";

export type { ModuleSource };

/** The version of this package. */
export const version: string = VERSION;

/** What wasm-bindgen's code for bundlers has beside the functions of the module. */
const { __wbg_set_wasm: setExports } = glue as unknown as { __wbg_set_wasm(exports: object): void };

let exported: WebAssembly.Exports | undefined;
let loading: Promise<void> | undefined;

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
  const instance = await instantiate(found);
  // Somebody may have called `initSync` meanwhile.
  if (!exported) start(instance);
}

async function instantiate(source: BufferSource | WebAssembly.Module | Response): Promise<WebAssembly.Instance> {
  if (source instanceof WebAssembly.Module) return WebAssembly.instantiate(source, imports);
  if (!(typeof Response === "function" && source instanceof Response)) {
    return (await WebAssembly.instantiate(source as BufferSource, imports)).instance;
  }
  if (!source.ok) throw new Error(`${source.url} answered ${source.status}`);
  // Servers that do not know the type are common; streaming insists on it.
  const streams = source.headers.get("content-type")?.startsWith("application/wasm");
  const { instance } = streams
    ? await WebAssembly.instantiateStreaming(source, imports)
    : await WebAssembly.instantiate(await source.arrayBuffer(), imports);
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

// Until the module is there, whatever reaches for its exports gets here.
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
