use std::fmt;
use std::sync::Arc;

use headstart_followup_state::{CandidatePosition, Suggestion};
use headstart_overlay_fs::{ChangeSet, Choice, Conflict};
use headstart_speculation::{ApprovalRequest, Ending, Event, Finished};
use headstart_tool_gate::SessionRule;

use crate::item::{Compaction, Item, JudgedCall};
use crate::log::ItemChange;
use crate::work::WorkProgress;

/// Everything that a front end needs to draw.
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
    /// Prompts that are to be in the line again, until another draft replaces this one.
    pub draft: Option<Draft>,
    /// The suggestion on screen.
    pub suggestion: Option<ShownSuggestion>,
    /// The work that runs ahead for the suggestion.
    pub ahead: Option<WorkAheadView>,
    /// All guesses of the user's next prompt, best first, as long as one of them can be taken
    /// ([`AgentHandle::take_guess`](crate::AgentHandle::take_guess)): also behind other words in the line.
    pub guesses: Vec<GuessView>,
    /// The id of work that the user has taken and that is not handed over yet.
    pub taken: Option<String>,
    /// What the user is asked.
    pub question: Option<Question>,
    /// Whether a suggestion is asked for at this moment.
    pub is_asking: bool,
    /// The code of the reason why the last question for a suggestion gave none.
    pub unsuggested: Option<String>,
    /// What turns have staged and nobody has written yet. Once nothing goes on, the user can write or drop it
    /// ([`AgentHandle::write_staged`](crate::AgentHandle::write_staged)); any prompt leaves it for later.
    pub unwritten: Option<Arc<ApprovalRequest>>,
}

/// What is going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Phase {
    /// Nothing is going on: a prompt begins a turn.
    #[default]
    Idle,
    /// A prompt was sent, and the workspace is checked for what the user has undone.
    Opening,
    /// The model is at work.
    Turn,
    /// The beginning of the conversation is being summed up, because the model cannot see all of it at once.
    Compacting,
    /// Work ahead that the user took is being finished and applied.
    Accepting,
    /// Work ahead that the user took, or what turns have staged, waits for their answer.
    Asking,
    /// What turns have staged is being written.
    Writing,
    /// The user interrupted, and what goes on is about to end.
    Stopping,
    /// The conversation is over.
    Ended,
}

/// Prompts that are to be in the line again: the front end puts them before the text in the line, once for each
/// revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Distinguishes this draft from the one before.
    pub revision: u64,
    /// The prompts, one a line.
    pub text: String,
}

/// The suggestion on screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownSuggestion {
    /// The whole text.
    pub text: String,
    /// The part that is not typed yet; `None` if the typed text is the same except for blanks or a full stop.
    pub rest: Option<String>,
    /// The position among the candidates.
    pub place: CandidatePosition,
    /// All candidates, best first: sending any of them takes it.
    pub all: Vec<Suggestion>,
}

/// One of the guesses of the user's next prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct GuessView {
    /// The whole text.
    pub text: String,
    /// The work that runs ahead for it.
    pub ahead: Option<WorkAheadView>,
}

/// The work that runs ahead for the suggestion on screen. It does not contain the prompt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WorkAheadView {
    /// The id of the work.
    pub id: String,
    /// What the work has done so far.
    pub progress: WorkProgress,
    /// How the work ended, once it has.
    pub finished: Option<Arc<Finished>>,
}

/// A question and its number.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The number that an answer has to name.
    pub id: QuestionId,
    /// What it is about.
    pub about: Arc<Subject>,
    /// What [`UserAnswer::Always`] would allow until the conversation ends; `None` if such calls are asked about each
    /// time.
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
    /// A call of the running turn: yes or no.
    Call(JudgedCall),
    /// Work that the user took, in a mode that asks before a write: yes or no to all of it.
    Changes(ApprovalRequest),
    /// Work that the user took, and what they changed meanwhile: a choice for each conflict, [`UserAnswer::Anew`] or
    /// no. Nothing is written before the answer.
    Conflicts {
        /// The conflicts.
        conflicts: Vec<Conflict>,
        /// What the work would change.
        changes: ChangeSet,
        /// What the work has cost in tokens, which is about what it costs to do it anew; `None` if turns have staged it:
        /// then it is not done anew, and a no leaves it staged.
        tokens: Option<u64>,
    },
    /// Work with commits that the user took, and what changed in the repository meanwhile: [`UserAnswer::Settled`] if
    /// the front end has kept the commits elsewhere, [`UserAnswer::Anew`] or no.
    Commits {
        /// The id of the work.
        work: String,
        /// The conflicts.
        conflicts: Vec<Conflict>,
        /// What the work would do to the repository.
        git: Option<headstart_git_ahead::GitChange>,
    },
}

/// What the user says to a question.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum UserAnswer {
    /// Yes.
    Yes,
    /// Yes to the changes of work, and to what can be kept of what an accept leaves out
    /// ([`ApprovalRequest::can_keep`]).
    Keep,
    /// Yes to a call, and to calls like it in turns until the conversation ends; [`Question::always`] says whether this
    /// is possible and to which calls.
    Always,
    /// No. If the question is about work, its prompt is in the line again.
    No,
    /// No to a call; the model is told this reason.
    NoBecause(String),
    /// What is kept for each conflict, in the order of the conflicts.
    Choices(Vec<Choice>),
    /// The work is dropped, and its prompt runs anew.
    Anew,
    /// The front end has already done what was needed; the work is dropped.
    Settled,
}

/// How the text of the line changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditKind {
    /// A key put text into it.
    Typed,
    /// It was changed in another way.
    Changed,
    /// It is an older prompt that was called back and may be replaced again.
    Recalled,
}

/// What became of a prompt that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submission {
    /// Its turn begins.
    Started,
    /// It waits until what goes on is over.
    Queued,
}

/// Why an action of the user had no effect. A front end may ignore it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ActionError {
    /// The conversation is over.
    #[error("the conversation is over")]
    Ended,
    /// The action was about something that is not there any more.
    #[error("it is about something that is not there any more")]
    Stale,
    /// The action came too soon after a change of what is shown.
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
    /// The items that are new or have changed, in order.
    pub items: Vec<ItemChange>,
    /// Everything that there is to draw at the time of these changes: a question comes together with everything that
    /// was told before it.
    pub view: Arc<View>,
    /// What turns told and how they ended, in order, if [`AgentOptions::events`](crate::AgentOptions::events) asks for
    /// it.
    pub events: Vec<TurnEvent>,
}

/// What a turn told, for a front end that writes it down.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// Something happened.
    Reported(Event),
    /// The turn is over.
    Ended(Ending),
    /// The conversation was made shorter for its model.
    Compacted(Compaction),
}
