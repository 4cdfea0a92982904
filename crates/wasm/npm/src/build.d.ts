/** The module of this entry, beside its code, such as `./headstart.wasm`. The build puts it in. */
declare const MODULE_FILE: string;
/** The version of the package. The build puts it in. */
declare const VERSION: string;
