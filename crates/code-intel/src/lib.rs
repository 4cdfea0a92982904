//! Code intelligence over staged files: language servers see work that nobody has accepted yet, and answer questions about it.
//!
//! A server runs in a *language view*, a place that shows the project at its own path with staged files in it. [`Spawn`] makes
//! views; the crate knows nothing of how. [`CodeIntel`] is the handle to all servers, and gives a future that drives
//! them. Each question comes with a [`Snapshot`], the change set that it is about: one server answers for many speculations,
//! one question after the other, and between two of them its view and its open documents are moved from one state to the
//! other. [`CodeIntel::diagnostics`] compares with the workspace on disk, so an answer holds what an edit broke and what it
//! mended. Renames and code actions are an [`EditPlan`], which is staged in an overlay in one step or not at all; a
//! server's own commands are never executed.
//!
//! The pure half needs no server: [`compare`] tells what is new and gone, [`CheckFormat`] reads what compilers and linters
//! print, [`Lines`] converts positions.
//!
//! ```
//! use headstart_code_intel::{CheckFormat, FileEdit, compare};
//! use headstart_workspace_path::WorkspacePath;
//!
//! let root = WorkspacePath::root();
//! let read = |output| CheckFormat::Tsc.read(output, "", "/home/ada/project", &root);
//! let before = read("a.ts(1,5): error TS2304: Cannot find name 'x'.\n")?;
//! let after = read("a.ts(2,5): error TS2304: Cannot find name 'x'.\na.ts(1,1): error TS2304: Cannot find name 'y'.\n")?;
//!
//! let path = WorkspacePath::parse("a.ts")?;
//! let edit = FileEdit { old_path: &path, new_path: Some(&path), old: "let x;\n", new: "y;\nlet x;\n" };
//! let delta = compare(&before, &after, &[edit]);
//! assert_eq!(delta.new[0].line_for_model(), "a.ts:1:1: error TS2304: Cannot find name 'y'.");
//! assert_eq!((delta.new_count, delta.old_count), (1, 1)); // the other one only moved
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limitations
//!
//! - Names of files are UTF-8; a file of more than 4 MiB, or that is no text, is not opened.
//! - Of the unchanged tree, diagnostics are known for the files that were touched or asked about (the last 24 of both), and for
//!   those that a server publishes by itself. An error in another file that only an open document would show is not found.
//! - Places and renames rest on files that are not in the read set of the speculation; only the one that was asked about is.
//! - A server that neither numbers its diagnostics nor can be asked for them has settled when it falls silent: 300 ms after its
//!   last word, a second where it says nothing of a text. Under heavy load that may be too early.
//! - What the user changes on disk is told by [`CodeIntel::files_changed`]; nobody watches here.
//! - A rename or a code action may leave out what a server does by a command of its own.
//!
//! # Features
//!
//! - `servers` (on by default): all but the pure half.
//! - `tools`: the tools for a model, declared as those of the toolbox are.
//!
//! # Decisions that are not obvious
//!
//! - **One language server serves all speculations** (`src/servers/server.rs`), moved from one state to the next between two questions, because
//!   a server takes seconds and hundreds of megabytes to start. It gets a state twice, as files in its view and as open documents: several
//!   servers do not find a new file that only an open document holds. What it says of the unchanged tree is asked for in the same way, so that
//!   old errors are never told as new.

mod check;
mod delta;
mod diagnostic;
mod frame;
mod position;
#[cfg(feature = "servers")]
mod servers;
#[cfg(feature = "servers")]
mod symbol;
#[cfg(feature = "tools")]
mod tools;
mod uri;

pub use check::{CheckError, CheckFormat};
pub use delta::{Delta, FileEdit, SHOWN, compare};
pub use diagnostic::{Diagnostic, Severity};
pub use frame::{Decoder, FrameError, encode};
pub use position::{Lines, Position, PositionEncoding};
#[cfg(feature = "servers")]
pub use servers::*;
#[cfg(feature = "servers")]
pub use symbol::SymbolError;
#[cfg(feature = "tools")]
pub use tools::{AfterEdit, declarations, told_after_edit, tools};
pub use uri::{Target, target_of, uri_of};
