use headstart_forked_query::Usage;
use headstart_overlay_fs::ContentHash;
use serde::{Deserialize, Serialize};

use super::Kind;
use crate::policy::SkipReason;
use headstart_forked_query::Money;
use headstart_speculation::{Cost, Status};

/// One line of a ledger. Later lines refer to earlier ones by their id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Entry {
    /// A turn that the user asked for and waited for. Background work is compared with these.
    Turn(WorkCost),
    /// A query for a suggestion.
    Suggestion(SuggestionEntry),
    /// A prompt that ran ahead; written when its work ended or was dropped.
    Speculation(SpeculationEntry),
    /// What became of a suggestion and of the work behind it. If an id has several, the last one counts.
    Outcome(OutcomeEntry),
    /// Parts of answers that another model gave for itself alone are left out of requests to this model.
    LeftOut(OmissionEntry),
    /// A summary of a long conversation that was written while its user read, whether it was needed or not, or a title
    /// for a conversation.
    Summary(WorkCost),
}

/// What is left out of the requests to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OmissionEntry {
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The model that is asked.
    pub model: String,
    /// In how many answers of the conversation something is left out.
    pub answers: u64,
}

/// What some work cost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkCost {
    /// When it ended, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The model that was asked.
    pub model: String,
    /// The tokens of all requests together.
    #[serde(flatten)]
    pub tokens: Usage,
    /// What that cost, if the price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub money: Option<Money>,
    /// How many requests had their answer dropped half-way: the provider charges for them, but does not say how much.
    #[serde(skip_serializing_if = "is_zero")]
    pub unmeasured: u32,
    /// Wall time of the work in milliseconds.
    pub work_ms: u64,
}

/// A query for a suggestion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SuggestionEntry {
    /// The id of the suggestion, which its speculation has too.
    pub id: String,
    /// Who asked.
    #[serde(default)]
    pub source: Source,
    /// What it is about.
    #[serde(default)]
    pub kind: Kind,
    /// How likely the model called it, in percent, if it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<u8>,
    /// Why nothing was shown: the code of the guard, of the filter's rule or of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<String>,
    /// The code of the error, if the question failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The id of the first suggestion in the same answer; the line of that one has the cost of the query.
    #[serde(rename = "beside", default, skip_serializing_if = "Option::is_none")]
    pub candidate_of: Option<String>,
    /// Whether the background model shares the prefix cache of the main model, which is the case if both are one model.
    #[serde(default = "yes")]
    pub shares_cache: bool,
    /// What it cost.
    #[serde(flatten)]
    pub work: WorkCost,
    /// The text, only if the user asked for it to be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

/// A prompt that ran ahead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpeculationEntry {
    /// The suggestion's id.
    pub id: String,
    /// Who ran it.
    #[serde(default)]
    pub source: Source,
    /// What it is about.
    #[serde(default)]
    pub kind: Kind,
    /// Whether the background model shares the prefix cache of the main model, which is the case if both are one model.
    #[serde(default = "yes")]
    pub shares_cache: bool,
    /// The state of the work when the line was written.
    #[serde(default = "aborted")]
    pub status: Status,
    /// What it cost.
    #[serde(flatten)]
    pub work: WorkCost,
    /// Paths staged.
    #[serde(default)]
    pub staged_files: u64,
    /// Content staged, in bytes.
    #[serde(default)]
    pub staged_bytes: u64,
    /// Milliseconds spent waiting for the model.
    #[serde(default)]
    pub model_ms: u64,
    /// Milliseconds spent in tools.
    #[serde(default)]
    pub tool_ms: u64,
    /// The part of `tool_ms` that commands in views took, in milliseconds.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub view_ms: u64,
    /// The processor time of these commands, in milliseconds.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub view_cpu_ms: u64,
    /// The text, only if the user asked for it to be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

/// What became of a suggestion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutcomeEntry {
    /// The suggestion's id.
    pub id: String,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
    /// What became of it.
    pub outcome: Outcome,
    /// Milliseconds of work for which the user did not wait, without their reading time.
    #[serde(default)]
    pub saved_ms: u64,
    /// The code of the policy's reason, if the suggestion did not run ahead.
    #[serde(rename = "held", default, skip_serializing_if = "Option::is_none")]
    pub skip_code: Option<String>,
    /// How the user took it, if not by a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_by: Option<TakenBy>,
    /// Distinguishes the applied changes from others, if nothing else is kept of them: an undo uses this to find what
    /// it takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<ContentHash>,
}

/// What became of a suggestion, or of the work behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Outcome {
    /// The user took it.
    Accepted,
    /// The user took it while it was still running.
    Joined,
    /// It was on screen, and the user did something else.
    Ignored,
    /// The user went on, or another suggestion came, before it was on screen; or they turned to another candidate.
    Replaced,
    /// It was given up for another reason: the end of the chat, another mode, or a limit; or it stood behind a better
    /// candidate and the user never saw it.
    Aborted,
    /// The user took it, but had changed what it builds on.
    Conflict,
    /// The user took it, but it was not allowed any more.
    Withdrawn,
    /// The user took it, and later undid it.
    Undone,
    /// The user took it, but there was nothing to hand over.
    Failed,
}

/// How a user took work other than by a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TakenBy {
    /// They typed a prompt that asks for it.
    Typed,
    /// They typed a prompt that asks for it and for more, and took it with a key.
    Extended,
}

/// Who asked for something to be done ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// The chat, without being asked.
    #[default]
    Chat,
    /// A command that a user or a script gave.
    Command,
}

impl Outcome {
    /// Every outcome, best first.
    pub const ALL: [Self; 9] = [
        Self::Accepted,
        Self::Joined,
        Self::Ignored,
        Self::Replaced,
        Self::Aborted,
        Self::Conflict,
        Self::Withdrawn,
        Self::Undone,
        Self::Failed,
    ];

    /// Whether the user got the work.
    pub fn is_hit(self) -> bool {
        matches!(self, Self::Accepted | Self::Joined)
    }

    /// Whether the outcome tells what the user wants: `Some(true)` if they took the suggestion, whatever came of the
    /// work.
    pub fn was_wanted(self) -> Option<bool> {
        match self {
            Self::Accepted
            | Self::Joined
            | Self::Conflict
            | Self::Withdrawn
            | Self::Undone
            | Self::Failed => Some(true),
            Self::Ignored | Self::Replaced => Some(false),
            Self::Aborted => None,
        }
    }

    /// Whether the suggestion was on screen, as far as the outcome tells.
    pub fn was_seen(self) -> bool {
        self == Self::Ignored || self.was_wanted() == Some(true)
    }

    /// The name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Joined => "joined",
            Self::Ignored => "ignored",
            Self::Replaced => "replaced",
            Self::Aborted => "aborted",
            Self::Conflict => "conflict",
            Self::Withdrawn => "withdrawn",
            Self::Undone => "undone",
            Self::Failed => "failed",
        }
    }
}

impl Entry {
    /// When, in milliseconds since the Unix epoch.
    pub fn at(&self) -> u64 {
        match self {
            Self::Turn(work) | Self::Summary(work) => work.at,
            Self::Suggestion(suggested) => suggested.work.at,
            Self::Speculation(speculated) => speculated.work.at,
            Self::Outcome(decision) => decision.at,
            Self::LeftOut(left_out) => left_out.at,
        }
    }

    /// The line, including its line end.
    pub fn to_line(&self) -> String {
        let mut line = serde_json::to_string(self)
            .expect("works because an entry holds nothing but text and finite numbers");
        line.push('\n');
        line
    }
}

impl WorkCost {
    /// How many requests have an unknown cost.
    #[expect(clippy::cast_precision_loss, reason = "a count far below 2^52")]
    pub(crate) fn unknown_requests(&self) -> f64 {
        f64::from(self.unmeasured) + self.tokens.untold_requests as f64
    }

    /// Tokens read and written, cached ones included.
    pub fn spent_tokens(&self) -> u64 {
        self.tokens.input_tokens.saturating_add(self.tokens.output_tokens)
    }
}

impl SuggestionEntry {
    /// Whether a model was asked for this suggestion. If a policy prevented the question, the line only says that. The
    /// line of a further candidate only says that the answer had one more.
    pub fn was_asked(&self) -> bool {
        if self.candidate_of.is_some() {
            return false;
        }
        let held = self.suppressed.as_deref().is_some_and(SkipReason::suppresses_question);
        !held || self.work.spent_tokens() != 0 || self.work.work_ms != 0 || self.work.unmeasured != 0
    }
}

impl SpeculationEntry {
    /// Takes over the cost of a run.
    #[must_use]
    pub fn with_cost(mut self, cost: &Cost) -> Self {
        self.work.tokens = cost.tokens;
        self.work.work_ms = cost.work_ms;
        self.staged_files = cost.staged_files;
        self.staged_bytes = cost.staged_bytes;
        self.model_ms = cost.model_ms;
        self.tool_ms = cost.tool_ms;
        self.view_ms = cost.view_ms;
        self.view_cpu_ms = cost.view_cpu_ms;
        self
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_nothing(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn yes() -> bool {
    true
}

fn aborted() -> Status {
    Status::Aborted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::read;

    #[test]
    fn what_views_took_is_counted_and_left_out_where_there_were_none() {
        let cost = Cost { view_ms: 5, view_cpu_ms: 9, ..Cost::default() };
        let line = r#"{"type":"speculation","id":"a","at":1,"model":"m","inputTokens":1,"outputTokens":1}"#;
        let contents = read(format!("{line}\n").as_bytes());
        let [Entry::Speculation(entry)] = &contents.entries[..] else { panic!("{contents:?}") };
        assert_eq!((entry.view_ms, entry.view_cpu_ms), (0, 0));
        let text = Entry::Speculation(entry.clone().with_cost(&cost)).to_line();
        assert!(text.contains(r#""viewMs":5,"viewCpuMs":9"#), "{text}");
    }
}
