use headstart_forked_query::{ModelError, ToolCall, Usage};
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{ChangeSet, ContentHash};
use headstart_tool_gate::Verdict;
use serde::{Deserialize, Serialize};

use crate::{Checked, Transcript};

/// Where a speculation is, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Status {
    /// The model or a tool is at work.
    Running,
    /// The model said its last word.
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
    /// The model said its last word.
    Completed,
    /// The call at the head of [`Transcript::rest`] needs the user's consent.
    Boundary {
        /// What the gate said of it.
        verdict: Verdict,
    },
    /// A limit was reached.
    Exhausted {
        /// Which.
        limit: Limit,
    },
    /// An error: the model's, or an empty answer.
    Failed {
        /// In words.
        error: String,
        /// In a stable word for programs: that of the [`ModelError`], or `withheld`, `empty`, and what a host has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// Milliseconds after which the model may be asked again, if its provider said.
        #[serde(rename = "retryAfterMs", default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
    /// The host gave it up.
    Aborted,
}

/// What there is a limit of.
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
    /// Files or bytes staged, or a path that goes too deep.
    Staged,
    /// Wall time.
    Time,
    /// The provider's limit on the length of one answer.
    Output,
    /// Calls that are always answered with the same.
    Repeated,
    /// What the model sees at once ([`Limits::window`](crate::Limits::window)).
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
    /// Milliseconds spent in tools, counted once where several ran at the same time.
    pub tool_ms: u64,
    /// Of these, milliseconds of commands in views.
    #[serde(skip_serializing_if = "is_zero")]
    pub view_ms: u64,
    /// Milliseconds of processor time of these commands, all their processes together.
    #[serde(skip_serializing_if = "is_zero")]
    pub view_cpu_ms: u64,
    /// Most memory that one of these commands held, in bytes.
    #[serde(skip_serializing_if = "is_zero")]
    pub view_peak_bytes: u64,
    /// Milliseconds from the start to the end of the work (the user's reading time is not in it).
    pub work_ms: u64,
}

/// All that is left of a speculation when it has ended; enough to accept it in another process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finished {
    /// The speculation's id.
    pub id: String,
    /// The prompt it ran.
    pub prompt: String,
    /// How it ended.
    pub ending: Ending,
    /// What it would add to the conversation; at a boundary the pending call is in its rest.
    pub transcript: Transcript,
    /// The calls that ran in its sub-tasks, in order. They are judged at an accept as those of the transcript are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub task_calls: Vec<ToolCall>,
    /// What it would change in the workspace.
    pub changes: ChangeSet,
    /// What it would change in the repository, together with the files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitChange>,
    /// The suggestion for what comes after, where there is one.
    pub next: Option<String>,
    /// What it cost.
    pub cost: Cost,
    /// When the last command in a view began, or an earlier one that ran tests, in milliseconds since the Unix epoch: what its user changed since, the work may
    /// not have seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub viewed_ms: Option<u64>,
    /// What the pending call answered in a view. What it changed there was dropped, for the mode asks before a write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// What the project's own check said of it, where there is one and it says something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Checked>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
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
    /// By an error that is not the model's.
    pub fn failed(code: &str, error: impl Into<String>) -> Self {
        Self::Failed { error: error.into(), code: Some(code.to_owned()), retry_after_ms: None }
    }

    /// In one word.
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
    /// What tells the changes to files and repository from others; `None` where there are none.
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

    /// Whether an accept would hand over anything: no accept does where nothing was done, or after an abort.
    pub fn has_something_to_give(&self) -> bool {
        // The first message is the prompt.
        let did_something = self.transcript.messages.len() > 1 || self.transcript.pending_call().is_some();
        self.ending != Ending::Aborted && did_something
    }
}
