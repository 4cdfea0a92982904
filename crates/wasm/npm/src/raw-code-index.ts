// The functions of the module that `headstart/code-index` loads; the build puts it in, as it does for `#glue`.
import * as glue from "#glue-code-index";

export { glue as raw };
