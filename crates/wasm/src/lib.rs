//! headstart for JavaScript: what the npm package in `npm/` calls.
//!
//! The boundary is narrow on purpose: JSON texts, bytes and handles cross it, a verdict as a text that is read faster than
//! JSON, and a failure as a JSON text `{"code", "message", "path"?}`. What a JavaScript developer sees (classes, async
//! iterables, signals, errors, types) is written in TypeScript, in `npm/src`.

#![allow(unreachable_pub, reason = "wasm-bindgen exports public items only")]

mod failure;
mod input;
mod panic;
mod words;

// What JavaScript gives, field by field.
#[cfg(feature = "engine")]
mod fields;

// Verdicts.
#[cfg(feature = "gate")]
mod gate;
#[cfg(feature = "gate")]
mod packed;
#[cfg(any(feature = "gate", feature = "code-index"))]
mod rules;

// The host's tree.
#[cfg(any(feature = "engine", feature = "code-index"))]
mod errors;
#[cfg(any(feature = "engine", feature = "code-index"))]
mod paths;
#[cfg(any(feature = "engine", feature = "code-index"))]
mod promise;
#[cfg(any(feature = "engine", feature = "code-index"))]
mod tree_port;

// Search.
#[cfg(feature = "code-index")]
mod code_index;

// What runs ahead.
#[cfg(feature = "engine")]
mod agent;
#[cfg(feature = "engine")]
mod beside;
#[cfg(feature = "engine")]
mod cancel;
#[cfg(feature = "engine")]
mod change_set;
#[cfg(feature = "engine")]
mod clock;
#[cfg(feature = "engine")]
mod engine;
#[cfg(feature = "engine")]
mod events;
#[cfg(feature = "engine")]
mod exchange;
#[cfg(feature = "engine")]
mod history;
#[cfg(feature = "engine")]
mod host;
#[cfg(feature = "engine")]
mod mention;
#[cfg(feature = "engine")]
mod model;
#[cfg(feature = "engine")]
mod options;
#[cfg(feature = "engine")]
mod overlay;
#[cfg(feature = "engine")]
mod port;
#[cfg(feature = "engine")]
mod recorded;
#[cfg(feature = "engine")]
mod speculation;
#[cfg(feature = "engine")]
mod system;
#[cfg(feature = "engine")]
mod tool_rules;
#[cfg(feature = "engine")]
mod tools;
#[cfg(feature = "engine")]
mod tree;
#[cfg(feature = "engine")]
mod turn;
#[cfg(feature = "engine")]
mod undone;
#[cfg(feature = "engine")]
mod wire;
