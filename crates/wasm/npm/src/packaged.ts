// The declaration of `headstart/headstart.wasm` and of the other entries' modules, as bundlers import them; it has no
// code.

/** Where the module may come from: its bytes, compiled, a response, or an address. */
export type ModuleSource = BufferSource | WebAssembly.Module | Response | Promise<Response> | URL | string;

/** What your bundler makes of the file, mostly bytes or an address. Pass it to `init`. */
declare const source: ModuleSource;
export default source;
