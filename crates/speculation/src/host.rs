use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use headstart_forked_query::{CacheSafeParams, ToolCall};
use headstart_overlay_fs::{ChangeSet, CommitOptions, Tree, WorkspacePath};
use headstart_tool_gate::{GateContext, Verdict};

use crate::{ApprovalRequest, Attachments, Checker, Finished};

/// Whose prompt the model reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptOrigin {
    /// A prompt of the user, who reads along.
    User,
    /// The prompt of work that runs ahead and may never be taken.
    WorkAhead,
}

/// What the engine needs from the program around it: a clock, the rules in force, and the user.
///
/// # Guarantees expected
///
/// - `now` never goes backwards; its zero may be any moment.
/// - `gate_context` is the state of this moment: the engine calls it for every call and at every accept, so that a mode
///   or a rule that has changed counts.
/// - `consent` is asked in a foreground turn only, never by a speculation.
#[async_trait]
pub trait Host: Send + Sync {
    /// Time since some fixed moment.
    fn now(&self) -> Duration;

    /// Resolves after `time`.
    async fn sleep(&self, time: Duration);

    /// The approval mode, workspace and deny rules in force now. With [`AheadWrites`](headstart_tool_gate::AheadWrites)
    /// it also says whether edits of work ahead are staged in a mode that asks.
    fn gate_context(&self) -> GateContext;

    /// What the model reads with a prompt, after the user's words and in their message, for example the project's rules
    /// for the files that the prompt is about, or the files that it mentions. The error tells the user why the prompt
    /// is not sent.
    ///
    /// `conversation` is what the model has read before, and `tree` shows what the work is about to see. The engine
    /// calls this when work that runs ahead begins; a program that begins a turn in the foreground calls it itself. By
    /// default there is nothing.
    async fn prompt_attachments(
        &self,
        _prompt: &str,
        _whose: PromptOrigin,
        _conversation: &CacheSafeParams,
        _tree: &Arc<dyn Tree>,
    ) -> Result<Attachments, String> {
        Ok(Attachments::default())
    }

    /// What happens to files that the user changed while the work was under way.
    fn commit_options(&self) -> CommitOptions {
        CommitOptions::default()
    }

    /// The files that were changed on disk since a moment (in milliseconds since the Unix epoch), as far as a command
    /// in a view may have read them: files that git ignores are left out. This is called at the accept of work that ran
    /// commands in views. By default no such files are known.
    async fn changed_since(&self, _unix_ms: u64) -> Vec<WorkspacePath> {
        Vec::new()
    }

    /// What happens to work if such files were changed.
    fn freshness(&self) -> Freshness {
        Freshness::default()
    }

    /// The check for completed work that changes these paths. It runs in the work's view, is judged like a command
    /// ahead, and counts against the limits. What it changes is dropped. By default there is no check.
    fn check(&self, _changed: &[WorkspacePath]) -> Option<Checker> {
        None
    }

    /// Whether the runner of commands confines those that nobody was asked about. If it cannot, the user is asked about
    /// each command, and ahead of the user none runs.
    fn confines_commands(&self) -> bool {
        true
    }

    /// Does the work of a call while other calls do theirs.
    ///
    /// By default it is done in place, together with the other calls: they wait for something at the same time, but
    /// computing and reading from a disk happen one after the other. A host with threads can give the work to them. If
    /// the future is dropped, the work must be dropped too: at once, or at the next point where it waits.
    async fn run_concurrently(&self, work: BoxFuture<'static, ()>) {
        work.await;
    }

    /// What an accept does with work that stopped at a call which needs the user's consent.
    fn at_boundary(&self) -> AtBoundary {
        AtBoundary::default()
    }

    /// Whether the states of calls and the output of commands are among the [events](crate::Event). By default they are
    /// not.
    fn reports_call_states(&self) -> bool {
        false
    }

    /// Called before a permitted call of the user's own turn runs that may do more than read, and after its event. The
    /// call waits for it, so that a host which keeps the conversation has written down that the call begins: whatever
    /// happens to the process then, it is known what may have been done. By default it does not wait.
    async fn before_call(&self, _call: &ToolCall) {}

    /// Whether turns of the user are staged. By default they are not.
    fn staging(&self) -> Staging {
        Staging::default()
    }

    /// Keeps what turns have staged and nobody has written yet, in place of what was kept before, so that it outlives
    /// the process; `None` once nothing is. By default it is not kept. The error says why it could not be.
    async fn keep_staged(&self, _work: Option<&Finished>) -> Result<(), String> {
        Ok(())
    }

    /// Whether a call that the mode does not allow by itself may run.
    async fn consent(&self, call: &ToolCall, verdict: &Verdict) -> Consent;

    /// As [`consent`](Self::consent), with what is known of the call before it runs. By default that is ignored.
    async fn consent_to(&self, call: &ToolCall, verdict: &Verdict, _prepared: CallPreview) -> Consent {
        self.consent(call, verdict).await
    }
}

/// What an accept does with work that stopped at a boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AtBoundary {
    /// Commits what was finished, and hands over the pending call for consent.
    #[default]
    Commit,
    /// Drops the work, so that the prompt runs anew: for hosts that want a turn as a whole or not at all.
    Discard,
}

/// What happens to work whose commands ran before the user's last edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Freshness {
    /// It is accepted, and the result names the edited files
    /// ([`Accepted::changed_since_view`](crate::Accepted::changed_since_view)).
    #[default]
    Tell,
    /// The accept ends with a conflict.
    Require,
}

/// What is known of a call about which the user is asked.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct CallPreview {
    /// What the call would change, if it is an edit that can be made now.
    pub changes: Option<ChangeSet>,
    /// What turns have staged, if a yes writes it before the call runs.
    pub staged: Option<ApprovalRequest>,
}

/// Whether turns of the user run over an overlay, so that one question at their end takes the place of one for each
/// edit and most commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Staging {
    /// No: each call is asked about where the mode does not decide, and its changes are written at once.
    #[default]
    Off,
    /// Where commands can run in views.
    Auto,
    /// Yes. Without views each command that writes, or may read what is staged, has to be asked about.
    On,
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
