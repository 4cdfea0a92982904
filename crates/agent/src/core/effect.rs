//! What the rules of a conversation ask to be done, and the reports of what came of it.

use std::sync::Arc;

use headstart_budget::PendingWrites;
use headstart_budget::policy::Habits;
use headstart_followup_state::{RequestId, Suggestions};
use headstart_forked_query::{
    BackgroundModel, CacheSafeParams, Generated, Guards, Message, Model, ModelRequest, QueryAnswer,
    QueryError, Suppressed, SuppressionReason, TokenEstimate, ToolCall,
};
use headstart_speculation::{
    AcceptAnswers, Acceptance, Attachments, CallPreview, Consent, Cost, Ending, Event, Finished, Limits,
    Speculation, Transcript, UndoReport,
};
use headstart_tool_gate::{SessionRule, Verdict};
#[cfg(feature = "native")]
use headstart_toolbox::Toolbox;

/// The question for a summary.
pub(crate) struct SummaryQuery {
    /// The conversation of which a summary is asked for.
    pub(crate) params: CacheSafeParams,
    /// The model that is asked.
    pub(crate) model: String,
    pub(crate) prompt: String,
    /// The most tokens of the summary.
    pub(crate) tokens: u64,
}

/// Something that is to be done.
pub(crate) enum Effect {
    /// Looks for what the user has undone, and for what the model reads beside a prompt that is to run now:
    /// [`Report::Opened`].
    Open { prompt: Option<(String, Box<CacheSafeParams>)> },
    /// Runs a turn in the foreground: [`Report::TurnEvent`], [`Report::Asked`], and at last [`Report::TurnEnded`].
    StartTurn {
        request: Box<ModelRequest>,
        /// What the same turn did before its conversation was made shorter.
        earlier: Vec<Message>,
        transcript: Transcript,
        /// How many entries of the transcript are kept already ([`Transcript::said_since`]).
        kept: usize,
        limits: Limits,
    },
    /// Interrupts the turn; its end is reported.
    StopTurn,
    /// Answers the question with this number.
    Reply { ask: u64, consent: Consent },
    /// Asks the model what the user may want next: [`Report::QueryAnswered`].
    AskSuggestion {
        request: RequestId,
        params: Box<CacheSafeParams>,
        /// What the model has to know first, apart from what its user has undone, which is looked up.
        note: Option<String>,
        guards: Guards,
        candidates: usize,
    },
    /// Waits for the next suggestion, which accepted work asks for by itself: [`Report::NextKnown`].
    AwaitNext { request: RequestId, accepted: Speculation },
    /// Stops asking or waiting for a suggestion.
    DropQuery,
    /// Looks for what the user has undone: [`Report::UndoFound`].
    LookUndone,
    /// From now on the model that the ports ask has this name.
    UseModel(String),
    /// From now on these models are asked, in the user's turns and in background work.
    UseModels(Box<(Arc<dyn Model>, BackgroundModel)>),
    /// From now on these are the tools.
    #[cfg(feature = "native")]
    UseTools(Toolbox),
    /// Asks for a summary of this conversation: [`Report::SummedUp`].
    SumUp(Box<SummaryQuery>),
    /// Stops asking for the summary.
    DropSummary,
    /// Asks for a summary while the user reads, because the next turn will need it: [`Report::SummedUpAhead`].
    SumUpAhead(Box<SummaryQuery>),
    /// Stops asking for the summary ahead.
    DropSummaryAhead,
    /// Asks the model of background work for a title: [`Report::Titled`].
    AskTitle { params: Box<CacheSafeParams> },
    /// Stops asking for the title.
    DropTitle,
    /// Runs a prompt ahead: [`Report::WorkStarted`], then [`Report::WorkEvent`], [`Report::StepStarted`],
    /// [`Report::WorkEnded`].
    StartWork {
        id: String,
        /// What the model is told before the prompt.
        preface: String,
        prompt: String,
        params: Box<CacheSafeParams>,
        limits: Limits,
    },
    /// Writes what turns have staged: [`Report::StagedWritten`].
    WriteStaged { answers: AcceptAnswers },
    /// Has the host keep what turns have staged.
    KeepStaged,
    /// Accepts work, or stages it where turns have staged something: [`Report::Accepted`].
    Accept { work: Speculation, answers: AcceptAnswers },
    /// Gives up work.
    Abort(Speculation),
    /// Keeps what was metered.
    Keep(PendingWrites),
    /// Keeps these lines of the conversation.
    KeepSession(String),
    /// Reads what other conversations have learned: [`Report::HabitsRead`].
    ReadHabits,
    /// Sends [`Report::Wake`] at this time of the clock; a later effect of this kind replaces it.
    WakeAt(u64),
    /// Sends [`Report::MarkedLong`] at this time of the clock; a later effect of this kind replaces it.
    LookMarkedAt(u64),
}

impl Effect {
    /// The name of the effect in a log.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Open { .. } => "open",
            Self::StartTurn { .. } => "start_turn",
            Self::StopTurn => "stop_turn",
            Self::Reply { .. } => "reply",
            Self::AskSuggestion { .. } => "ask_suggestion",
            Self::AwaitNext { .. } => "await_next",
            Self::DropQuery => "drop_query",
            Self::SumUp(_) => "sum_up",
            Self::DropSummary => "drop_summary",
            Self::SumUpAhead(_) => "sum_up_ahead",
            Self::DropSummaryAhead => "drop_summary_ahead",
            Self::AskTitle { .. } => "ask_title",
            Self::DropTitle => "drop_title",
            Self::StartWork { .. } => "start_work",
            Self::WriteStaged { .. } => "write_staged",
            Self::KeepStaged => "keep_staged",
            Self::Accept { .. } => "accept",
            Self::Abort(_) => "abort",
            Self::Keep(_) => "keep",
            Self::KeepSession(_) => "keep_session",
            Self::ReadHabits => "read_habits",
            Self::LookUndone => "look_undone",
            Self::UseModel(_) => "use_model",
            Self::UseModels(_) => "use_models",
            #[cfg(feature = "native")]
            Self::UseTools(_) => "use_tools",
            Self::WakeAt(_) => "wake_at",
            Self::LookMarkedAt(_) => "look_marked_at",
        }
    }
}

/// A call of a turn that needs its user's consent.
pub(crate) struct ConsentRequest {
    /// The number with which the turn waits for the answer.
    pub(crate) ask: u64,
    pub(crate) call: ToolCall,
    pub(crate) verdict: Verdict,
    pub(crate) prepared: CallPreview,
    /// What would be allowed if the user says yes for the rest of the conversation.
    pub(crate) always: Option<SessionRule>,
}

/// What has come of an effect.
pub(crate) enum Report {
    Opened {
        undo_report: UndoReport,
        /// What the model reads beside the prompt, or why the prompt is not sent.
        attachments: Result<Attachments, String>,
    },
    TurnEvent {
        event: Event,
        /// What was said since the last report, to be kept before the event.
        said: Vec<Message>,
    },
    Asked(ConsentRequest),
    TurnEnded {
        ending: Ending,
        transcript: Transcript,
        cost: Cost,
        token_estimate: Option<TokenEstimate>,
    },
    SummedUp {
        answer: Result<QueryAnswer, QueryError>,
        work_ms: u64,
    },
    SummedUpAhead {
        answer: Result<QueryAnswer, QueryError>,
        work_ms: u64,
    },
    Titled {
        answer: Result<QueryAnswer, QueryError>,
        work_ms: u64,
    },
    QueryAnswered {
        request: RequestId,
        /// What the model was told that its user has undone.
        undo_report: UndoReport,
        answer: Result<Generated, Suppressed>,
        work_ms: u64,
    },
    NextKnown {
        request: RequestId,
        next: Option<Suggestions>,
        why_none: Option<SuppressionReason>,
    },
    WorkStarted(Speculation),
    WorkEvent {
        id: String,
        event: Event,
    },
    WorkEnded {
        id: String,
        finished: Arc<Finished>,
    },
    UndoFound(UndoReport),
    Accepted(Box<Result<Acceptance, String>>),
    StagedWritten(Box<Result<Acceptance, String>>),
    HabitsRead(Habits),
    Trouble(String),
    Wake,
    MarkedLong,
}
