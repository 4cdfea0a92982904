//! What a front end in another language needs to draw, as JSON tagged by `type`. Fields are only ever added, so a
//! reader must ignore those that it does not know.

use headstart_forked_query::{ToolCall, ToolOutcome};
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{ChangeSet, ChangeSummary, Conflict, LeftOut, WorkspacePath};
use headstart_speculation::{CallStage, CheckResult, Ending, Finished, Origin};
use headstart_tool_gate::Verdict;
use headstart_toolbox::ContextItem;
use serde::{Serialize, Serializer};

use crate::item::{CallItem, Item, NoSuggestion, NotAppliedReason};
use crate::log::ItemChange;
use crate::view::{Phase, Question, Subject, View, WorkAheadView};

/// The view without its items, which are sent as changes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ViewFields<'a> {
    version: u32,
    revision: u64,
    phase: &'static str,
    queued: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    draft: Option<DraftFields<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suggestion: Option<SuggestionFields<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ahead: Option<AheadFields<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    taken: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<QuestionFields<'a>>,
    is_asking: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    unsuggested: Option<&'a str>,
}

#[derive(Serialize)]
struct DraftFields<'a> {
    revision: u64,
    text: &'a str,
}

#[derive(Serialize)]
struct SuggestionFields<'a> {
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rest: Option<&'a str>,
    number: usize,
    of: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AheadFields<'a> {
    id: &'a str,
    state: &'static str,
    calls: Vec<CallFields<'a>>,
    said: &'a str,
    staged: &'a [ChangeSummary],
    /// What the work did to the repository, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    git: Option<String>,
    /// What did not end well. Where there is something, the work is done and not ready.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ending: Option<&'a Ending>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pending_call: Option<&'a ToolCall>,
}

#[derive(Serialize)]
struct QuestionFields<'a> {
    id: String,
    #[serde(flatten)]
    about: SubjectFields<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum SubjectFields<'a> {
    Call {
        call: &'a ToolCall,
        verdict: &'a Verdict,
        /// What the call would change, if it is an edit.
        #[serde(skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
        /// What would be allowed if the user says yes for the rest of the conversation.
        #[serde(skip_serializing_if = "Option::is_none")]
        always: Option<String>,
    },
    Changes {
        changes: Vec<ChangeSummary>,
        #[serde(skip_serializing_if = "Option::is_none")]
        git: Option<String>,
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        failures: &'a [String],
        #[serde(skip_serializing_if = "Option::is_none")]
        pending_call: Option<&'a ToolCall>,
    },
    Conflicts {
        conflicts: &'a [Conflict],
        changes: Vec<ChangeSummary>,
        tokens: u64,
    },
    Commits {
        conflicts: &'a [Conflict],
    },
}

#[derive(Serialize)]
struct CallFields<'a> {
    call: &'a ToolCall,
    state: CallStage,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    waiting: bool,
    origin: Origin,
    sentence: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    printed: Option<&'a str>,
    #[serde(rename = "tookMs", skip_serializing_if = "Option::is_none")]
    took_ms: Option<u64>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    outcome: Option<&'a ToolOutcome>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    items: &'a [ContextItem],
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum ItemFields<'a> {
    Prompt {
        text: &'a str,
    },
    Answer {
        text: &'a str,
    },
    Call(CallFields<'a>),
    Check(&'a CheckResult),
    Applied {
        id: &'a str,
        changes: &'a [ChangeSummary],
        merged: &'a [WorkspacePath],
        #[serde(skip_serializing_if = "Option::is_none")]
        git: Option<String>,
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        not_kept: &'a [LeftOut],
        stale: &'a [WorkspacePath],
        undone: &'a [WorkspacePath],
        #[serde(skip_serializing_if = "Option::is_none")]
        saved_ms: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        guess: Option<&'a str>,
        ending: &'a Ending,
    },
    NotTaken {
        id: &'a str,
        why: NotAppliedFields<'a>,
        anew: bool,
    },
    Declined {
        call: &'a ToolCall,
        verdict: &'a Verdict,
    },
    Note {
        code: &'a str,
        text: String,
    },
    End {
        ending: &'a Ending,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum NotAppliedFields<'a> {
    Conflict { conflicts: &'a [Conflict] },
    Withdrawn { call: &'a ToolCall, verdict: &'a Verdict },
    Discarded,
    Failed { error: &'a str },
    Interrupted,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum ChangeFields<'a> {
    Added { key: usize, item: &'a Item },
    Appended { key: usize, text: &'a str },
    Changed { key: usize, item: &'a Item },
    Cleared,
}

impl Serialize for View {
    /// Leaves out the items, because [`ItemChange`]s tell them.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let suggestion = self.suggestion.as_ref().map(|shown| SuggestionFields {
            text: &shown.text,
            rest: shown.rest.as_deref(),
            number: shown.place.number,
            of: shown.place.of,
        });
        ViewFields {
            version: 1,
            revision: self.revision,
            phase: phase_name(self.phase),
            queued: &self.queued,
            draft: self
                .draft
                .as_ref()
                .map(|draft| DraftFields { revision: draft.revision, text: &draft.text }),
            suggestion,
            ahead: self.ahead.as_ref().map(AheadFields::of),
            taken: self.taken.as_deref(),
            question: self.question.as_ref().map(QuestionFields::of),
            is_asking: self.is_asking,
            unsuggested: self.unsuggested.as_deref(),
        }
        .serialize(serializer)
    }
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Idle => "idle",
        Phase::Opening => "opening",
        Phase::Turn => "turn",
        Phase::Compacting => "compacting",
        Phase::Accepting => "accepting",
        Phase::Writing => "writing",
        Phase::Asking => "asking",
        Phase::Stopping => "stopping",
        Phase::Ended => "ended",
    }
}

impl<'a> AheadFields<'a> {
    fn of(ahead: &'a WorkAheadView) -> Self {
        let finished: Option<&'a Finished> = ahead.finished.as_deref();
        let ending = finished.map(|finished| &finished.ending);
        let state = match ending {
            None => "running",
            Some(Ending::Completed) => "ready",
            Some(Ending::Boundary { .. }) => "waits",
            Some(_) => "stopped",
        };
        Self {
            id: &ahead.id,
            state,
            calls: ahead.progress.calls.iter().map(|item| CallFields::of(item)).collect(),
            said: &ahead.progress.said,
            staged: &ahead.progress.staged,
            git: finished.and_then(|finished| finished.git.as_ref()).map(GitChange::summary),
            failures: finished.map(Finished::failures).unwrap_or_default(),
            ending,
            pending_call: finished.and_then(Finished::pending_call),
        }
    }
}

impl<'a> QuestionFields<'a> {
    fn of(question: &'a Question) -> Self {
        let about = match &*question.about {
            Subject::Call(judged) => SubjectFields::Call {
                call: &judged.call,
                verdict: &judged.verdict,
                diff: judged.changes.as_ref().map(ChangeSet::diff),
                always: question.always.as_ref().map(ToString::to_string),
            },
            Subject::Changes(asks) => SubjectFields::Changes {
                git: asks.git().map(GitChange::summary),
                changes: asks.changes().summary(),
                failures: asks.failures(),
                pending_call: asks.pending_call(),
            },
            Subject::Conflicts { conflicts, changes, tokens } => SubjectFields::Conflicts {
                conflicts,
                changes: changes.summary(),
                tokens: tokens.unwrap_or_default(),
            },
            Subject::Commits { conflicts, .. } => SubjectFields::Commits { conflicts },
        };
        Self { id: question.id.to_string(), about }
    }
}

impl<'a> CallFields<'a> {
    fn of(item: &'a CallItem) -> Self {
        Self {
            call: &item.call,
            state: item.stage,
            waiting: item.waiting,
            origin: item.origin,
            sentence: &item.sentence,
            printed: item.printed.as_deref(),
            took_ms: item.took.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
            outcome: item.outcome.as_ref(),
            items: &item.items,
        }
    }
}

impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let note = |code, text| ItemFields::Note { code, text };
        match self {
            Self::Prompt { text } => ItemFields::Prompt { text },
            Self::Answer { text } => ItemFields::Answer { text },
            Self::Call(item) => ItemFields::Call(CallFields::of(item)),
            Self::Check(checked) => ItemFields::Check(checked),
            Self::Applied(applied) => ItemFields::Applied {
                id: &applied.id,
                changes: &applied.changes,
                merged: &applied.merged,
                git: applied.git.as_ref().map(|git| git.summary()),
                not_kept: &applied.not_kept,
                stale: &applied.stale,
                undone: &applied.undone,
                saved_ms: applied.saved.map(|saved| u64::try_from(saved.as_millis()).unwrap_or(u64::MAX)),
                guess: applied.guess.as_deref(),
                ending: &applied.ending,
            },
            Self::NotApplied { id, why, anew } => {
                ItemFields::NotTaken { id, why: NotAppliedFields::of(why), anew: *anew }
            }
            Self::Declined(judged) => ItemFields::Declined { call: &judged.call, verdict: &judged.verdict },
            Self::Undone { text } => note("undone", text.clone()),
            Self::NoSuggestion(NoSuggestion::Skipped(skip)) => note(skip.code(), skip.to_string()),
            Self::NoSuggestion(NoSuggestion::Failed(error)) => note(error.code(), error.to_string()),
            Self::Compacted(compacted) => note("compacted", compacted.to_string()),
            Self::Trouble { text } => note("trouble", text.clone()),
            Self::End { ending } => ItemFields::End { ending },
        }
        .serialize(serializer)
    }
}

impl<'a> NotAppliedFields<'a> {
    fn of(why: &'a NotAppliedReason) -> Self {
        match why {
            NotAppliedReason::Conflict(conflicts) => Self::Conflict { conflicts },
            NotAppliedReason::Withdrawn(judged) => {
                Self::Withdrawn { call: &judged.call, verdict: &judged.verdict }
            }
            NotAppliedReason::Discarded => Self::Discarded,
            NotAppliedReason::Failed { error } => Self::Failed { error },
            NotAppliedReason::Interrupted => Self::Interrupted,
        }
    }
}

impl Serialize for ItemChange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Added { key, item } => ChangeFields::Added { key: *key, item },
            Self::Appended { key, text } => ChangeFields::Appended { key: *key, text },
            Self::Changed { key, item } => ChangeFields::Changed { key: *key, item },
            Self::Cleared => ChangeFields::Cleared,
        }
        .serialize(serializer)
    }
}
