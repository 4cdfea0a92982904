use headstart_speculation::{Finished, Status};
use headstart_tool_gate::ApprovalMode;
use serde::{Deserialize, Serialize};

use super::SpeculationId;
use super::owner::Owner;

/// Increased when a record changes in such a way that an older headstart would misread it.
const FORMAT_VERSION: u32 = 1;

/// What is known before a speculation runs.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The absolute path, without links.
    pub workspace: String,
    pub mode: ApprovalMode,
    /// Whether the mode was given on the command line, so that a configuration file must not change it later.
    pub mode_by_flag: bool,
    /// The specification of the conversation's model.
    pub model: String,
    /// The model that does the work, if it is another one. It has no cache of the conversation.
    pub fast_model: Option<String>,
    pub prompt: String,
    /// The conversation whose turns staged it, if it did not run ahead.
    pub conversation: Option<String>,
}

/// One speculation, as it is stored on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    format_version: u32,
    pub id: SpeculationId,
    /// The absolute path, without links.
    pub workspace: String,
    /// Milliseconds since the Unix epoch.
    pub created_at: u64,
    /// The process that runs or ran the speculation.
    pub owner: Owner,
    pub state: SpeculationState,
    pub mode: ApprovalMode,
    /// Whether the mode was given on the command line.
    #[serde(default)]
    pub mode_by_flag: bool,
    /// The specification of the conversation's model.
    pub model: String,
    /// The model that did the work, if it was another one. It had no cache of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fast_model: Option<String>,
    pub prompt: String,
    /// The conversation whose turns staged it, if it did not run ahead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Present unless the state is `RunningSpeculation`.
    pub finished: Option<Finished>,
}

/// The state of a speculation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SpeculationState {
    /// A process runs it, or died while running it.
    Running,
    /// It has ended and waits for a decision.
    Finished,
    /// Its changes were applied to the workspace.
    Accepted,
    /// It was aborted.
    Aborted,
}

/// Why a record cannot be read, as a text.
#[derive(Debug)]
pub(super) enum RecordError {
    /// A newer headstart wrote it and can read it.
    Newer(String),
    /// No headstart can read it.
    Damaged(String),
}

impl Record {
    pub(super) fn new(id: SpeculationId, draft: Draft, created_at: u64) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            id,
            workspace: draft.workspace,
            created_at,
            owner: Owner::this_process(),
            state: SpeculationState::Running,
            mode: draft.mode,
            mode_by_flag: draft.mode_by_flag,
            model: draft.model,
            fast_model: draft.fast_model,
            prompt: draft.prompt,
            conversation: draft.conversation,
            finished: None,
        }
    }

    /// The record in `bytes`, or why they contain none.
    pub(super) fn parse(bytes: &[u8], id: &SpeculationId) -> Result<Self, RecordError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Version {
            format_version: u32,
        }
        let corrupt =
            |error: serde_json::Error| RecordError::Damaged(format!("the record is damaged: {error}"));
        let version = serde_json::from_slice::<Version>(bytes).map_err(corrupt)?.format_version;
        if FORMAT_VERSION < version {
            return Err(RecordError::Newer(format!(
                "the record has format {version}, and this headstart reads up to {FORMAT_VERSION}; use a newer one"
            )));
        }
        let record: Self = serde_json::from_slice(bytes).map_err(corrupt)?;
        if record.id != *id {
            let reason = format!("the record is of another speculation, {}", record.id);
            return Err(RecordError::Damaged(reason));
        }
        Ok(record)
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self)
            .expect("works because a record holds neither maps with odd keys nor fallible types");
        bytes.push(b'\n');
        bytes
    }

    /// The word for its state. `alive` distinguishes a running speculation from one whose process died.
    pub fn status_word(&self, alive: bool) -> &'static str {
        match (self.state, self.finished.as_ref().map(|finished| finished.ending.status())) {
            (SpeculationState::Accepted, _) => "accepted",
            (SpeculationState::Aborted, _) => "aborted",
            (SpeculationState::Running, _) if alive => "running",
            (SpeculationState::Running, _) | (SpeculationState::Finished, None) => "interrupted",
            (SpeculationState::Finished, Some(status)) => match status {
                Status::Running => "running",
                Status::Completed => "completed",
                Status::Boundary => "boundary",
                Status::Exhausted => "exhausted",
                Status::Failed => "failed",
                Status::Aborted => "aborted",
            },
        }
    }
}

impl SpeculationState {
    /// Whether the state may change from this one to `next`.
    pub(super) fn may_become(self, next: Self) -> bool {
        matches!(
            (self, next),
            (Self::Running, Self::Finished | Self::Aborted)
                | (Self::Finished, Self::Accepted | Self::Aborted)
                // After its accept was undone, a speculation waits for a decision again.
                | (Self::Accepted, Self::Finished)
        )
    }
}
