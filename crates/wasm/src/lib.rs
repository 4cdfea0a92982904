//! headstart for JavaScript: what the npm package in `npm/` calls.
//!
//! The boundary is narrow on purpose: JSON texts, bytes and handles cross it, a verdict as a text that is read faster than
//! JSON, and a failure as a JSON text `{"code", "message", "path"?}`. What a JavaScript developer sees (classes, async
//! iterables, signals, errors, types) is written in TypeScript, in `npm/src`.

#![allow(unreachable_pub, reason = "wasm-bindgen exports public items only")]

mod cancel;
mod change_set;
mod clock;
mod controller;
mod engine;
mod events;
mod exchange;
mod failure;
mod filter;
mod gate;
mod history;
mod host;
mod input;
mod model;
mod options;
mod overlay;
mod packed;
mod panic;
mod port;
mod promise;
mod recorded;
mod rules;
mod speculation;
mod tools;
mod tree;
mod tree_port;
mod turn;
mod undone;
mod wire;
mod words;
