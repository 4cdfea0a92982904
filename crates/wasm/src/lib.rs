//! headstart for JavaScript: what the npm package in `npm/` calls.
//!
//! The boundary is narrow on purpose. Only these cross it: JSON texts, bytes and handles, a verdict as a text that is
//! read faster than JSON, and a failure as a JSON text `{"code", "message", "path"?}`. What a JavaScript developer sees
//! (classes, async iterables, signals, errors, types) is written in TypeScript, in `npm/src`.
//!
//! # Decisions that are not obvious
//!
//! - **JavaScript's answers are checked where they cross.** `wasm/npm/src/tree-port.ts` checks the types of whatever a
//!   tree of the host returns, `src/tree_port.rs` checks the names; a change set from outside passes `checkChangeSet`.
//!   Of a change set JavaScript only holds the JSON text, so nothing has to be freed.
//! - **Callbacks of JavaScript never throw into the module.** `wasm/npm/src/host.ts` and `answers.ts` stand between: an
//!   error becomes the JSON of a failure, and a promise also settles when its answer is not wanted any more, because a
//!   promise that never settles would keep memory. Handles take `&self`, promises for the results of work hold what
//!   they need, and nothing is borrowed while something is awaited. So a callback may call back, abort and dispose
//!   (`src/cancel.rs`).
//! - **An entry of the npm package is a list of exports and a module.** `wasm/npm/src/{index,core,gate,code-index}.ts`
//!   are the lists; the modules are the examples of `crates/wasm`, which differ only in their features. What a feature
//!   leaves out must be in a separate module of the crate.
//! - **A page fetches the module of `headstart` in two parts** (`wasm/npm/parts`), which are cut after linking. The
//!   first has what runs until a conversation has its first answer, which is found by beginning some; the second has
//!   the rest, with everything that reads shell commands. Both share one memory and one table, so no verdict crosses as
//!   JSON and nothing is in both. The part in which a function is decides when it can run, but never what it does: if a
//!   function of the rest is called before that part is there, the part is loaded at once, or the call throws. The
//!   build fails if a function of the first part reads data of the grammar. Node, and programs that pass in the bytes,
//!   load one piece.
//! - **The controller and its filter are written twice**, in Rust and, for the npm package, in TypeScript
//!   (`wasm/npm/src/followup`), because a page that only wants a suggestion in a field should load no module. The data
//!   is written once: `followup-state/tables.json`, which a test compares with the Rust lists. The logic is held
//!   together by one set of texts and histories (`followup-state/tests/shared`), which both run; a change of only one
//!   of them fails.
//! - **The index of a page is a separate module** (`src/code_index`) with its own memory, so that a page that does not
//!   search need not load it. What is staged crosses as the JSON of a change set, and the reads of a tool go back
//!   through the engine's own view, so that the work depends on what was read. The tools themselves are those of Rust;
//!   to the engine they are tools of the developer that say what they read (`Tool.reads`).
//! - **Who waits for an answer is known by its signal** (`wasm/npm/src/answers.ts`): `fetchModel` repeats a request of
//!   a speculation less often than one of a turn, and lets it give way to others. A model that wraps another passes
//!   this on with the signal.
//! - **A time limit does not keep a process alive** (`wasm/npm/src/timers.ts`), unless a caller waits for an answer of
//!   the package, because then the limit may be the only thing that ends that wait. A timer that stands for work keeps
//!   the process alive, as a connection would.
//! - **A speculation that JavaScript forgets is given up**; a turn, which the user began, is not.

#![allow(unreachable_pub, reason = "wasm-bindgen exports public items only")]

mod failure;
mod input;
mod panic;
mod serde_messages;

// Reads what JavaScript gives, field by field.
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

// Everything that runs ahead.
#[cfg(feature = "engine")]
mod agent;
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
mod prompt_attachments;
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
mod views;
#[cfg(feature = "engine")]
mod wire;
