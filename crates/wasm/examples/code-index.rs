//! The module of the entry `headstart/code-index`: search over a project's files. The features of the build decide what
//! it exports.

use headstart_wasm as _;
