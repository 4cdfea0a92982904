/** The file of this entry's module, beside its code, such as `./headstart.wasm`. The build puts it in. */
declare const MODULE_FILE: string;
/** The parts of that module, if it has parts. The build puts them in. */
declare const START_FILE: string;
declare const REST_FILE: string;
/** The version of the package. The build puts it in. */
declare const VERSION: string;

/** The module in base64, packed by brotli. The build puts it in. */
declare module "#packed" {
  const packed: string;
  export default packed;
}
