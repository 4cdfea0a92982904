//! The module of the entry `headstart/core`: everything except the grammar of shell commands. The features of the build
//! decide what it exports.

use headstart_wasm as _;
