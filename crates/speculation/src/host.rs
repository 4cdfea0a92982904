use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use headstart_forked_query::ToolCall;
use headstart_overlay_fs::CommitOptions;
use headstart_tool_gate::{GateContext, Verdict};

/// What the engine needs from the program around it: a clock, the rules in force, and the user.
///
/// # Guarantees expected
///
/// * `now` never goes backwards; its zero is anywhere.
/// * `gate_context` is the state of this moment: the engine asks again for every call and at every accept, so that a
///   mode or a rule that changed meanwhile counts.
/// * `consent` is asked in a foreground turn only, never by a speculation.
#[async_trait]
pub trait Host: Send + Sync {
    /// Time since some fixed moment.
    fn now(&self) -> Duration;

    /// Resolves after `time`.
    async fn sleep(&self, time: Duration);

    /// The approval mode, workspace and deny rules in force now.
    fn gate_context(&self) -> GateContext;

    /// What becomes of files that the user changed while the work was under way.
    fn commit_options(&self) -> CommitOptions {
        CommitOptions::default()
    }

    /// Does the work of a call while other calls do theirs.
    ///
    /// By default in place, with the others: what waits for something does so at the same time, what computes or reads a disk
    /// comes one after the other. A host with threads hands it to them. Whoever drops the future wants the work dropped: at
    /// once, or where it next waits.
    async fn beside(&self, work: BoxFuture<'static, ()>) {
        work.await;
    }

    /// Whether a call that the mode does not allow by itself may run.
    async fn consent(&self, call: &ToolCall, verdict: &Verdict) -> Consent;
}

/// The user's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// Run it.
    Run,
    /// Do not run it; the model is told.
    Decline,
    /// Do not run it, and end the turn here.
    Stop,
}
