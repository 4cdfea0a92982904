// The functions of the module. `#glue` is what wasm-bindgen wrote for the module that this entry loads; the build puts it in.
import * as glue from "#glue";

export { glue as raw };
