//! The module of the entry `headstart`: everything. The features of the build decide what it exports.

use headstart_wasm as _;
