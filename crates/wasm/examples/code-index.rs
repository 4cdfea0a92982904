//! The module of the entry `headstart/code-index`: search over a project's files. What it exports follows from the features that it is built with.

use headstart_wasm as _;
