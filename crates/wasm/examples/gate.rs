//! The module of the entry `headstart/gate`: only the gate. The features of the build decide what it exports.

use headstart_wasm as _;
