//! The module of the entry `headstart/gate`: the gate alone. What it exports follows from the features that it is built with.

use headstart_wasm as _;
