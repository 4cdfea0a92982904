//! The rules of a conversation: what follows from the user's actions and from reports of the work under way.
//!
//! Nothing in here does IO, reads a clock or waits: the core asks for an [`Effect`], whose result comes back as a
//! [`Report`]. A report that comes late is legal and changes nothing.

mod accept;
mod compaction;
mod effect;
mod matching;
mod questions;
mod session_file;
mod settings;
mod staged;
mod suggestions;
mod summary_ahead;
mod title;
mod turn;
mod turns;
mod window_use;

use std::collections::VecDeque;
use std::sync::Arc;

use headstart_budget::ledger::Outcome;
use headstart_budget::policy::Mode;
use headstart_budget::{Metering, PendingWrites};
use headstart_followup_state::{Event as Followup, Suggestion};
use headstart_overlay_fs::ContentHash;
use headstart_speculation::{Ending, Engine, Event, Finished, Origin, Staged, Transcript, UndoReport};
use headstart_tool_gate::ApprovalMode;

use self::accept::PendingAccept;
use self::compaction::{CompactionState, PendingCompaction};
pub(crate) use self::effect::{ConsentRequest, Effect, Report, SummaryQuery};
pub use self::matching::{Extension, MatchedWork};
use self::questions::PendingQuestion;
use self::session_file::SessionFileState;
use self::staged::{StagedWork, StagedWrite};
use self::suggestions::Suggesting;
pub(crate) use self::suggestions::pause_before_question;
use self::summary_ahead::SummaryAhead;
pub(crate) use self::title::{TITLE_PROMPT, TITLE_TOKENS};
pub use self::turn::{Turn, UndoneBefore};
pub use self::window_use::WindowUse;
use crate::conversation::Conversation;
use crate::item::Item;
use crate::log::Log;
use crate::options::AgentOptions;
use crate::ports::Runtime;
use crate::session_rules::SessionRules;
use crate::view::{
    ActionError, Draft, EditKind, GuessView, Phase, ShownSuggestion, Submission, TurnEvent, View,
};
use crate::work::WorkAhead;

/// The moment in which something happens.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Now {
    /// On the host's clock, which never goes back.
    pub(crate) ms: u64,
    /// Since the Unix epoch.
    pub(crate) unix_ms: u64,
}

/// What is going on in the conversation.
#[derive(Default)]
enum Activity {
    #[default]
    Idle,
    /// Before a prompt runs, the workspace is checked for what the user has undone. With `work`, the work that ran
    /// ahead for the prompt is taken then.
    Opening { prompt: String, work: Option<Box<WorkAhead>> },
    /// A turn in the foreground, which began with this prompt.
    Turn { prompt: String },
    /// The conversation is made shorter, before a turn begins or goes on, or because the user asked for it.
    Compacting(Box<PendingCompaction>),
    /// Work is being accepted; it may still be running.
    Accepting(Box<PendingAccept>),
    /// The user has taken work and is asked about it.
    AwaitingAnswer(Box<PendingAccept>),
    /// What turns have staged is being written.
    Writing(Box<StagedWrite>),
    /// What turns have staged could not be written as it is, and the user is asked about it.
    AwaitingChoices(Box<StagedWrite>),
}

/// The state of a conversation, and its rules; see the module.
pub(crate) struct Core {
    options: AgentOptions,
    engine: Engine,
    runtime: Arc<dyn Runtime>,
    conversation: Conversation,
    suggesting: Suggesting,
    log: Log,
    /// What turns told and how they ended, since the events were taken last.
    events: Vec<TurnEvent>,
    now: Now,
    /// The text in the front end's line.
    line: String,
    /// The last number that was given to a request, a question or a suggestion.
    last_number: u64,
    activity: Activity,
    staged: StagedWork,
    pending_question: Option<PendingQuestion>,
    session_rules: SessionRules,
    queue: VecDeque<String>,
    draft: Option<Draft>,
    /// How the conversation is kept within what its model sees at once.
    compaction: CompactionState,
    /// The summary that the next turn may need.
    summary_ahead: Option<SummaryAhead>,
    /// Whether the user stopped what goes on.
    interrupted: bool,
    is_over: bool,
    session_file: SessionFileState,
    /// The work that was taken last, applied or not, so that the user can look at what it changed or would have
    /// changed.
    applied: VecDeque<Arc<Finished>>,
    /// What the user has undone and the model does not know yet, as of the last check.
    undone: UndoReport,
    /// The turns that were taken back, until the model's note of that is kept.
    told_undone: Vec<ContentHash>,
    /// The last turns, oldest first.
    turns: VecDeque<Turn>,
    /// Tools that were withheld when the conversation was cleared: the conversation that begins then does not offer
    /// them.
    withheld: Vec<String>,
    /// Tools that do not fit into what the model sees at once, as the user was told.
    left_out: Vec<String>,
    /// The mode that the model believes to be in force. All that it can tell is whether it has tools.
    announced_mode: ApprovalMode,
    effects: VecDeque<Effect>,
    revision: u64,
}

impl Core {
    pub(crate) fn new(
        options: AgentOptions,
        engine: Engine,
        runtime: Arc<dyn Runtime>,
        conversation: Conversation,
        session_rules: SessionRules,
        (is_kept, staged): (bool, Staged),
    ) -> Self {
        let mut core = Self {
            suggesting: Suggesting::default(),
            session_rules,
            runtime,
            conversation,
            compaction: CompactionState::new(options.window),
            summary_ahead: None,
            options,
            log: Log::new(engine.toolbox.clone()),
            engine,
            events: Vec::new(),
            now: Now::default(),
            line: String::new(),
            last_number: 0,
            withheld: Vec::new(),
            left_out: Vec::new(),
            activity: Activity::Idle,
            staged: StagedWork::new(staged),
            pending_question: None,
            queue: VecDeque::new(),
            draft: None,
            interrupted: false,
            is_over: false,
            session_file: SessionFileState::default(),
            applied: VecDeque::new(),
            undone: UndoReport::default(),
            told_undone: Vec::new(),
            turns: VecDeque::new(),
            announced_mode: ApprovalMode::Default,
            effects: VecDeque::new(),
            revision: 0,
        };
        core.restore_session(is_kept);
        core.enable();
        core
    }

    /// Sets the time of what happens next.
    pub(crate) fn at(&mut self, now: Now) -> &mut Self {
        self.now = now;
        self.revision += 1;
        self
    }

    /// Has new entries of the metering kept.
    pub(crate) fn save_metering(&mut self) {
        let pending_writes = self.options.metering.take_pending_writes();
        if pending_writes != PendingWrites::default() {
            self.effects.push_back(Effect::Keep(pending_writes));
        }
    }

    /// Takes the next effect out of the queue.
    pub(crate) fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    pub(crate) fn has_effects(&self) -> bool {
        !self.effects.is_empty()
    }

    pub(crate) fn log(&mut self) -> &mut Log {
        &mut self.log
    }

    pub(crate) fn take_events(&mut self) -> Vec<TurnEvent> {
        std::mem::take(&mut self.events)
    }

    /// Stops keeping the events of turns, because nobody takes them any more.
    pub(crate) fn forget_events(&mut self) {
        self.options.events = false;
        self.events = Vec::new();
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn metering(&self) -> &Metering {
        &self.options.metering
    }

    /// Takes in the result of an effect.
    pub(crate) fn report(&mut self, report: Report) {
        match report {
            Report::Opened { undo_report, attachments } => self.opened(undo_report, attachments),
            Report::TurnEvent { event, said } => {
                self.keep_said(&said);
                self.keep_begun(&event);
                self.record_event(event, Origin::Turn);
            }
            Report::Asked(asked) => self.consent_requested(asked),
            Report::TurnEnded { ending, transcript, cost, token_estimate } => {
                self.compaction.set_token_estimate(token_estimate);
                self.turn_ended(ending, transcript, &cost);
            }
            Report::SummedUp { answer, work_ms } => self.summed_up(answer, work_ms),
            Report::SummedUpAhead { answer, work_ms } => self.summed_up_ahead(answer, work_ms),
            Report::Titled { answer, work_ms } => self.titled(answer, work_ms),
            Report::QueryAnswered { request, undo_report, answer, work_ms } => {
                self.query_answered(request, undo_report, answer, work_ms);
            }
            Report::NextKnown { request, next, why_none } => self.next_known(request, next, why_none),
            Report::WorkStarted(speculation) => self.work_started(speculation),
            Report::WorkEvent { id, event } => self.work_event(&id, event),
            Report::WorkEnded { id, finished } => self.work_ended(&id, finished),
            Report::UndoFound(undo_report) => self.undo_found(undo_report),
            Report::Accepted(accepted) => self.accepted(*accepted),
            Report::StagedWritten(written) => self.staged_written(*written),
            Report::HabitsRead(habits) => self.options.metering.set_habits(habits),
            Report::Trouble(text) => self.log.push(Item::Trouble { text }),
            Report::Wake => self.followup(Followup::Wake),
            Report::MarkedLong => self.look_marked(),
        }
    }

    /// Handles a prompt that the user sends.
    pub(crate) fn submit(&mut self, prompt: &str) -> Result<Submission, ActionError> {
        self.is_open()?;
        if prompt.trim().is_empty() {
            return Err(ActionError::Empty);
        }
        self.line.clear();
        if self.is_busy() {
            // The line is empty again; the suggestion stays.
            self.followup(Followup::Edited { text: String::new() });
            self.queue.push_back(prompt.to_owned());
            return Ok(Submission::Queued);
        }
        self.send(prompt);
        Ok(Submission::Started)
    }

    /// Sends the last prompt once more.
    pub(crate) fn retry(&mut self) -> Result<(), ActionError> {
        self.is_open()?;
        if self.is_busy() {
            return Err(ActionError::Busy);
        }
        let last = self.log.items().iter().rev().find_map(|item| match &**item {
            Item::Prompt { text } => Some(text.clone()),
            _ => None,
        });
        self.submit_as_typed(&last.ok_or(ActionError::Empty)?).map(|_| ())
    }

    /// Takes the prompt that was sent last out of the queue.
    pub(crate) fn take_back_queued(&mut self) -> Option<String> {
        self.queue.pop_back()
    }

    /// Handles another text in the line. Text for the model gives up the suggestions and the work ahead, unless a
    /// suggestion begins with it. A command does not, because it may be about them, and neither does a prompt that was
    /// called back, because it may go away again.
    pub(crate) fn edited(&mut self, text: &str, edit: EditKind) {
        text.clone_into(&mut self.line);
        let is_typing = self.is_typing();
        if edit == EditKind::Typed && is_typing {
            self.drop_query();
        }
        let goes_with_it =
            self.suggesting.controller.offered().is_some_and(|offered| offered.any_matches(text));
        if text.is_empty() || goes_with_it || (is_typing && edit != EditKind::Recalled) {
            self.followup(Followup::Edited { text: text.to_owned() });
        } else {
            self.followup(Followup::Keystroke { typed: false });
        }
        if edit != EditKind::Recalled {
            self.offer_passed_again(text);
        }
    }

    /// Handles what the user does to the suggestion other than taking it.
    pub(crate) fn on_suggestion(&mut self, event: Followup) {
        self.followup(event);
        let shown = self.suggesting.controller.visible().map(Suggestion::to_string);
        self.mark(&shown.unwrap_or_default());
    }

    /// Stops what goes on; a question about work that the user took is answered with no.
    pub(crate) fn interrupt(&mut self) -> Result<(), ActionError> {
        self.is_open()?;
        match &self.activity {
            // A write that has begun is completed.
            Activity::Idle | Activity::Writing(_) => return Err(ActionError::Stale),
            Activity::Opening { .. } => {}
            Activity::Turn { .. } => {
                self.pending_question = None;
                self.effects.push_back(Effect::StopTurn);
            }
            Activity::Compacting(_) => {
                self.drop_compacting();
                return Ok(());
            }
            Activity::Accepting(taken) => self.effects.push_back(Effect::Abort(taken.speculation.clone())),
            Activity::AwaitingAnswer(_) | Activity::AwaitingChoices(_) => {
                self.decline();
                return Ok(());
            }
        }
        self.interrupted = true;
        Ok(())
    }

    /// Forgets what was said.
    pub(crate) fn clear(&mut self) -> Result<(), ActionError> {
        self.is_open()?;
        if self.is_busy() {
            return Err(ActionError::Busy);
        }
        self.forget_suggestion();
        self.drop_summary_ahead();
        self.conversation.clear();
        self.compaction = CompactionState::new(self.options.window);
        self.log.clear();
        let (rules, tools) = (self.engine.host.gate_context(), self.engine.offered_tools());
        self.withheld = tools.into_iter().map(|tool| tool.name).filter(|name| rules.excludes(name)).collect();
        self.offer_tools();
        self.suggesting.unsuggested = None;
        self.clear_session();
        Ok(())
    }

    /// Ends the conversation: what goes on is stopped, work ahead is dropped, and the ledger is told.
    pub(crate) fn close(&mut self) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        self.drop_query();
        self.drop_summary_ahead();
        self.drop_title();
        self.followup(Followup::Clear);
        self.queue.clear();
        self.pending_question = None;
        match std::mem::take(&mut self.activity) {
            Activity::Idle => {}
            Activity::Opening { work, .. } => {
                if let Some(work) = work {
                    self.give_up(*work, Outcome::Aborted);
                }
            }
            // The turn stays until its end is reported, because the cost is reported with it.
            activity @ Activity::Turn { .. } => {
                self.effects.push_back(Effect::StopTurn);
                self.activity = activity;
            }
            activity @ Activity::Writing(_) => self.activity = activity,
            Activity::AwaitingChoices(write) => {
                if let Some((prompt, transcript, ending)) = write.turn {
                    self.end(prompt, transcript, ending);
                }
            }
            Activity::Compacting(_) => self.effects.push_back(Effect::DropSummary),
            Activity::Accepting(taken) | Activity::AwaitingAnswer(taken) => {
                self.drop_pending_accept(*taken, Outcome::Aborted);
            }
        }
        if !self.is_busy() {
            let is_answered = self.compaction.end_turn() || 0 < self.session_file.said;
            self.keep_turn_end(&Transcript::default(), is_answered);
        }
    }

    /// Ends the conversation at once, because the driver that did its work is gone.
    pub(crate) fn abandon(&mut self) {
        self.is_over = true;
        self.activity = Activity::Idle;
        self.pending_question = None;
    }

    /// Whether the conversation is over and nothing is left to wait for.
    pub(crate) fn has_ended(&self) -> bool {
        self.is_over && matches!(self.activity, Activity::Idle)
    }

    /// Builds everything that there is to draw.
    pub(crate) fn view(&self) -> View {
        let suggestion = self.suggesting.controller.visible().map(|suggestion| ShownSuggestion {
            text: suggestion.to_string(),
            rest: suggestion.rest_after(&self.line).map(str::to_owned),
            place: self.suggesting.controller.place().unwrap_or_default(),
            all: self
                .suggesting
                .controller
                .offered()
                .map(|offered| offered.suggestions().to_vec())
                .unwrap_or_default(),
        });
        View {
            revision: self.revision,
            phase: self.phase(),
            items: self.log.items().to_vec(),
            queued: self.queue.iter().cloned().collect(),
            draft: self.draft.clone(),
            suggestion,
            ahead: self.ahead().map(WorkAhead::view),
            guesses: self.guesses(),
            taken: self.pending_accept_id().map(str::to_owned),
            question: self.pending_question.as_ref().map(PendingQuestion::view),
            is_asking: self.suggesting.query.is_some(),
            unsuggested: self.suggesting.unsuggested.clone(),
            unwritten: self.staged.asks(),
        }
    }

    /// The guesses of the user's next prompt, also behind other words in the line.
    fn guesses(&self) -> Vec<GuessView> {
        let all = self.candidates().map(|candidates| candidates.suggestions().iter());
        let offers = self.suggesting.offers.iter();
        let guesses = all.into_iter().flatten().zip(offers).map(|(suggestion, offer)| GuessView {
            text: suggestion.to_string(),
            ahead: offer.work.as_ref().map(WorkAhead::view),
        });
        guesses.collect()
    }

    /// The work ahead that the user would take now.
    pub(crate) fn ahead(&self) -> Option<&WorkAhead> {
        self.suggesting.offers.get(self.suggesting.controller.offered()?.on_screen())?.work.as_ref()
    }

    pub(crate) fn phase(&self) -> Phase {
        match &self.activity {
            Activity::Idle if self.is_over => Phase::Ended,
            Activity::Idle => Phase::Idle,
            _ if self.interrupted || self.is_over => Phase::Stopping,
            Activity::Opening { .. } => Phase::Opening,
            Activity::Turn { .. } => Phase::Turn,
            Activity::Compacting(_) => Phase::Compacting,
            Activity::Accepting(_) => Phase::Accepting,
            Activity::AwaitingAnswer(_) | Activity::AwaitingChoices(_) => Phase::Asking,
            Activity::Writing(_) => Phase::Writing,
        }
    }

    fn is_open(&self) -> Result<(), ActionError> {
        if self.is_over { Err(ActionError::Ended) } else { Ok(()) }
    }

    fn is_busy(&self) -> bool {
        !matches!(self.activity, Activity::Idle)
    }

    /// Whether the line holds words for the model.
    fn is_typing(&self) -> bool {
        !self.line.is_empty() && !self.line.starts_with(['/', '!'])
    }

    fn enable(&mut self) {
        let enabled = self.options.suggestions && self.options.metering.mode() != Mode::Off;
        self.followup(Followup::Enabled { enabled });
    }

    /// Updates what the policy knows of the machine; called before the policy is asked.
    fn update_machine(&mut self) {
        self.options.metering.set_machine(self.runtime.machine());
    }

    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn next_id(&mut self) -> String {
        let number = self.next_number();
        format!("{}-{number}", self.options.id)
    }

    /// Makes an item of how a turn ended.
    fn record_end(&mut self, ending: Ending) {
        if self.options.events {
            self.events.push(TurnEvent::Ended(ending.clone()));
        }
        self.log.set_source(self.now.ms, Origin::Turn);
        self.log.end_calls();
        self.log.push(Item::End { ending });
    }

    /// Makes an item of what a run tells.
    fn record_event(&mut self, event: Event, origin: Origin) {
        if self.options.events {
            self.events.push(TurnEvent::Reported(event.clone()));
        }
        self.log.set_source(self.now.ms, origin);
        self.log.apply_event(event);
    }
}
