//! The speculation engine: runs a prompt ahead of the user, and either hands over the finished work or leaves no trace.
//!
//! [`Engine::start`] forks a conversation and returns a [`Speculation`] (the handle), a [`Driver`] (the future that
//! does the work, for the host to spawn) and [`Events`] (what happens, for a host that shows it). The driver asks the
//! model, has the gate judge every call, runs the calls over an overlay, and asks again, until there is an [`Ending`]:
//! completed, a boundary, a limit, an error, or an abort. [`Speculation::accept`] commits all changes or none, and
//! returns what is added to the conversation; [`Speculation::abort`] drops the model's request at once.
//! [`Engine::turn`] is the same loop in the foreground: it asks the user instead of stopping, and goes on where an
//! accepted speculation stopped.
//!
//! Completed work makes a suggestion for what comes after it ([`Speculation::next`]). Nothing runs on top of work that
//! nobody has taken: that would pay off only if nine of ten guesses came true.
//!
//! When a user takes back accepted work, in an editor or with git, [`UndoWatch`] notices it, and has the words with
//! which the model is told.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use headstart_forked_query::{BackgroundModel, CacheSafeParams, ToolCall};
//! use headstart_overlay_fs::MemoryTree;
//! use headstart_providers::{Recording, Replay};
//! use headstart_speculation::{Acceptance, Consent, Engine, Host, Limits};
//! use headstart_tool_gate::{ApprovalMode, Gate, GateContext, Verdict};
//! use headstart_toolbox::Toolbox;
//!
//! /// What the engine needs to know of your program: a clock, the rules, the user.
//! struct Agent;
//!
//! #[async_trait::async_trait]
//! impl Host for Agent {
//!     fn now(&self) -> Duration { Duration::ZERO }
//!     async fn sleep(&self, _time: Duration) { std::future::pending().await }
//!     fn gate_context(&self) -> GateContext {
//!         GateContext { mode: ApprovalMode::AutoEdit, workspace: "/project".into(), ..GateContext::default() }
//!     }
//!     async fn consent(&self, _call: &ToolCall, _verdict: &Verdict) -> Consent { Consent::Decline }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let recording = Recording::parse(
//!     r#"{"turns": [
//!         {"toolCalls": [{"name": "write_file", "args": {"file_path": "hello.txt", "content": "hello\n"}}]},
//!         {"text": "There is a greeting now."}
//!     ], "suggestions": ["commit this"]}"#,
//! )?;
//! let tree = Arc::new(MemoryTree::new());
//! let engine = Engine {
//!     background: BackgroundModel::main(Arc::new(Replay::instant(recording)), "recording"),
//!     toolbox: Toolbox::standard(None),
//!     workspace: tree.clone(),
//!     gate: Arc::new(Gate::new()),
//!     host: Arc::new(Agent),
//!     limits: Limits::default(),
//! };
//! let conversation = CacheSafeParams::new(None, engine.toolbox.schemas(), &[], "recording");
//! let (speculation, driver, _events) = engine.start("s1", &conversation, "greet me")?;
//! futures::executor::block_on(driver); // or spawn it
//! assert!(tree.snapshot().is_empty(), "nothing changes before an accept");
//!
//! let Acceptance::Accepted(accepted) = futures::executor::block_on(speculation.accept())? else { panic!() };
//! assert_eq!(tree.snapshot()["hello.txt"], b"hello\n");
//! assert_eq!(accepted.next.as_deref(), Some("commit this"));
//! # Ok(())
//! # }
//! ```
//!
//! # Limitations
//!
//! A shell command sees the real tree, unless the host has views
//! ([`CommandRunner::run_in_view`](headstart_toolbox::CommandRunner)) and its rules allow them: without a view, a
//! command that may read a staged file is a boundary. Files that a command names are part of the read set; what it
//! reads below a folder is not. Calls of an answer that only read run at the same time, as far as their futures wait
//! for something: computing happens one after the other, unless the host gives it threads. Steps that build on each
//! other must be accepted in the process that ran them. The transcript in a record is trusted: whoever can write the
//! record can change what is applied.
//!
//! # Decisions that are not obvious
//!
//! - **A foreground turn remembers what it saw** (`src/known_contents.rs`). Each of its calls has its own overlay, so
//!   the turn keeps the hash of each file that it read or wrote last. A call that would replace another content is told
//!   to read the file again.
//! - **A failure that the view caused is not given to the model.** If a command asked for the network and failed,
//!   wanted more rights, wrote outside the workspace or was disturbed by its user, it becomes the pending call of a
//!   boundary, as if it had not run; the model reads nothing of it.
//! - **Events show no concurrency.** Calls that run at the same time are told as if they ran one after the other, each
//!   with its result. So a screen that prints line by line stays right, and a test can compare the events with those of
//!   a run with one call at a time.
//! - **A tool name that nobody offers** is answered with an error that the model can act on; a name that the
//!   conversation offers and the toolbox does not have is a boundary.
//! - **A check is not a call of the model** (`src/check.rs`). It runs over completed work in the work's view and stages
//!   nothing. Its output goes into the conversation only if it failed, as a message before the model's next answer. If
//!   the model's attempt to mend the failure comes to no end, even that is left out: overlay and transcript are then
//!   those of the completed work.
//! - **A sub-task is a run within the run** (`src/task.rs`), over the same overlay and under the same rules, so that
//!   nothing is allowed in it that is not allowed around it. For work ahead it is one call: if it stops at a boundary,
//!   everything that it staged is taken back, and the call is pending as if it had not run, because a turn could never
//!   have led to a conversation with half of a part done. Its calls are kept beside the transcript, so that an accept
//!   judges them.
//! - **An accept judges paths too.** Besides every call that ran, each path in the change set and the read set goes
//!   through the gate again. So a rule that was added meanwhile also counts behind links, and for a record that was
//!   tampered with.
//! - **There are two layers at most** (`src/base_view.rs`). Work ahead stands on what turns of the user have staged until
//!   that is written, and then on the workspace. A difference below (a merge, an edit in between) is handled by the
//!   ordinary rules of a commit.
//! - **Ids of calls are unique in the whole conversation**, including the part that a fork leaves out
//!   (`CacheSafeParams::call_ids`), so that an accept adds what a turn in the foreground would have added.
//! - **A circle is found in the transcript** (`src/repetition.rs`). How often a call was answered with the same is
//!   counted there, so a run that was cut and goes on counts the same as one that was not cut, and nothing has to be
//!   kept.
//! - **What a user undoes outside the conversation is told to the model, and history is not changed.** History that was
//!   sent must stay as it is, or the prefix cache is lost. `UndoWatch` is a workspace around the real one: it knows the
//!   content of each file before and after every commit, and checks which of them is there before a prompt and before a
//!   question for a suggestion. What is back is told in words before the user's, in their message, and also before a
//!   prompt that runs ahead; work that was told something else than what is true at its accept runs anew. Every front
//!   end gets this from `agent`. An edit of the user's own is not news, and neither is something that was undone and
//!   redone in between.

mod accept;
mod approval;
mod base_view;
mod call_state;
mod check;
mod clock;
mod driver;
mod engine;
mod event;
mod executor;
mod failed_command;
mod host;
mod job;
mod known_contents;
mod left_out;
mod limits;
mod lock;
mod next_suggestion;
mod outcome;
mod repeated_words;
mod repetition;
mod run_calls;
mod shadow;
mod speculation;
mod staged;
mod start;
mod task;
mod transcript;
mod turn_loop;
mod undo_watch;
mod view_times;

pub use accept::{AcceptError, Acceptance, Accepted, ConflictResolution, StartError, accept};
pub use approval::{AcceptAnswers, ApprovalRequest};
pub use call_state::{CallInput, CallStage, CallState, CallStates, InvalidTransition, Origin};
pub use check::{Check, CheckResult, Checker};
pub use driver::Driver;
pub use engine::{Engine, Turn};
pub use event::{Event, Events};
pub use failed_command::FailedCommand;
pub use host::{AtBoundary, CallPreview, Consent, Freshness, Host, PromptOrigin, Staging};
pub use limits::{CostLimit, Limits, RequestLimit, TaskLimits};
pub use outcome::{Cost, Ending, Finished, Limit, Status};
pub use shadow::{CHANGES_REPOSITORY, NO_VIEW};
pub use speculation::Speculation;
pub use staged::{Staged, TakenBack};
pub use task::{task_declaration, task_title, task_tool};
pub use transcript::{Attachments, Transcript};
pub use undo_watch::{RestoredFile, UndoReport, UndoWatch};
