//! headstart for JavaScript: what the npm package in `npm/` calls.
//!
//! The boundary is narrow on purpose: JSON texts, bytes and handles cross it, a verdict as a text that is read faster than
//! JSON, and a failure as a JSON text `{"code", "message", "path"?}`. What a JavaScript developer sees (classes, async
//! iterables, signals, errors, types) is written in TypeScript, in `npm/src`.
//!
//! # Decisions that are not obvious
//!
//! - **JavaScript's answers are checked where they cross.** `wasm/npm/src/tree-port.ts` looks at the type of whatever a tree of the host gives,
//!   `src/tree_port.rs` at the names; a change set from outside passes `checkChangeSet`. What JavaScript holds of a change set is its JSON
//!   text, so nothing has to be freed.
//! - **Callbacks of JavaScript never throw into the module.** `wasm/npm/src/host.ts` and `answers.ts` stand between: an error becomes the JSON
//!   of a failure, and a promise settles also when its answer is not wanted any more, for a promise that never does would keep memory. Handles
//!   take `&self`, answers of work are promises that hold what they need, and nothing is borrowed while something is awaited, so a callback may
//!   call back, abort and dispose (`src/cancel.rs`).
//! - **An entry of the npm package is a list of exports and a module.** `wasm/npm/src/{index,core,gate,code-index}.ts` are the lists; the
//!   modules are the examples of `crates/wasm`, which differ in features only. What a feature leaves out has to stand in a module of the crate
//!   of its own.
//! - **A page fetches the module of `headstart` in two parts** (`wasm/npm/parts`), cut after it is linked: what runs until a conversation has its
//!   first answer, found by beginning some, and the rest, with all that reads shell commands. Both have one memory and one table, so no verdict
//!   crosses as JSON and nothing is in both. Which part has a function decides when it can run, never what it does: one of the rest that is
//!   called before that is there has it loaded at once, or throws. The build fails where a function of the first part reads data of the grammar.
//!   Node and whoever hands in bytes load one piece.
//! - **The controller and its filter are written twice**, in Rust and, for the npm package, in TypeScript (`wasm/npm/src/followup`), for a page
//!   that wants a suggestion in a field and nothing else is to load no module. What is data is written once: `followup-state/tables.json`,
//!   which a test compares with the Rust lists. What is logic is held by one set of texts and histories (`followup-state/tests/shared`), run by
//!   both; a change of either alone fails.
//! - **The index of a page is a module of its own** (`src/code_index`), with a memory of its own, so that nobody loads it who does not search.
//!   What is staged crosses as the JSON of a change set, and a tool's reads go back through the engine's own view, so that they are what the
//!   work rests on. The tools themselves are the Rust ones; to the engine they are tools of the developer's that say what they read
//!   (`Tool.reads`).
//! - **Who waits for an answer is known by its signal** (`wasm/npm/src/answers.ts`): `fetchModel` repeats a request of a speculation less often
//!   than one of a turn, and has it give way. A model that wraps another passes that on with the signal.
//! - **A limit keeps no process alive** (`wasm/npm/src/timers.ts`), unless somebody waits for an answer of the package, for then it may be all
//!   that ends that wait. A timer that stands for work does, as a connection would.
//! - **A speculation that JavaScript forgets is given up**; a turn, which the user began, is not.

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
