//! The module of the entry `headstart/controller`: the controller and the filter alone. What it exports follows from the features that it is built with.

use headstart_wasm as _;
