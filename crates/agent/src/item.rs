use std::fmt;
use std::time::Duration;

use headstart_budget::policy::SkipReason;
use headstart_forked_query::{ModelError, ToolCall, ToolOutcome};
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{ChangeSet, ChangeSummary, Conflict, WorkspacePath};
use headstart_speculation::{CallStage, Checked, Ending, Event, Origin};
use headstart_tool_gate::Verdict;
use headstart_toolbox::{ContextItem, Toolbox, Wording};

/// One thing in the conversation, as a front end shows it. What it says is data; the words are the front end's.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Item {
    /// What the user sent.
    Prompt {
        /// Their words.
        text: String,
    },
    /// What the model answered, as far as it has come.
    Answer {
        /// Its words.
        text: String,
    },
    /// A call of a tool. One at which work ahead stopped ([`CallStage::Boundary`]) is told again, as another item, by the turn that goes on with it.
    Call(Box<CallItem>),
    /// The project's own check of completed work ahead.
    Check(Checked),
    /// Work ahead is the user's now: what it changed.
    Applied(Box<Applied>),
    /// Work that the user took was not applied.
    NotTaken {
        /// The id of the work ([`AgentHandle::changes`](crate::AgentHandle::changes)).
        id: String,
        /// Why.
        why: NotTaken,
        /// Whether the prompt runs anew in the foreground.
        anew: bool,
    },
    /// A call was declined, because there is nobody to ask.
    Declined(Box<JudgedCall>),
    /// Files that the user has put back as they were before the agent's change, in words; the model is told with the prompt.
    Undone {
        /// Which.
        text: String,
    },
    /// Why nothing is suggested. It is told once for each reason.
    NoSuggestion(NoSuggestion),
    /// The conversation was made shorter for its model. What is above is not part of it any more as it was.
    Compacted(Compacted),
    /// Something could not be kept.
    Trouble {
        /// What, in words.
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
    /// The call, as the model wrote it. While it writes, the id is empty and of the arguments those are there that are complete.
    pub call: ToolCall,
    /// How far it is.
    pub stage: CallStage,
    /// Whether it waits for the user's answer.
    pub waiting: bool,
    /// Whose work it is of.
    pub origin: Origin,
    /// What to tell of it, behind "the agent": `wants to run cargo test`.
    pub sentence: String,
    /// The end of what its command has printed so far, while it runs.
    pub printed: Option<String>,
    /// How long it ran, once it has ended.
    pub took: Option<Duration>,
    /// When it began, on the host's clock.
    pub(crate) began_ms: Option<u64>,
    /// That it ran in a view, and what it did there ([`Event::ShadowRan`]).
    pub view: Option<Event>,
    /// Its result, once it is there.
    pub outcome: Option<ToolOutcome>,
    /// The things of which the result is made, where they have names and places.
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

    /// Says what is to be told of it in the words of its tool.
    pub(crate) fn tell(&mut self, toolbox: &Toolbox) {
        self.sentence = self.stage.sentence(&toolbox.wording(&self.call.name), &self.call.args);
    }

    /// The result is there.
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
    /// What it would change, where it is an edit about which the user is asked.
    pub changes: Option<ChangeSet>,
}

/// How a conversation was made shorter for its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compacted {
    /// How many old outputs of tools gave way to a remark; 0 where its beginning was summed up.
    pub outputs: usize,
    /// What stands in place of the beginning; `None` where nobody could sum it up, and where only outputs gave way.
    pub summary: Option<String>,
    /// How many tokens it had, about, and how many it has.
    pub before: u64,
    /// See `before`.
    pub after: u64,
}

impl fmt::Display for Compacted {
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
pub struct Applied {
    /// The id of the work ([`AgentHandle::changes`](crate::AgentHandle::changes)).
    pub id: String,
    /// The files.
    pub changes: Vec<ChangeSummary>,
    /// Those of them that hold an edit of the user's as well.
    pub merged: Vec<WorkspacePath>,
    /// What it did to the git repository.
    pub git: Option<Box<GitChange>>,
    /// The files that were changed since a command of the work ran in a view.
    pub stale: Vec<WorkspacePath>,
    /// Of the files those that are as they were before, because the user has put them back.
    pub undone: Vec<WorkspacePath>,
    /// How long the work took for which the user did not wait; `None` where it had hardly begun.
    pub saved: Option<Duration>,
    /// How the work had ended. Unless completed, a turn goes on from there.
    pub ending: Ending,
}

/// Why work that the user took was not applied.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum NotTaken {
    /// They changed what it rests on.
    Conflict(Vec<Conflict>),
    /// A call of it is not allowed any more.
    Withdrawn(Box<JudgedCall>),
    /// It stopped at a call that needs consent, and the host wants work whole or not at all.
    Discarded,
    /// The workspace refused the changes.
    Failed {
        /// Why, in words.
        error: String,
    },
    /// The user interrupted the accept before it began to write.
    Interrupted,
}

/// Why nothing is suggested.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum NoSuggestion {
    /// The policy holds it back.
    Held(SkipReason),
    /// The question to the model failed.
    Failed(ModelError),
}
