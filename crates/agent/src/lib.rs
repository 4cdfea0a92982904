//! The conversation of a coding agent as a front end shows it: turns, the queue, questions, suggestions, work ahead,
//! undo notices and the cost of all of it, implemented once for every front end.
//!
//! [`agent`] returns three things. The [`AgentHandle`] is for what the user does: sending a prompt, editing the line,
//! taking a suggestion, answering a question, interrupting. Each of its methods returns at once. The [`Driver`] is one
//! future that does what follows from it: it runs turns and work ahead, asks for suggestions and accepts work.
//! [`Updates`] is a stream of what has changed, for a front end that draws; [`AgentHandle::view`] is everything that
//! there is to draw. The program around it provides an [`Engine`](headstart_speculation::Engine), whose host has the
//! clock and the rules, and two ports: a [`Runtime`] and a [`LedgerStore`]. If conversations are to be continued later,
//! it also provides a [`SessionStore`].
//!
//! With the feature `native`, the module `native` has all of that for a folder of this machine, in ten lines:
//! `examples/ahead.rs` is the smallest use of it, `examples/chat.rs` an agent for a terminal. Without the feature:
//!
//! ```
//! use futures::executor::LocalPool;
//! use futures::task::LocalSpawnExt;
//! use headstart_agent::{AgentOptions, Item, Ports, agent};
//!
//! # use std::{sync::Arc, time::Duration};
//! # use async_trait::async_trait;
//! # use headstart_agent::{Matching, NoLedger, Runtime};
//! # use headstart_budget::{EntryBuilder, Metering, ledger::Source, policy::{Habits, Policy, Tariff}};
//! # use headstart_forked_query::{BackgroundModel, EventStream, FinishReason, Model, ModelError, ModelEvent, ModelRequest};
//! # use headstart_overlay_fs::MemoryTree;
//! # use headstart_speculation::{Engine, Host, Limits};
//! # use headstart_tool_gate::{Gate, GateContext};
//! # use headstart_toolbox::Toolbox;
//! # struct Echo;
//! # #[async_trait]
//! # impl Model for Echo {
//! #     async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
//! #         let said = format!("The conversation has {} messages.", request.messages.len());
//! #         Ok(Box::pin(futures::stream::iter([Ok(ModelEvent::Text(said)), Ok(ModelEvent::Finished(FinishReason::Stop))])))
//! #     }
//! # }
//! # struct Here;
//! # #[async_trait]
//! # impl Host for Here {
//! #     fn now(&self) -> Duration { Duration::ZERO }
//! #     async fn sleep(&self, _: Duration) { futures::future::pending().await }
//! #     fn gate_context(&self) -> GateContext { GateContext { workspace: "/project".into(), ..GateContext::default() } }
//! #     async fn consent(&self, _: &headstart_forked_query::ToolCall, _: &headstart_tool_gate::Verdict) -> headstart_speculation::Consent {
//! #         headstart_speculation::Consent::Stop
//! #     }
//! # }
//! # impl Runtime for Here { fn unix_ms(&self) -> u64 { 0 } }
//! # let model: Arc<dyn Model> = Arc::new(Echo);
//! # let ports = Ports {
//! #     engine: Engine {
//! #         background: BackgroundModel::main(Arc::clone(&model), "echo"),
//! #         toolbox: Toolbox::standard(None),
//! #         workspace: Arc::new(MemoryTree::new()),
//! #         gate: Arc::new(Gate::new()),
//! #         host: Arc::new(Here),
//! #         limits: Limits::default(),
//! #     },
//! #     model,
//! #     runtime: Arc::new(Here),
//! #     ledger: Arc::new(NoLedger),
//! #     session: None,
//! # };
//! # let entries = EntryBuilder::new(Source::Chat, Tariff::new("echo", Default::default()));
//! # let options = AgentOptions {
//! #     system: "Be brief.".into(),
//! #     model: "echo".into(),
//! #     restore: None,
//! #     window: None,
//! #     metering: Metering::new(entries, Policy::default(), Habits::default(), &[]),
//! #     suggestions: true,
//! #     speculation: true,
//! #     candidates: 1,
//! #     matching: Matching::default(),
//! #     titles: true,
//! #     attended: true,
//! #     after_decline: headstart_agent::AfterDecline::Continue,
//! #     events: false,
//! #     id: "a".into(),
//! # };
//! // An engine, a model, a runtime and a ledger; a system text, the costs so far, and some switches.
//! let (agent, driver, _updates) = agent(options, ports);
//! let mut pool = LocalPool::new();
//! pool.spawner().spawn_local(driver.run()).unwrap();
//!
//! agent.submit("what is this?").unwrap();
//! pool.run_until(agent.idle());
//! let said = agent.view().items.iter().find_map(|item| match &**item {
//!     Item::Answer { text } => Some(text.clone()),
//!     _ => None,
//! });
//! assert_eq!(said.as_deref(), Some("The conversation has 1 messages."));
//! // From the second answer on, `view().suggestion` has the next prompt, and `agent.take(..)` takes the work that ran
//! // ahead for it.
//! pool.run_until(agent.close());
//! ```

mod conversation;
mod core;
mod driver;
mod handle;
mod item;
mod json;
mod lock;
mod log;
#[cfg(feature = "native")]
pub mod native;
mod options;
mod ports;
mod session;
mod session_rules;
mod view;
mod work;

pub use conversation::Conversation;
pub use core::{Extension, MatchedWork, Turn, UndoneBefore, WindowUse};
pub use driver::Driver;
pub use handle::{AgentHandle, Updates, agent};
pub use headstart_context::Window;
pub use item::{
    AppliedPlace, AppliedWork, CallItem, Compaction, Item, JudgedCall, NoSuggestion, NotAppliedReason,
};
pub use log::ItemChange;
pub use options::{AfterDecline, AgentOptions, Matching, ModelSettings, Ports};
pub use ports::{LedgerStore, NoLedger, Runtime, SessionStore, StoreError};
pub use session::{Session, SessionError};
pub use view::{
    ActionError, Draft, EditKind, GuessView, Phase, Question, QuestionId, ShownSuggestion, Subject,
    Submission, TurnEvent, Update, UserAnswer, View, WorkAheadView,
};
pub use work::WorkProgress;
