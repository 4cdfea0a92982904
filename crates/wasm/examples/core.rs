//! The module of the entry `headstart/core`: all but the grammar of shell commands. What it exports follows from the features that it is built with.

use headstart_wasm as _;
