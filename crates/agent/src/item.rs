use std::fmt;
use std::time::Duration;

use headstart_budget::policy::SkipReason;
use headstart_forked_query::{ModelError, ToolCall, ToolOutcome};
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{ChangeSet, ChangeSummary, Conflict, LeftOut, WorkspacePath};
use headstart_speculation::{ApprovalRequest, CallStage, CheckResult, Ending, Event, Origin};
use headstart_tool_gate::Verdict;
use headstart_toolbox::{ContextItem, Toolbox, Wording};

/// One entry of the conversation, as a front end shows it. It has data only; the words are up to the front end.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Item {
    /// What the user sent.
    Prompt {
        /// The words of the user.
        text: String,
    },
    /// What the model has answered so far.
    Answer {
        /// The words of the model.
        text: String,
    },
    /// A call of a tool. If work ahead stopped at a call ([`CallStage::Boundary`]), the turn that goes on with it tells
    /// it again, as another item.
    Call(Box<CallItem>),
    /// The result of the project's own check of completed work ahead.
    Check(CheckResult),
    /// Work ahead was accepted: what it changed.
    Applied(Box<AppliedWork>),
    /// Work that the user took was not applied.
    NotApplied {
        /// The id of the work ([`AgentHandle::changes`](crate::AgentHandle::changes)).
        id: String,
        /// Why.
        why: NotAppliedReason,
        /// Whether the prompt runs anew in the foreground.
        anew: bool,
    },
    /// A call was declined, because nobody is there to ask.
    Declined(Box<JudgedCall>),
    /// Files that the user has put back as they were before the agent's change, in words; the model is told with the
    /// prompt.
    Undone {
        /// The files.
        text: String,
    },
    /// Why nothing is suggested. Each reason is told once.
    NoSuggestion(NoSuggestion),
    /// The conversation was made shorter for its model, so the items above are not part of it any more as they were.
    Compacted(Compaction),
    /// Something could not be kept.
    Trouble {
        /// What it was, in words.
        text: String,
    },
    /// A turn is over.
    End {
        /// How it ended.
        ending: Ending,
    },
}

/// A call of a tool and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct CallItem {
    /// The call, as the model wrote it. While the model writes it, the id is empty and only complete arguments are
    /// there.
    pub call: ToolCall,
    /// The state of the call.
    pub stage: CallStage,
    /// Whether it waits for the user's answer.
    pub waiting: bool,
    /// Whether it belongs to a turn or to work ahead.
    pub origin: Origin,
    /// What to say of the call after "the agent": `wants to run cargo test`.
    pub sentence: String,
    /// The end of the output of its command so far, while the command runs.
    pub printed: Option<String>,
    /// How long it ran, once it has ended.
    pub took: Option<Duration>,
    /// When it began, in milliseconds on the host's clock.
    pub(crate) began_ms: Option<u64>,
    /// If the call ran in a view, what it did there ([`Event::ShadowRan`]).
    pub view: Option<Event>,
    /// The result of the call, once it is there.
    pub outcome: Option<ToolOutcome>,
    /// The parts of the result, if they have names and places.
    pub items: Vec<ContextItem>,
}

impl CallItem {
    /// A call of which nothing else is known.
    pub(crate) fn new(call: ToolCall, stage: CallStage, origin: Origin, wording: &Wording) -> Self {
        Self {
            sentence: stage.sentence(wording, &call.args),
            call,
            stage,
            waiting: false,
            origin,
            printed: None,
            took: None,
            began_ms: None,
            view: None,
            outcome: None,
            items: Vec::new(),
        }
    }

    /// Sets the sentence by the words of the call's tool.
    pub(crate) fn update_sentence(&mut self, toolbox: &Toolbox) {
        self.sentence = self.stage.sentence(&toolbox.wording(&self.call.name), &self.call.args);
    }

    /// Takes in the result.
    pub(crate) fn end(&mut self, outcome: ToolOutcome, items: Vec<ContextItem>, wording: &Wording) {
        if !self.stage.is_end() {
            let failed = matches!(outcome, ToolOutcome::Error(_));
            self.stage = if failed { CallStage::Errored } else { CallStage::Done };
            self.sentence = self.stage.sentence(wording, &self.call.args);
        }
        (self.outcome, self.items) = (Some(outcome), items);
        (self.waiting, self.printed) = (false, None);
    }
}

/// A call, and what the gate says of it.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedCall {
    /// The call.
    pub call: ToolCall,
    /// What the gate says.
    pub verdict: Verdict,
    /// What the call would change, if it is an edit about which the user is asked.
    pub changes: Option<ChangeSet>,
    /// What turns have staged, if a yes writes that before the call runs.
    pub staged: Option<Box<ApprovalRequest>>,
}

/// How a conversation was made shorter for its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// How many old outputs of tools were replaced by a remark; 0 if the beginning was summed up.
    pub outputs: usize,
    /// The summary that replaces the beginning; `None` if nobody could sum it up, or if only outputs were replaced.
    pub summary: Option<String>,
    /// About how many tokens the conversation had before.
    pub before: u64,
    /// About how many tokens it has now.
    pub after: u64,
}

impl fmt::Display for Compaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { outputs, summary, before, after } = self;
        let what = match (outputs, summary) {
            (0, Some(_)) => "what was said before is summed up for the model".to_owned(),
            (0, None) => "the beginning is left out for the model, and nobody could sum it up".to_owned(),
            (1, _) => "1 long output is cut for the model".to_owned(),
            (outputs, _) => format!("{outputs} long outputs are cut for the model"),
        };
        write!(f, "{what}: about {after} tokens instead of {before}")
    }
}

/// What an accept changed.
#[derive(Debug, Clone, PartialEq)]
pub struct AppliedWork {
    /// The id of the work ([`AgentHandle::changes`](crate::AgentHandle::changes)).
    pub id: String,
    /// The files.
    pub changes: Vec<ChangeSummary>,
    /// Those of the files that also contain an edit of the user.
    pub merged: Vec<WorkspacePath>,
    /// What the work did to the git repository.
    pub git: Option<Box<GitChange>>,
    /// What the work wrote or removed and this did not bring.
    pub not_kept: Vec<LeftOut>,
    /// The files that were changed since a command of the work ran in a view.
    pub stale: Vec<WorkspacePath>,
    /// Those of the files that are as they were before, because the user has put them back.
    pub undone: Vec<WorkspacePath>,
    /// How long the work took, for which the user did not wait; `None` if it had hardly begun.
    pub saved: Option<Duration>,
    /// The guess for which the work ran, if its user asked for the same in other words.
    pub guess: Option<String>,
    /// How the work had ended. If it was not completed, a turn goes on from there.
    pub ending: Ending,
    /// Where the work came from, and where it is now.
    pub place: AppliedPlace,
}

/// Where work came from that was applied, and where it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AppliedPlace {
    /// Work ahead that is in the workspace.
    #[default]
    Written,
    /// Work ahead that is staged with what turns have staged, and is not in the workspace yet.
    Staged,
    /// What turns had staged; it is in the workspace.
    WrittenTurns,
}

impl AppliedWork {
    /// What turns had staged and is written now.
    pub(crate) fn of_turns(
        changes: Vec<ChangeSummary>,
        git: Option<Box<GitChange>>,
        merged: Vec<WorkspacePath>,
        not_kept: Vec<LeftOut>,
    ) -> Self {
        Self {
            id: String::new(),
            changes,
            merged,
            git,
            not_kept,
            stale: Vec::new(),
            undone: Vec::new(),
            saved: None,
            guess: None,
            ending: Ending::Completed,
            place: AppliedPlace::WrittenTurns,
        }
    }
}

/// Why work that the user took was not applied.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum NotAppliedReason {
    /// The user changed what the work builds on.
    Conflict(Vec<Conflict>),
    /// A call of the work is not allowed any more.
    Withdrawn(Box<JudgedCall>),
    /// The work stopped at a call that needs consent, and the host accepts only completed work.
    Discarded,
    /// The workspace refused the changes.
    Failed {
        /// Why, in words.
        error: String,
    },
    /// The user gave it up before anything was written: they interrupted the accept, or did not want to wait for the work.
    Interrupted,
}

/// Why nothing is suggested.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum NoSuggestion {
    /// The policy does not allow it at this time.
    Skipped(SkipReason),
    /// The question to the model failed.
    Failed(ModelError),
}
