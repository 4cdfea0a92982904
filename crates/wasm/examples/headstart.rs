//! The module of the entry `headstart`: all there is. What it exports follows from the features that it is built with.

use headstart_wasm as _;
