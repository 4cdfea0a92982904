//! A conversation on this machine: what the crates' ports need of files, processes, clocks, sockets and git, the
//! settings of the user, and the state that is kept. The binary's commands, the chat and the programs that people
//! already use (editors, hooks, MCP) begin their conversations here.
//!
//! # Decisions that are not obvious
//!
//! - **Models reorder what words found, and no search waits long for them** (`code-index/src/search/fuse.rs`,
//!   `src/index/{models,remote,vectors}.rs`). The order by words and the order by vectors are joined by rank; no model
//!   is asked about a query that names a definition. Only the user's own file decides which servers are asked. English
//!   words for a question in another language (`toolbox/src/codebase/english.rs`) come from the model of background
//!   work, over a client of their own, so that no recording contains them. A call of work ahead says so
//!   (`ToolContext::attended`), and then only models on this machine are asked. For that reason the gate need not stop
//!   a search, which does not count as access to the network.
//! - **The index is kept current by a thread of this program** (`src/index/upkeep`), for which a query never waits.
//!   Only this thread writes; everything else reads snapshots. A commit names its paths to the thread before it counts
//!   as done.
//! - **Views belong to this program** (`src/views.rs`): `crates/shadow` implements `CommandRunner::run_in_view`. Each
//!   command blocks a thread of the runtime, and dropping the future ends the view through its `KillHandle`. Before each
//!   command the paths that rules close are removed from the view. They are found by a walk that also enters what git
//!   ignores, because secrets are there. A folder whose change time is the same as at the last walk is not listed again
//!   (`src/views/closed_paths.rs`), so a further command only costs one look at each folder, and not one at each name.
//! - **What one view built is not used by another** (`src/views/view_folders.rs`, `warm_layers.rs`). A tool that
//!   compares times would consider files current that were built from other contents, and a test would have a wrong
//!   result. Only what was built from the workspace on disk, in a view without staged changes, lies below all views,
//!   and each view gives files that changed on disk since then a later time.
//! - **A command that does not use git costs nothing extra** (`src/views/repository.rs`). The state of the repository
//!   at the start of a view is only read after a command wrote to git's folder, and only counts if the kernel's own
//!   times show that nothing in the repository has changed since; otherwise the command is run once more. Once work has
//!   commits, each later command of it must see them, so that even one that only reads runs in the view. Rules apply to
//!   the paths of commits (`GitChange::paths`) as they do to files, because a view does not show files with secrets, so
//!   that `git add -A` in it would remove them.
//! - **A command in the background depends on a pipe** (`src/runner/background.rs`). This program starts itself to wait
//!   for the command, in the command's process group, and kills that group when the pipe is closed. The command
//!   therefore ends however headstart ended, which neither a signal handler nor a destructor could guarantee.
//! - **A language server's view follows the disk** (`src/intel/server_views.rs`). The kernel does not define what an
//!   overlay shows of a file that was replaced below it. Before each question the workspace is therefore compared with
//!   its state at the last one, and what has changed is written into the view. An accept of changes that the server has
//!   already seen as staged is nothing new to it (`code-intel/src/servers/server.rs`), so the next edit of a turn does
//!   not wait until the server has read the same text again.

#![expect(missing_docs, reason = "made for the binary; its own documentation says what a type is for")]

pub mod accounts;
pub mod bounded_output;
pub mod checks;
pub mod clock;
pub mod config;
pub mod conflicting_commits;
pub mod context;
pub mod conversation;
pub mod declarations;
pub mod environment;
pub mod error;
pub mod exit;
pub mod file_lock;
pub mod git;
pub mod habits;
pub mod history;
pub mod host;
pub mod index;
pub mod intel;
pub mod ledger;
pub mod lines;
pub mod machine;
pub mod mentions;
pub mod model_detection;
pub mod model_spec;
pub mod models;
pub mod nearest;
pub mod output;
pub mod parts;
pub mod program;
pub mod project_models;
pub mod remote;
pub mod repository;
pub mod rules;
pub mod runner;
pub mod secrets;
pub mod sessions;
pub mod setup;
pub mod shell_words;
pub mod store;
pub mod system;
pub mod tool_rows;
#[cfg_attr(not(feature = "mcp"), path = "tool_servers/disabled.rs")]
pub mod tool_servers;
pub mod undo;
pub mod views;
pub mod watch_share;
#[cfg_attr(not(feature = "mcp"), path = "web/disabled.rs")]
pub mod web;
pub mod workspace;
