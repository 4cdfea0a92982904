//! The built-in tools of a coding agent, over a merged view of staged and real files.
//!
//! A [`Toolbox`] offers `read_file`, `grep`, `glob`, `ls`, `edit`, `write_file` and `shell` to a model and runs its
//! calls. All except the shell work on an [`Overlay`](headstart_overlay_fs::Overlay): a file that was staged a moment
//! ago is read, found and listed, one that was removed is not, and nothing real changes. An answer names paths
//! relative to the workspace; an error says which argument is wrong, or what to do next, in words for the model.
//!
//! ```
//! use std::sync::Arc;
//! use headstart_forked_query::ToolCall;
//! use headstart_overlay_fs::{MemoryTree, Overlay, Quota};
//! use headstart_tool_gate::GateContext;
//! use headstart_toolbox::{ToolLimits, ToolContext, Toolbox};
//! use serde_json::{Value, json};
//!
//! # futures::executor::block_on(async {
//! let files = MemoryTree::from_files([("src/lib.rs", "pub fn old() {}\n")])?;
//! let view = Arc::new(Overlay::new(Arc::new(files), Quota::default()));
//! let gate = GateContext { workspace: "/home/ada/project".to_owned(), ..GateContext::default() };
//! let limits = ToolLimits::default();
//! let context =
//!     ToolContext { view: &view, gate: &gate, limits: &limits, hardened: None, consented: false, attended: true };
//! let toolbox = Toolbox::standard(None);
//! let call = |name: &str, args: Value| ToolCall {
//!     id: "1".to_owned(),
//!     name: name.to_owned(),
//!     args: args.as_object().cloned().unwrap_or_default(),
//! };
//!
//! let edit = json!({"file_path": "src/lib.rs", "old_string": "old", "new_string": "new"});
//! toolbox.run(&call("edit", edit), context).await?;
//! let found = toolbox.run(&call("grep", json!({"pattern": "fn new"})), context).await?;
//! assert_eq!(found.text(), "src/lib.rs:1:pub fn new() {}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # What a path argument means
//!
//! A path is relative to the workspace, or absolute inside it. [`Declaration::path_argument`] says which argument it
//! is, so that the tool uses the path that the gate judged. Links are resolved here, and a deny rule for the real
//! path counts for every name of it. `grep` and `glob` neither enter linked folders nor `.git`, and leave out what
//! `.gitignore` files ignore, including files that are only staged; `ls` counts what they leave out. An ignored file
//! or folder is searched if it is named as the path itself.
//!
//! [`Declaration::path_argument`]: headstart_tool_gate::Declaration::path_argument
//!
//! # Text and items
//!
//! A model reads text. Anything with a name and a place besides (a file that was read, the places of a search, a
//! resource of a server) is a [`ContextItem`], which a front end can list and open. The text is a function of the
//! items ([`ToolOutput::into_text`]), so that a front end shows nothing that the model did not read, and a
//! conversation is the same whether or not anybody looks at the items.
//!
//! # Limitations
//!
//! - Whether a call may run is not decided here: the gate has to judge it first. Deny rules are the exception,
//!   because they are checked in any case.
//! - `shell` sees the real tree, not what is staged; only a command in a view ([`Toolbox::run_in_view`]) sees both.
//! - Text is UTF-8, or UTF-16 with a byte order mark. Other bytes are shown as U+FFFD and kept by `edit`; a change that
//!   would mix encodings in a file is refused.
//! - Of git's ignore rules only the `.gitignore` files count, not `.git/info/exclude` or the user's own list.
//! - A search looks at one file after the other and yields between them; it reads each whole.
//! - Every file that `grep` reads is in the overlay's read set.
//!
//! Views may be on another machine: [`exchange`] defines the messages for that.
//!
//! # Features
//!
//! - `codebase`: the tools `codebase` and `repo_map`, which [`codebase_tools`] makes over an index that the host keeps.
//! - `more`: the tools `multi_edit` and `create_file`, which [`more_tools`] gives, `view_diff` over a [`Repository`],
//!   commands that go on after their call through a [`BackgroundRunner`], and further arguments of `read_file`, `ls`
//!   and `grep`.
//! - `ripgrep`: `grep` uses ripgrep's libraries. Without it a small engine searches, for which `\w`, `\d`, `\s`, `\b`
//!   and `(?i)` cover ASCII only.
//!
//! # Decisions that are not obvious
//!
//! - **A search sees one index and one delta** (`src/codebase`, `code-index/src/delta.rs`). Whatever differs from
//!   what was indexed (staged by any step, committed a moment ago, reported from the disk) is one list of paths, read
//!   through a second overlay with the same content, so that a search adds nothing to the read set; statistics are
//!   those of the merged view. What is not in the index yet is only slower to find, never missing.
//! - **A view may be on another machine** (`src/exchange`, `machine/src/remote`, `cli/src/serve`). A request and its
//!   answer are versioned messages, transported by a program that the user's own file names. The other side is
//!   trusted as little as a command: its answer is made of what this machine has, or refused. The repository never
//!   leaves this machine, so commands that need it run here; nothing else does if the other side cannot be reached.

mod arguments;
#[cfg(feature = "codebase")]
mod codebase;
mod command;
mod content;
pub mod exchange;
mod ignore_rules;
mod items;
mod known_file;
mod limits;
mod line_search;
mod location;
#[cfg(feature = "more")]
mod more;
mod output;
mod replacement;
mod tool;
mod tool_error;
mod toolbox;
mod tools;
mod views;
mod walk;
mod wording;

pub use arguments::Arguments;
#[cfg(feature = "codebase")]
pub use codebase::{
    AvailableModels, IndexCoverage, IndexState, IndexWork, ProjectIndex, ProjectSearch, codebase_tools,
};
pub use command::{
    CommandEnvironment, CommandOutput, CommandRequest, CommandRunner, PARTIAL_OUTPUT_BYTES, PartialOutput,
    SecretAccess,
};
pub use items::{ContextItem, ItemUri, ToolOutput};
pub use known_file::KnownFile;
pub use limits::ToolLimits;
#[cfg(feature = "more")]
pub use more::{
    BackgroundOutput, BackgroundRunner, BackgroundState, CommittedFile, Repository, RepositoryStatus,
    background_tools, more_declarations, more_tools, view_diff_tool,
};
pub use tool::{EditObserver, FinalLook, Tool, ToolContext};
pub use tool_error::ToolError;
pub use toolbox::{Toolbox, ViewCallOutput, edited_file};
pub use views::{
    MemoryViews, PriorGitChanges, ScriptedRun, TestSummary, Tier, ViewCost, ViewId, ViewOutput, ViewRefusals,
    ViewRequest, ViewSupport,
};
pub use wording::Wording;
