//! Suggestions, from the question to the model to what becomes of each of them.

use std::sync::Arc;
use std::time::Duration;

use headstart_budget::ledger::Outcome;
use headstart_budget::policy::{Allowance, Beside, Guess};
use headstart_budget::{
    QueryCost, QuerySuppression, RunMeter, outcome_when_given_up, outcome_when_passed_over,
};
use headstart_followup_state::{
    Candidates, Config, Effect as FollowupEffect, Effects, Event as Followup, FollowupController,
    MAX_CANDIDATES, RequestId, Suggestion, Suggestions,
};
use headstart_forked_query::{BackgroundModel, Generated, ModelError, Suppressed, SuppressionReason};
use headstart_speculation::{Event, Finished, Limits, Origin, Speculation, UndoReport};
use headstart_tool_gate::ApprovalMode;

use super::matching::{MatchedWork, PassedSuggestions};
use super::{Core, Effect};
use crate::item::{Item, NoSuggestion};
use crate::work::WorkAhead;

/// How long a further suggestion is marked until its work begins: whoever only passes by it does not pay for it.
const MARKED_FOR_MS: u64 = 300;

/// What is known of the user's next prompt: the suggestions, the question for them, and their work.
pub(super) struct Suggesting {
    pub(super) controller: FollowupController,
    pub(super) query: Option<SuggestionQuery>,
    /// The offers for suggestions that the controller is about to be told.
    pub(super) pending: Vec<Offer>,
    /// The offers for the suggestions that the controller shows, in its order.
    pub(super) offers: Vec<Offer>,
    /// The suggestions behind the offers, if their user typed something else: the controller does not have them any
    /// more, and their work stays until the prompt is sent, because it may ask for the same.
    pub(super) passed: Option<PassedSuggestions>,
    /// The work that was taken last because other words than its guess asked for it, until another prompt is sent.
    pub(super) matched: Option<MatchedWork>,
    /// The suggestion without work that the user has marked, by its id, and since when.
    marked: Option<(String, u64)>,
    /// The code of the reason why there is no suggestion.
    pub(super) unsuggested: Option<String>,
    /// Whether the host gave the suggestion on offer: nothing runs ahead for it.
    pub(super) is_offered_by_host: bool,
}

impl Default for Suggesting {
    fn default() -> Self {
        Self {
            controller: FollowupController::new(Config::default()),
            query: None,
            pending: Vec::new(),
            offers: Vec::new(),
            passed: None,
            matched: None,
            marked: None,
            unsuggested: None,
            is_offered_by_host: false,
        }
    }
}

/// What belongs to one suggestion besides its text, which the controller keeps.
pub(super) struct Offer {
    /// The id of the suggestion in the ledger.
    pub(super) id: String,
    /// The work that runs ahead for the suggestion.
    pub(super) work: Option<WorkAhead>,
    /// What its work may spend, if it was begun.
    allowance: Option<Allowance>,
}

impl Offer {
    pub(super) fn new(id: String) -> Self {
        Self { id, work: None, allowance: None }
    }
}

/// How long a user pauses before a model is asked for a suggestion. One on this machine answers one request after the
/// other, so the prompt of a quick user would wait behind the question.
pub(crate) fn pause_before_question(background: &BackgroundModel) -> Option<Duration> {
    background.is_local.then_some(Duration::from_secs(1))
}

/// A question for the next suggestion that has no answer yet.
pub(super) struct SuggestionQuery {
    request: RequestId,
    /// When it is sent, in milliseconds of the conversation's clock.
    sent_at: u64,
    /// The accepted work that asks the question by itself, and what of its cost is written down.
    accepted: Option<(Speculation, RunMeter)>,
}

/// The answer to a question for a suggestion.
struct SuggestionAnswer {
    suggestions: Result<Suggestions, NoSuggestionCause>,
    cost: QueryCost,
}

/// Why there is nothing to suggest.
struct NoSuggestionCause {
    /// The code, as in the ledger.
    reason: String,
    /// The error, if the question failed.
    error: Option<ModelError>,
}

impl From<SuppressionReason> for NoSuggestionCause {
    fn from(why: SuppressionReason) -> Self {
        let reason = why.as_str().to_owned();
        let error = match why {
            SuppressionReason::QueryFailed(error) => Some(error),
            _ => None,
        };
        Self { reason, error }
    }
}

impl NoSuggestionCause {
    fn with_reason(reason: &str) -> Self {
        Self { reason: reason.to_owned(), error: None }
    }
}

impl Core {
    /// Asks for a suggestion, unless the user is typing the next prompt already.
    pub(super) fn ask_for_suggestion(&mut self) {
        if !self.suggesting.controller.is_enabled() || self.is_typing() {
            return;
        }
        let guards = self.conversation.guards(self.mode() == ApprovalMode::Plan);
        if let Some(why) = guards.against(self.conversation.params(), &[]) {
            self.suggesting.unsuggested = Some(why.as_str().to_owned());
            return;
        }
        self.update_machine();
        if let Err(skip) = self.options.metering.ask_or_record(self.now.unix_ms) {
            self.suggesting.unsuggested = Some(skip.code().to_owned());
            if self.options.metering.should_report(skip) {
                self.log.push(Item::NoSuggestion(NoSuggestion::Skipped(skip)));
            }
            return;
        }
        let left_out = self.conversation.left_out_ahead(&self.engine.background);
        self.options.metering.record_left_out(self.now.unix_ms, true, left_out);
        let request = self.next_request();
        let pause = pause_before_question(&self.engine.background).unwrap_or_default();
        let sent_at = self.now.ms + u64::try_from(pause.as_millis()).unwrap_or(0);
        self.suggesting.query = Some(SuggestionQuery { request, sent_at, accepted: None });
        self.effects.push_back(Effect::AskSuggestion {
            request,
            params: Box::new(self.conversation.params().clone()),
            note: self.conversation.note().map(str::to_owned),
            guards,
            candidates: self.options.candidates,
        });
    }

    /// Waits for the suggestion after accepted work, which is there already or on its way.
    pub(super) fn await_next(&mut self, accepted: Speculation, meter: RunMeter) {
        if !self.suggesting.controller.is_enabled() {
            return self.drop_next(accepted, meter);
        }
        let request = self.next_request();
        self.effects.push_back(Effect::AwaitNext { request, accepted: accepted.clone() });
        let (sent_at, accepted) = (self.now.ms, Some((accepted, meter)));
        self.suggesting.query = Some(SuggestionQuery { request, sent_at, accepted });
    }

    pub(super) fn query_answered(
        &mut self,
        request: RequestId,
        undo_report: UndoReport,
        answer: Result<Generated, Suppressed>,
        work_ms: u64,
    ) {
        if self.suggesting.query.take_if(|query| query.request == request).is_none() {
            return;
        }
        self.mark_undone(undo_report);
        let (suggestions, tokens) = match answer {
            Ok(generated) => (Ok(generated.suggestions), generated.usage),
            Err(suppressed) => {
                // Another model may well see less than the conversation's own.
                if let SuppressionReason::QueryFailed(error) = &suppressed.reason
                    && self.engine.background.shares_cache(self.conversation.params())
                {
                    self.learn_window(error);
                }
                (Err(suppressed.reason.into()), suppressed.usage)
            }
        };
        let cost = QueryCost { tokens, work_ms, dropped: false };
        self.suggest(request, SuggestionAnswer { suggestions, cost });
    }

    pub(super) fn next_known(
        &mut self,
        request: RequestId,
        next: Option<Suggestions>,
        why_none: Option<SuppressionReason>,
    ) {
        let Some(query) = self.suggesting.query.take_if(|query| query.request == request) else { return };
        let Some((accepted, meter)) = query.accepted else { return };
        let cost = QueryCost { tokens: meter.spent_since(&accepted), ..QueryCost::default() };
        let none =
            || why_none.map_or_else(|| NoSuggestionCause::with_reason("empty"), NoSuggestionCause::from);
        self.suggest(request, SuggestionAnswer { suggestions: next.ok_or_else(none), cost });
    }

    fn suggest(&mut self, request: RequestId, answer: SuggestionAnswer) {
        let SuggestionAnswer { suggestions, cost } = answer;
        let best = suggestions.as_ref().ok().map(|all| all.best().clone());
        let shown = suggestions.and_then(|suggestions| self.likely(&suggestions));
        let ids: [String; MAX_CANDIDATES] = std::array::from_fn(|_| self.next_id());
        let not_shown = shown.as_ref().err();
        let unix_ms = self.now.unix_ms;
        // These two reasons are found without asking the model.
        if !not_shown.is_some_and(|none| matches!(&*none.reason, "early_conversation" | "plan_mode")) {
            let guess = best.as_ref().map(Guess::from);
            let reason =
                not_shown.map(|none| QuerySuppression { reason: &none.reason, error: none.error.as_ref() });
            self.options.metering.record_suggestion(unix_ms, &ids[0], guess, cost, reason);
        }
        match shown {
            Ok(suggestions) => {
                for (id, further) in ids.iter().zip(suggestions.iter()).skip(1) {
                    self.options.metering.record_candidate(unix_ms, id, further.into(), &ids[0]);
                }
                let offers = ids.into_iter().take(suggestions.len()).map(Offer::new);
                self.suggesting.pending = offers.collect();
                self.followup(Followup::suggested(request, suggestions));
            }
            Err(NoSuggestionCause { reason, error }) => {
                self.suggesting.unsuggested = Some(reason.clone());
                self.followup(Followup::Suppressed { request, reason });
                let is_new = |error: &ModelError| self.options.metering.should_report_error(error);
                if let Some(error) = error.filter(is_new) {
                    self.log.push(Item::NoSuggestion(NoSuggestion::Failed(error)));
                }
            }
        }
        self.close_pending();
    }

    /// Those of the suggestions that are to be shown, because guesses like them come true often enough.
    fn likely(&self, suggestions: &Suggestions) -> Result<Suggestions, NoSuggestionCause> {
        if self.is_typing() {
            return Err(NoSuggestionCause::with_reason("typing"));
        }
        let metering = &self.options.metering;
        let is_likely = |suggestion: &&Suggestion| metering.may_show(suggestion.chance()).is_ok();
        let likely = suggestions.iter().filter(is_likely).cloned();
        Suggestions::new(likely).ok_or_else(|| NoSuggestionCause::with_reason("unlikely"))
    }

    /// Closes the suggestions for which the controller had no use: they came too late, or are the same as those that
    /// are there.
    pub(super) fn close_pending(&mut self) {
        for unused in std::mem::take(&mut self.suggesting.pending) {
            self.close_offer(unused, Outcome::Aborted);
        }
    }

    /// What becomes of the suggestion if the user does something else now.
    pub(super) fn outcome_if_left(&self) -> Outcome {
        if self.suggesting.controller.is_on_offer() { Outcome::Ignored } else { Outcome::Replaced }
    }

    /// Gives up the question for a suggestion. What its answer would have cost is not known.
    pub(super) fn drop_query(&mut self) {
        let Some(query) = self.suggesting.query.take() else { return };
        self.effects.push_back(Effect::DropQuery);
        match query.accepted {
            Some((accepted, meter)) => self.drop_next(accepted, meter),
            None if self.now.ms < query.sent_at => {}
            None => self.options.metering.record_dropped_query(self.now.unix_ms),
        }
    }

    /// Gives up the question for what comes after accepted work.
    pub(super) fn drop_next(&mut self, accepted: Speculation, mut meter: RunMeter) {
        self.options.metering.record_dropped_next(self.now.unix_ms, &mut meter, &accepted);
        self.effects.push_back(Effect::Abort(accepted));
    }

    /// Gives up the suggestion, the question for one, and the work ahead.
    pub(super) fn forget_suggestion(&mut self) {
        self.leave_suggestion(Outcome::Aborted);
    }

    /// As [`forget_suggestion`](Self::forget_suggestion), and the ledger is told this outcome for what was on offer.
    pub(super) fn leave_suggestion(&mut self, outcome: Outcome) {
        self.followup_as(self.now.ms, Followup::Clear, outcome);
        self.drop_query();
    }

    /// Takes the suggestion that this text is, because the user has chosen it; the others are dropped. If the text is
    /// none of them, nothing happens.
    pub(super) fn take_offer(&mut self, offered: &Candidates, text: &str) -> Option<Offer> {
        let chosen = offered.position(text)?;
        self.take_offer_at(offered, chosen)
    }

    /// Takes the suggestion with this index; the others are dropped.
    pub(super) fn take_offer_at(&mut self, offered: &Candidates, chosen: usize) -> Option<Offer> {
        let mut taken = None;
        for (index, offer) in std::mem::take(&mut self.suggesting.offers).into_iter().enumerate() {
            if index == chosen {
                taken = Some(offer);
            } else {
                self.close_offer(offer, outcome_when_passed_over(offered, index));
            }
        }
        taken
    }

    /// Drops the suggestions and the work behind them.
    pub(super) fn close_offers(&mut self, offered: &Candidates, outcome: Outcome) {
        for (index, offer) in std::mem::take(&mut self.suggesting.offers).into_iter().enumerate() {
            self.close_offer(offer, outcome_when_given_up(offered, index, outcome));
        }
    }

    fn close_offer(&mut self, offer: Offer, outcome: Outcome) {
        match offer.work {
            Some(work) => self.give_up(work, outcome),
            None => self.options.metering.record_decision(self.now.unix_ms, &offer.id, outcome),
        }
    }

    /// Tells the ledger what became of work, and drops it.
    pub(super) fn give_up(&mut self, work: WorkAhead, outcome: Outcome) {
        let WorkAhead { mut meter, speculation, .. } = work;
        self.options.metering.record_run_outcome(self.now.unix_ms, &mut meter, &speculation, outcome, 0);
        self.effects.push_back(Effect::Abort(speculation));
    }

    /// Tells the controller of an event, and does what it asks for.
    pub(super) fn followup(&mut self, event: Followup) {
        self.followup_at(self.now.ms, event);
    }

    fn followup_at(&mut self, ms: u64, event: Followup) {
        let outcome = match event {
            // Wake is among these because it also comes after a typing slip that was not taken back.
            Followup::Dismiss | Followup::Keystroke { .. } | Followup::Edited { .. } | Followup::Wake => {
                self.outcome_if_left()
            }
            Followup::Suggested { .. } => Outcome::Replaced,
            _ => Outcome::Aborted,
        };
        self.followup_as(ms, event, outcome);
    }

    /// Tells the controller of an event; suggestions that it drops get this outcome in the ledger.
    fn followup_as(&mut self, ms: u64, event: Followup, outcome: Outcome) {
        let offered = self.suggesting.controller.offered().cloned();
        let types_past = self.types_past(&event);
        if matches!(event, Followup::Clear | Followup::Enabled { .. } | Followup::Dismiss) {
            self.close_passed();
        }
        let effects = self.suggesting.controller.handle(ms, event);
        if types_past && effects.contains(&FollowupEffect::AbandonSpeculation) {
            let candidates = offered.clone();
            self.suggesting.passed = candidates.map(|candidates| PassedSuggestions { candidates, outcome });
        }
        self.apply_followup_effects(effects, offered.as_ref(), outcome);
    }

    /// Does what the controller asks for; `offered` is what it offered before. A caller that reports an accept takes
    /// the chosen offer itself and drops the others.
    pub(super) fn apply_followup_effects(
        &mut self,
        effects: Effects,
        offered: Option<&Candidates>,
        outcome: Outcome,
    ) {
        for effect in effects {
            match (effect, offered) {
                (FollowupEffect::Show { .. }, _) => self.options.metering.note_shown(),
                (FollowupEffect::WakeAt { at }, _) => self.effects.push_back(Effect::WakeAt(at)),
                (FollowupEffect::StartSpeculation { suggestions }, _) => self.start_ahead(&suggestions),
                (FollowupEffect::AbandonSpeculation, Some(offered)) if self.suggesting.passed.is_none() => {
                    self.close_offers(offered, outcome);
                }
                _ => {}
            }
        }
    }

    /// Runs the best of these suggestions ahead, if the policy allows it.
    fn start_ahead(&mut self, suggestions: &Suggestions) {
        self.close_passed();
        self.suggesting.offers = std::mem::take(&mut self.suggesting.pending);
        self.suggesting.marked = None;
        if std::mem::take(&mut self.suggesting.is_offered_by_host) {
            return;
        }
        self.start_work_for(0, suggestions.best());
    }

    /// Runs one of the suggestions ahead, beside those that run already, if the policy allows it.
    fn start_work_for(&mut self, index: usize, suggestion: &Suggestion) {
        if !self.options.speculation {
            return;
        }
        self.update_machine();
        let running = self.suggesting.offers.iter().filter_map(|offer| offer.allowance);
        let waiting = self.suggesting.offers.iter().filter(|offer| offer.allowance.is_none()).count();
        let beside =
            Beside { promised: running.map(|allowance| allowance.money()).sum(), has_others: 1 < waiting };
        let Some(offer) = self.suggesting.offers.get_mut(index) else { return };
        let guess = Guess::from(suggestion);
        let allowed = self.options.metering.allow_run(self.now.unix_ms, &offer.id, guess, beside);
        let Some(allowance) = allowed else { return };
        offer.allowance = Some(allowance);
        // Another model sees another amount at once, so the limit is not for it.
        let is_its_own = self.engine.background.shares_cache(self.conversation.params());
        let window = is_its_own.then(|| self.compaction.limit());
        self.effects.push_back(Effect::StartWork {
            id: offer.id.clone(),
            preface: self.conversation.preface(&self.undone),
            prompt: suggestion.to_string(),
            params: Box::new(self.conversation.params().clone()),
            limits: allowance.under(Limits { window, ..self.engine.limits }),
        });
    }

    /// Handles that the user looks at one of the suggestions, on the screen or in a list of them.
    pub(crate) fn mark(&mut self, text: &str) {
        let index = self.candidates().and_then(|candidates| candidates.position(text));
        // Whether the best one runs was decided when it came.
        let offer = index.filter(|index| 0 < *index).and_then(|index| self.suggesting.offers.get(index));
        let marked = offer.filter(|offer| offer.allowance.is_none()).map(|offer| offer.id.clone());
        if marked.as_ref() == self.suggesting.marked.as_ref().map(|(id, _)| id) {
            return;
        }
        self.suggesting.marked = marked.map(|id| (id, self.now.ms));
        if let Some((_, since)) = self.suggesting.marked {
            self.effects.push_back(Effect::LookMarkedAt(since.saturating_add(MARKED_FOR_MS)));
        }
    }

    /// Runs the marked suggestion ahead, if it has been marked for long enough.
    pub(super) fn look_marked(&mut self) {
        let is_due = |(_, since): &mut (String, u64)| since.saturating_add(MARKED_FOR_MS) <= self.now.ms;
        let Some((id, _)) = self.suggesting.marked.take_if(is_due) else { return };
        let Some(index) = self.suggesting.offers.iter().position(|offer| offer.id == id) else { return };
        let suggestion = self.candidates().and_then(|all| all.suggestions().get(index)).cloned();
        if let Some(suggestion) = suggestion {
            self.start_work_for(index, &suggestion);
        }
    }

    pub(super) fn work_started(&mut self, speculation: Speculation) {
        let offer = self.suggesting.offers.iter_mut().find(|offer| offer.id == speculation.id());
        match offer {
            Some(offer) => offer.work = Some(WorkAhead::new(self.now.unix_ms, speculation)),
            // The suggestion of the work is gone by now. The work has cost nothing, because it was not polled before
            // this report.
            None => self.effects.push_back(Effect::Abort(speculation)),
        }
    }

    pub(super) fn work_event(&mut self, id: &str, event: Event) {
        match self.pending_accept() {
            Some(taken) if taken.speculation.id() == id => {
                if taken.is_live {
                    self.record_event(event, Origin::Ahead);
                } else if !matches!(event, Event::CallState(_) | Event::CallOutput { .. }) {
                    taken.reported.push(event);
                }
            }
            _ => {
                let toolbox = self.engine.toolbox.clone();
                let mut offered = self.suggesting.offers.iter_mut().filter_map(|offer| offer.work.as_mut());
                if let Some(work) = offered.find(|work| work.speculation.id() == id) {
                    work.add_event(event, &toolbox);
                }
            }
        }
    }

    /// Writes down at once what a run that has ended cost, because the host may be killed before the user decides.
    pub(super) fn work_ended(&mut self, id: &str, finished: Arc<Finished>) {
        let (unix_ms, toolbox) = (self.now.unix_ms, self.engine.toolbox.clone());
        let mut offered = self.suggesting.offers.iter_mut().filter_map(|offer| offer.work.as_mut());
        if let Some(work) = offered.find(|work| work.speculation.id() == id) {
            work.end(finished, &toolbox);
            if !work.meter.is_recorded() {
                self.options.metering.record_run(unix_ms, &mut work.meter, &work.speculation);
            }
        }
    }

    pub(super) fn next_request(&mut self) -> RequestId {
        let request = RequestId(self.next_number());
        self.suggesting.unsuggested = None;
        self.followup(Followup::Requested { request });
        request
    }
}
