//! The speculation engine: runs a prompt ahead of the user, and hands the finished work over or leaves no trace.
//!
//! [`Engine::start`] forks a conversation and gives a [`Speculation`] (the handle), a [`Driver`] (the future that does the
//! work, for the host to spawn) and [`Events`] (what happens, for whoever shows it). The driver asks the model, has the gate
//! judge every call, runs it over an overlay, and asks again, until there is an [`Ending`]: completed, a boundary, a
//! limit, an error, or an abort. [`Speculation::accept`] commits all changes or none, and gives what is added to the
//! conversation; [`Speculation::abort`] drops the model's request at once. [`Engine::turn`] is the same loop in the
//! foreground: it asks the user instead of stopping, and goes on where an accepted speculation stopped.
//!
//! Completed work makes a suggestion for what comes after it. With [`Limits::depth`] that one runs ahead, too, on top of the
//! work below ([`Speculation::above`]): an accept of the lower step leaves the upper one ready, an abort takes it along.
//!
//! When a user takes accepted work back, in an editor or with git, [`UndoWatch`] notices, and has the words for the model.
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
//! A shell command sees the real tree, unless the host has views ([`CommandRunner::run_in_view`](headstart_toolbox::CommandRunner)) and its
//! rules say so: without one, a command that may read a staged file is a boundary. Files that it names are part of the
//! read set; what it reads below a folder is not. Calls of an answer that only read
//! run at the same time, as far as their futures wait for something: what computes runs one after the other unless the host
//! gives it threads. Steps that stand on each other are accepted in the process that ran them. Work that a record holds is
//! trusted as far as its transcript goes: whoever can write the record can change what is applied.

mod above;
mod accept;
mod answers;
mod call_state;
mod calls;
mod check;
mod clock;
mod driver;
mod engine;
mod event;
mod footing;
mod host;
mod limits;
mod outcome;
mod permit;
mod pipeline;
mod repeated;
mod run;
mod seen;
mod shadow;
mod speculation;
mod task;
mod transcript;
mod undone;
mod viewed;
mod work;

pub use accept::{AcceptError, Acceptance, Accepted, Kept, StartError, accept};
pub use answers::{Answers, AsksFirst};
pub use call_state::{CallInput, CallStage, CallState, CallStates, Origin, Stale};
pub use check::{Check, Checked};
pub use driver::Driver;
pub use engine::{Engine, Turn};
pub use event::{Event, Events};
pub use host::{AtBoundary, Beside, Consent, Freshness, Host, Prepared, PromptOf, Step, StepAbove};
pub use limits::{CostLimit, Limits, RequestLimit, TaskLimits};
pub use outcome::{Cost, Ending, Finished, Limit, Status};
pub use speculation::Speculation;
pub use task::{task_declaration, task_title, task_tool};
pub use transcript::Transcript;
pub use undone::{News, Restored, UndoWatch};

/// The examples in the README, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
