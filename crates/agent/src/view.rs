use std::fmt;
use std::sync::Arc;

use headstart_followup_state::{CandidatePosition, Suggestion};
use headstart_overlay_fs::{ChangeSet, Choice, Conflict};
use headstart_speculation::{AsksFirst, Ending, Event, Finished};
use headstart_tool_gate::SessionRule;

use crate::item::{Compacted, Item, JudgedCall};
use crate::log::ItemChange;
use crate::work::WorkProgress;

/// All that a front end needs to draw.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct View {
    /// Grows with each change.
    pub revision: u64,
    /// What goes on.
    pub phase: Phase,
    /// The conversation, oldest first.
    pub items: Vec<Arc<Item>>,
    /// Prompts that were sent while something went on, oldest first.
    pub queued: Vec<String>,
    /// Prompts that are to be in the line again, until another draft takes their place.
    pub draft: Option<Draft>,
    /// The suggestion on screen.
    pub suggestion: Option<Suggested>,
    /// The work that runs ahead for it.
    pub ahead: Option<Ahead>,
    /// The id of work that the user has taken and that is not handed over yet.
    pub taken: Option<String>,
    /// What the user is asked.
    pub question: Option<Question>,
    /// Whether a suggestion is asked for at this moment.
    pub is_asking: bool,
    /// The code of why there is no suggestion, after the last question for one.
    pub unsuggested: Option<String>,
}

/// What goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Phase {
    /// Nothing: a prompt begins a turn.
    #[default]
    Idle,
    /// A prompt was sent, and the workspace is looked at for what its user has undone.
    Opening,
    /// The model is at work.
    Turn,
    /// The beginning of the conversation is summed up, for its model does not see all of it at once.
    Compacting,
    /// Work ahead that the user took is finished and applied.
    Accepting,
    /// Work ahead that the user took waits for their answer.
    Asking,
    /// The user interrupted, and what goes on is about to end.
    Stopping,
    /// The conversation is over.
    Ended,
}

/// Prompts that are to be in the line again: the front end puts them before what is typed there, once for each revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Tells this draft from the one before.
    pub revision: u64,
    /// The prompts, one a line.
    pub text: String,
}

/// The suggestion on screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggested {
    /// All of it.
    pub text: String,
    /// What of it is not typed yet; `None` where what is typed is the same but for blanks or a full stop.
    pub rest: Option<String>,
    /// Which of the candidates it is.
    pub place: CandidatePosition,
    /// All candidates, best first: each of them is taken by sending it.
    pub all: Vec<Suggestion>,
}

/// The work that runs ahead for the suggestion on screen. It never tells the prompt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ahead {
    /// Its id.
    pub id: String,
    /// What it has done so far.
    pub progress: WorkProgress,
    /// How it ended, once it has.
    pub finished: Option<Arc<Finished>>,
    /// How many further steps run on top of it.
    pub above: usize,
    /// Whether one of these is still at work.
    pub above_runs: bool,
}

/// A question and its number.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// An answer names it.
    pub id: QuestionId,
    /// What it is about.
    pub about: Arc<Subject>,
    /// What [`Answer::Always`] would let run until the conversation ends; `None` where such calls are asked about each time.
    pub always: Option<SessionRule>,
}

/// The number of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuestionId(pub(crate) u64);

impl fmt::Display for QuestionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// What the user is asked about.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Subject {
    /// A call of the turn that runs: yes or no.
    Call(JudgedCall),
    /// Work that they took, in a mode that asks before a write: yes or no to all of it.
    Changes(AsksFirst),
    /// Work that they took, and what they changed meanwhile: a choice for each, [`Answer::Anew`] or no. Nothing is written before the answer.
    Conflicts {
        /// What does not fit.
        conflicts: Vec<Conflict>,
        /// What the work would change.
        changes: ChangeSet,
        /// What the work has cost in tokens: about as much as to do it anew.
        tokens: u64,
    },
    /// Work with commits that they took, and what git did meanwhile: [`Answer::Settled`] where the front end has kept the commits elsewhere,
    /// [`Answer::Anew`] or no.
    Commits {
        /// The id of the work.
        work: String,
        /// What does not fit.
        conflicts: Vec<Conflict>,
        /// What the work would do to the repository.
        git: Option<headstart_git_ahead::GitChange>,
    },
}

/// What the user says to a question.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Answer {
    /// Yes.
    Yes,
    /// Yes to a call, and to those like it in turns until the conversation ends, where [`Question::always`] says to which.
    Always,
    /// No. Of work that they took the prompt is in the line again.
    No,
    /// No to a call, and the model is told why in these words.
    NoBecause(String),
    /// What is kept of each conflict, in their order.
    Choices(Vec<Choice>),
    /// The work is dropped, and its prompt runs anew.
    Anew,
    /// The front end has done what there was to do; the work is dropped.
    Settled,
}

/// How the text of the line changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit {
    /// A key put text into it.
    Typed,
    /// It was changed otherwise.
    Changed,
    /// It is an older prompt that was called back and may go again.
    Recalled,
}

/// What became of a prompt that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submitted {
    /// Its turn begins.
    Begins,
    /// It waits until what goes on is over.
    Queued,
}

/// Why nothing came of what the user did. A front end may ignore it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// The conversation is over.
    #[error("the conversation is over")]
    Ended,
    /// It was about something that is not there any more.
    #[error("it is about something that is not there any more")]
    Stale,
    /// It came too soon behind a change of what is shown.
    #[error("it came too soon behind a change of what is shown")]
    TooEarly,
    /// Something goes on.
    #[error("something goes on")]
    Busy,
    /// There is nothing to send, or to sum up.
    #[error("there is nothing to send, or to sum up")]
    Empty,
}

/// What has changed since the update before.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Update {
    /// The items that are new or other now, in order.
    pub items: Vec<ItemChange>,
    /// All that there is to draw, as it was when these were the changes: a question comes with all that was told before it.
    pub view: Arc<View>,
    /// What turns told and how they ended, in order, where [`AgentOptions::events`](crate::AgentOptions::events) asks for it.
    pub events: Vec<TurnEvent>,
}

/// What a turn told, for whoever writes it down.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// Something happened.
    Told(Event),
    /// It is over.
    Ended(Ending),
    /// The conversation was made shorter for its model.
    Compacted(Compacted),
}
