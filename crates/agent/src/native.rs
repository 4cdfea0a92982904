//! The clock, the tasks and the rules of a program on tokio: with a model, tools and a folder all that a conversation needs.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this is the world that other modules are told of"
)]

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use futures::future::BoxFuture;
use headstart_forked_query::ToolCall;
use headstart_speculation::{Consent, Host};
use headstart_tool_gate::{GateContext, Verdict};

use crate::ports::Runtime;

/// A [`Host`] with the clock of this machine and rules that may change.
#[derive(Debug)]
pub struct TokioHost {
    started: Instant,
    rules: Mutex<GateContext>,
}

impl TokioHost {
    /// With these rules until there are others.
    pub fn new(rules: GateContext) -> Self {
        Self { started: Instant::now(), rules: Mutex::new(rules) }
    }

    /// Other rules from now on; [`AgentHandle::rules_changed`](crate::AgentHandle::rules_changed) is to be told.
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

    /// Nobody is asked here: a question is in the [`View`](crate::View).
    async fn consent(&self, _call: &ToolCall, _verdict: &Verdict) -> Consent {
        Consent::Stop
    }
}

/// A [`Runtime`] whose tasks are tokio's. The conversation is to be begun within one.
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
