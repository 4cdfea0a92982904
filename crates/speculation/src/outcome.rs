use headstart_forked_query::{ModelError, ToolCall, Usage};
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{Change, ChangeSet, ContentHash, LeftOut};
use headstart_tool_gate::Verdict;
use serde::{Deserialize, Serialize};

use crate::{CheckResult, FailedCommand, Transcript};

/// The state of a speculation, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Status {
    /// The model or a tool is at work.
    Running,
    /// The model has given its last answer.
    Completed,
    /// A call needs the user's consent.
    Boundary,
    /// A limit ended it.
    Exhausted,
    /// An error ended it.
    Failed,
    /// The host gave it up; nothing of it is left.
    Aborted,
}

/// How a speculation (or a foreground turn) ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Ending {
    /// The model has given its last answer.
    Completed,
    /// The call at the head of [`Transcript::rest`] needs the user's consent.
    Boundary {
        /// What the gate said of it.
        verdict: Verdict,
    },
    /// A limit was reached.
    Exhausted {
        /// The limit.
        limit: Limit,
    },
    /// An error: of the model, or because the answer was empty.
    Failed {
        /// The error in words.
        error: String,
        /// The error as a stable word for programs: the code of the [`ModelError`], `withheld`, `empty`,
        /// `written_call` (a call in words that is not run), `repetition` (cut off, because it only repeated itself), or a code of
        /// the host.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// Milliseconds after which the model may be asked again, if its provider said.
        #[serde(rename = "retryAfterMs", default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
    /// The host gave it up.
    Aborted,
}

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Limit {
    /// Answers of the model.
    Turns,
    /// Entries of the transcript.
    Messages,
    /// Tokens read and written by the model.
    Tokens,
    /// What these tokens cost.
    Cost,
    /// The number of staged files or bytes, or the depth of a path.
    Staged,
    /// Wall time.
    Time,
    /// The provider's limit on the length of one answer.
    Output,
    /// Calls that are always answered with the same.
    Repeated,
    /// How much the model sees at once ([`Limits::window`](crate::Limits::window)).
    Window,
}

/// What a run cost and how long its work took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Cost {
    /// Tokens, all requests together.
    #[serde(flatten)]
    pub tokens: Usage,
    /// Answers of the model.
    pub turns: u32,
    /// Calls that ran.
    pub tool_calls: u32,
    /// Paths staged.
    pub staged_files: u64,
    /// Content staged, in bytes.
    pub staged_bytes: u64,
    /// Milliseconds spent waiting for the model.
    pub model_ms: u64,
    /// Milliseconds spent in tools; time in which several ran counts once.
    pub tool_ms: u64,
    /// The part of `tool_ms` that commands in views took, in milliseconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub view_ms: u64,
    /// The processor time of these commands, with all their processes, in milliseconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub view_cpu_ms: u64,
    /// The most memory that one of these commands used, in bytes.
    #[serde(skip_serializing_if = "is_zero")]
    pub view_peak_bytes: u64,
    /// Milliseconds from the start to the end of the work, without the user's reading time.
    pub work_ms: u64,
    /// The part of `work_ms` that a call took at which the work stopped, in milliseconds. Whoever accepts the work runs
    /// that call again.
    #[serde(skip_serializing_if = "is_zero")]
    pub stopped_ms: u64,
}

/// What is left of a speculation when it has ended; enough to accept it in another process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finished {
    /// The speculation's id.
    pub id: String,
    /// The prompt it ran.
    pub prompt: String,
    /// How it ended.
    pub ending: Ending,
    /// What it would add to the conversation; at a boundary, `rest` has the pending call.
    pub transcript: Transcript,
    /// The calls that ran in its sub-tasks, in order. An accept judges them like those of the transcript.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub task_calls: Vec<ToolCall>,
    /// What it would change in the workspace.
    pub changes: ChangeSet,
    /// What it would change in the repository, together with the files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitChange>,
    /// What its commands wrote or removed and an accept does not bring, because git ignores it or it is build output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_kept: Vec<LeftOut>,
    /// What brings those of these rows that have no obstacle ([`LeftOut::obstacle`]), if its user wants them
    /// ([`with_kept`](Self::with_kept)).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keepable: Vec<Change>,
    /// Its commands that ended with an error, and did not end well when they ran again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedCommand>,
    /// The suggestion for what comes after, if there is one.
    pub next: Option<String>,
    /// What it cost.
    pub cost: Cost,
    /// When the last command in a view began, or an earlier one that ran tests, in milliseconds since the Unix epoch:
    /// the work may not have seen what its user changed since then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub viewed_ms: Option<u64>,
    /// The result of the pending call in a view. What the call changed there was dropped, because the mode asks before
    /// a write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// What the project's own check said, or why it could not run; `None` if there is no check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckResult>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Finished {
    /// The same work, with what an accept can bring of what it leaves out, for a user who wants that
    /// ([`ApprovalRequest::approve_and_keep`](crate::ApprovalRequest::approve_and_keep) is their answer to a question).
    #[must_use]
    pub fn with_kept(&self) -> Self {
        if self.keepable.is_empty() {
            return self.clone();
        }
        let kept = ChangeSet { changes: self.keepable.clone(), reads: Vec::new() };
        Self {
            changes: kept.then(&self.changes),
            not_kept: self.not_kept.iter().filter_map(LeftOut::after_keeping).collect(),
            keepable: Vec::new(),
            ..self.clone()
        }
    }

    /// What did not end well, in words: commands, and the project's own check. Where it is empty, the work may be called
    /// ready.
    pub fn failures(&self) -> Vec<String> {
        let check = self.check.as_ref().filter(|check| check.failed());
        let check = check.filter(|check| self.failed.iter().all(|failed| failed.command != check.command));
        let failed = self.failed.iter().map(FailedCommand::words);
        failed.chain(check.map(|check| format!("{} fails", check.command))).collect()
    }
}

impl From<&ModelError> for Ending {
    fn from(error: &ModelError) -> Self {
        Self::Failed {
            error: error.to_string(),
            code: Some(error.code().to_owned()),
            retry_after_ms: error.retry_after_ms(),
        }
    }
}

impl Ending {
    /// An ending by an error that is not the model's.
    pub fn failed(code: &str, error: impl Into<String>) -> Self {
        Self::Failed { error: error.into(), code: Some(code.to_owned()), retry_after_ms: None }
    }

    /// The ending in one word.
    pub fn status(&self) -> Status {
        match self {
            Self::Completed => Status::Completed,
            Self::Boundary { .. } => Status::Boundary,
            Self::Exhausted { .. } => Status::Exhausted,
            Self::Failed { .. } => Status::Failed,
            Self::Aborted => Status::Aborted,
        }
    }
}

impl Finished {
    /// Distinguishes the changes to files and repository from others; `None` if there are no changes.
    pub fn digest(&self) -> Option<ContentHash> {
        let beside = self.git.as_ref().map(GitChange::beside);
        let changes = !self.changes.is_empty() || beside.is_some();
        changes.then(|| self.changes.digest_with(beside.as_deref()))
    }

    /// The call that waits for the user's consent.
    pub fn pending_call(&self) -> Option<&ToolCall> {
        match self.ending {
            Ending::Boundary { .. } => self.transcript.pending_call(),
            _ => None,
        }
    }

    /// Whether an accept would hand over anything: it does not if nothing was done, or after an abort.
    pub fn has_results(&self) -> bool {
        // The first message is the prompt.
        let did_something = self.transcript.messages.len() > 1 || self.transcript.pending_call().is_some();
        self.ending != Ending::Aborted && did_something
    }
}
