use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use headstart_forked_query::{CacheSafeParams, ToolCall};
use headstart_overlay_fs::{ChangeSet, CommitOptions, Tree, WorkspacePath};
use headstart_tool_gate::{GateContext, Verdict};

use crate::{Beside, Check, Limits};

/// Whose prompt the model reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptOf {
    /// The user's, who reads along.
    User,
    /// That of work which runs ahead, and which may never be taken.
    WorkAhead,
}

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

    /// The approval mode, workspace and deny rules in force now, and with
    /// [`AheadWrites`](headstart_tool_gate::AheadWrites) whether edits of work ahead are staged where the mode asks.
    fn gate_context(&self) -> GateContext;

    /// What the model reads with a prompt, after the user's words and in their message: the project's rules for the files that it is about, say, or
    /// what it mentions. The error says why the prompt is not to be sent, for its user.
    ///
    /// `conversation` is what the model has read before, and `tree` shows what the work is about to see. It is asked when work that runs ahead
    /// begins, and by whoever begins a turn in the foreground. By default there is nothing.
    async fn beside_prompt(
        &self,
        _prompt: &str,
        _whose: PromptOf,
        _conversation: &CacheSafeParams,
        _tree: &Arc<dyn Tree>,
    ) -> Result<Beside, String> {
        Ok(Beside::default())
    }

    /// What becomes of files that the user changed while the work was under way.
    fn commit_options(&self) -> CommitOptions {
        CommitOptions::default()
    }

    /// The files that were changed on disk since a moment, in milliseconds since the Unix epoch, as far as a command in a view may have read
    /// them: without what git ignores. It is asked at the accept of work that ran commands in views. By default none are known.
    async fn changed_since(&self, _unix_ms: u64) -> Vec<WorkspacePath> {
        Vec::new()
    }

    /// What such changes come to.
    fn freshness(&self) -> Freshness {
        Freshness::default()
    }

    /// The check of completed work that changes these paths: it runs in the work's view, is judged as a command ahead, and counts against the
    /// limits. What it changes is dropped. By default there is none.
    fn check(&self, _changed: &[WorkspacePath]) -> Option<Check> {
        None
    }

    /// Does the work of a call while other calls do theirs.
    ///
    /// By default in place, with the others: what waits for something does so at the same time, what computes or reads a disk
    /// comes one after the other. A host with threads hands it to them. Whoever drops the future wants the work dropped: at
    /// once, or where it next waits.
    async fn beside(&self, work: BoxFuture<'static, ()>) {
        work.await;
    }

    /// What an accept does with work that stopped at a call which needs the user's consent.
    fn at_boundary(&self) -> AtBoundary {
        AtBoundary::default()
    }

    /// Whether the next step may run as well, on top of work that nobody has accepted yet, and how. It is asked only where
    /// [`Limits::depth`] leaves room; a policy (the crate `headstart-budget` has one) answers it well. `None`: not now. By default every step
    /// may, under the limits of the one below.
    async fn step_above(&self, step: &Step) -> Option<StepAbove> {
        Some(StepAbove { id: format!("{}+", step.below), limits: step.limits })
    }

    /// Whether the states of calls and what commands print are among the [events](crate::Event). By default they are not.
    fn tells_calls(&self) -> bool {
        false
    }

    /// Whether a call that the mode does not allow by itself may run.
    async fn consent(&self, call: &ToolCall, verdict: &Verdict) -> Consent;

    /// The same, with what is known of the call before it runs. By default nobody looks at that.
    async fn consent_to(&self, call: &ToolCall, verdict: &Verdict, _prepared: Prepared) -> Consent {
        self.consent(call, verdict).await
    }
}

/// A step that could run on top of completed work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The speculation that it would stand on.
    pub below: String,
    /// What would run: the suggestion for what comes after that speculation.
    pub prompt: String,
    /// What the speculation below may spend.
    pub limits: Limits,
}

/// How a step above runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepAbove {
    /// An id for its speculation.
    pub id: String,
    /// What it may spend: it has a [`Cost`](crate::Cost) of its own.
    pub limits: Limits,
}

/// What an accept does with work that stopped at a boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AtBoundary {
    /// Commits what was finished, and hands the pending call over for consent.
    #[default]
    Commit,
    /// Drops it, so that the prompt runs anew: for hosts that want a turn whole or not at all.
    Discard,
}

/// What becomes of work whose commands ran before the user's last edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Freshness {
    /// It is accepted, and the accept says which files they are ([`Accepted::changed_since_view`](crate::Accepted::changed_since_view)).
    #[default]
    Tell,
    /// It is a conflict.
    Require,
}

/// What is known of a call about which the user is asked.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Prepared {
    /// What it would change, where it is an edit that can be made now.
    pub changes: Option<ChangeSet>,
}

/// The user's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consent {
    /// Run it.
    Run,
    /// Do not run it; the model is told.
    Decline,
    /// Do not run it; the model is told why, in the user's words.
    DeclineBecause(String),
    /// Do not run it, and end the turn here.
    Stop,
}
