//! Code intelligence over staged files: language servers see work that is not accepted yet, and answer questions
//! about it.
//!
//! A server runs in a *language view*, which shows the project at its own path with staged files in it.
//! [`LanguageHost`] makes views; the crate does not know how. [`CodeIntel`] is the handle to all servers, and comes
//! with a future that drives them. Each question comes with a [`Snapshot`], the change set that it is about: one server
//! answers for many speculations, one question after the other, and between two of them its view and its open documents
//! are changed from one state to the other. [`CodeIntel::diagnostics`] compares with the workspace on disk, so an
//! answer says what an edit broke and what it fixed. Renames and code actions are an [`EditPlan`], which is staged in
//! an overlay in one step or not at all; a server's own commands are never executed.
//!
//! The pure half needs no server: [`compare`] finds what is new and gone, [`CheckFormat`] reads what compilers and
//! linters print, [`LineIndex`] converts positions.
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
//! - Names of files are UTF-8. A file of more than 4 MiB, or one that is not text, is not opened.
//! - For the unchanged tree, diagnostics are known for the files that were touched or asked about (the last 24 of
//!   both), and for those that a server publishes by itself. An error in another file that would only show once that
//!   file is open is not found.
//! - Places and renames depend on files that are not in the read set of the speculation; only the file that was asked
//!   about is.
//! - A server that neither numbers its diagnostics nor can be asked for them counts as finished when it is silent:
//!   300 ms after its last message, a second if it publishes nothing about a text. Under heavy load that may be too
//!   early.
//! - Changes by the user on disk have to be reported with [`CodeIntel::files_changed`], because this crate watches no
//!   files.
//! - A rename or a code action may lack what a server does through a command of its own.
//!
//! # Features
//!
//! - `servers` (on by default): everything except the pure half.
//! - `tools`: the tools for a model, declared as those of the toolbox are.
//!
//! # Decisions that are not obvious
//!
//! - **One language server serves all speculations** (`src/servers/server.rs`), and is changed from one state to the
//!   next between two questions, because a server takes seconds and hundreds of megabytes to start. It gets a state
//!   twice, as files in its view and as open documents, because several servers do not find a new file that only an
//!   open document contains. The diagnostics of the unchanged tree are obtained in the same way, so that old errors
//!   are never reported as new.

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
pub use frame::{FrameDecoder, FrameError, encode};
pub use position::{LineIndex, Position, PositionEncoding};
#[cfg(feature = "servers")]
pub use servers::*;
#[cfg(feature = "servers")]
pub use symbol::SymbolError;
#[cfg(feature = "tools")]
pub use tools::{EditDiagnostics, declarations, edit_diagnostics_summary, tools};
pub use uri::{UriTarget, target_of, uri_of};
