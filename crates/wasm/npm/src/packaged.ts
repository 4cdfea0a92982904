// The declaration of `headstart/headstart.wasm` and of the other entries' modules, as bundlers import them; there is no code of it.

/** Where the module may come from: its bytes, compiled, a response, or an address. */
export type ModuleSource = BufferSource | WebAssembly.Module | Response | Promise<Response> | URL | string;

/** What your bundler makes of the file: bytes or an address, mostly. It is for `init`. */
declare const source: ModuleSource;
export default source;
