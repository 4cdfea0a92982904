/** The module of this entry, beside its code, such as `./headstart.wasm`. The build puts it in. */
declare const MODULE_FILE: string;
/** The version of the package. The build puts it in. */
declare const VERSION: string;

/** The module in base64, packed by brotli. The build puts it in. */
declare module "#packed" {
  const packed: string;
  export default packed;
}
