//! An agent on this machine, on tokio. [`NativeAgent`] is one in a folder, with the built-in tools, the gate, and files
//! for what is kept; [`TokioHost`] and [`TokioRuntime`] are the clock, the tasks and the rules for a program that puts
//! the parts together itself.
//!
//! A suggestion, the work that runs ahead for it, and its accept:
//!
//! ```
//! use headstart_agent::native::NativeOptions;
//! use headstart_providers::{Recording, Replay};
//! use headstart_tool_gate::ApprovalMode;
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // A folder, and a model: any `HttpModel` of `headstart-providers`. This one plays a recording.
//!     let folder = std::env::temp_dir().join(format!("headstart-{}", std::process::id()));
//!     std::fs::create_dir_all(&folder)?;
//!     let model = Replay::instant(Recording::parse(
//!         r#"{
//!             "turns": [
//!                 { "text": "It is empty." },
//!                 { "text": "A file of notes." },
//!                 { "toolCalls": [{ "name": "write_file", "args": { "file_path": "notes.txt", "content": "one\n" } }] },
//!                 { "text": "It is written." }
//!             ],
//!             "suggestions": ["write the notes"]
//!         }"#,
//!     )?);
//!
//!     let options = NativeOptions::new(&folder, "replay", model).mode(ApprovalMode::AutoEdit);
//!     let mut agent = options.begin()?;
//!     agent.say("what is in this folder?").await?;
//!     agent.say("what is missing?").await?;
//!     let suggested = agent.suggestion().await.expect("a suggestion follows the second answer");
//!     let reply = agent.take(&suggested).await?;
//!     agent.close().await;
//!
//!     assert_eq!((suggested.as_str(), reply.text.as_str()), ("write the notes", "It is written."));
//!     assert_eq!(std::fs::read_to_string(folder.join("notes.txt"))?, "one\n");
//!     std::fs::remove_dir_all(folder)?;
//!     Ok(())
//! }
//! ```
//!
//! # An agent of your own, step by step
//!
//! 1. `cargo new my-agent`, and in its `Cargo.toml` the crates from a clone of the repository:
//!
//!    ```toml
//!    [dependencies]
//!    headstart-agent = { path = "../headstart/crates/agent", features = ["native"] }
//!    headstart-providers = { path = "../headstart/crates/providers", features = ["http"] }
//!    tokio = { version = "1", features = ["macros", "rt"] }
//!    ```
//!
//! 2. `src/main.rs`, for any server that speaks OpenAI's Chat Completions ([`Provider`](https://docs.rs/headstart-providers) has the others):
//!
//!    ```no_run
//!    use headstart_agent::native::NativeAgent;
//!    use headstart_providers::{HttpModel, Provider, Timeouts};
//!
//!    #[tokio::main(flavor = "current_thread")]
//!    async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!        let server = Provider::compatible("my server", "http://localhost:11434/v1");
//!        let model = HttpModel::new(server, None, Timeouts::default())?;
//!        let mut agent = NativeAgent::open(".", "qwen3", model)?;
//!        for prompt in std::env::args().skip(1) {
//!            println!("{}", agent.say(&prompt).await?.text);
//!        }
//!        if let Some(next) = agent.suggestion().await {
//!            println!("> {next}\n{}", agent.take(&next).await?.text);
//!        }
//!        agent.close().await;
//!        Ok(())
//!    }
//!    ```
//!
//! 3. `cargo run -- "what is in this project?" "what would you change first?"`
//!
//! From there: [`NativeOptions::mode`] lets the agent edit, [`NativeOptions::kept_in`] keeps its conversations, and
//! [`NativeAgent::into_parts`] gives a front end the parts that it needs to draw and to answer questions;
//! `examples/chat.rs` is one.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this is the world that other modules are told of"
)]

mod files;
mod open;
mod real_path;
mod sessions;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use futures::future::BoxFuture;
use headstart_forked_query::ToolCall;
use headstart_speculation::{Consent, Host};
use headstart_tool_gate::{GateContext, Verdict};

pub use self::open::{NativeAgent, NativeError, NativeOptions, Reply};
pub use self::real_path::real_path;
pub use self::sessions::{ListedSession, OpenSession, Sessions, SessionsError};
use crate::ports::Runtime;

/// A [`Host`] with the clock of this machine and rules that may change.
#[derive(Debug)]
pub struct TokioHost {
    started: Instant,
    rules: Mutex<GateContext>,
}

impl TokioHost {
    /// A host with these rules until others are set.
    pub fn new(rules: GateContext) -> Self {
        Self { started: Instant::now(), rules: Mutex::new(rules) }
    }

    /// Sets other rules. [`AgentHandle::rules_changed`](crate::AgentHandle::rules_changed) has to be called afterwards.
    pub fn set_rules(&self, rules: GateContext) {
        *self.rules.lock().unwrap_or_else(PoisonError::into_inner) = rules;
    }
}

#[async_trait]
impl Host for TokioHost {
    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    fn gate_context(&self) -> GateContext {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Nobody is asked here, because a question is in the [`View`](crate::View).
    async fn consent(&self, _call: &ToolCall, _verdict: &Verdict) -> Consent {
        Consent::Stop
    }
}

/// A [`Runtime`] whose tasks are tokio's. The conversation must begin within a runtime of tokio.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokioRuntime;

impl Runtime for TokioRuntime {
    fn unix_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn spawn(&self, work: BoxFuture<'static, ()>) -> Option<BoxFuture<'static, ()>> {
        tokio::spawn(work);
        None
    }
}
