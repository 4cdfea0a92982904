//! What a conversation with work ahead costs and what comes of it: the entries for the ledger, and the answers of the
//! policy.

mod entries;
mod run;

use std::collections::{BTreeMap, BTreeSet};

use headstart_forked_query::{ModelError, Usage};
use headstart_overlay_fs::ContentHash;
use headstart_speculation::{Cost, Speculation, Status};

pub use self::entries::{EntryBuilder, QueryCost, QuerySuppression, outcome, outcome_of_acceptance};
pub use self::run::RunMeter;
use crate::ledger::{Entry, Outcome};
use crate::policy::{
    Allowance, Beside, Experience, Guess, HabitUpdate, Habits, Mode, Policy, SkipReason, Tariff,
};

/// What one conversation knows of costs and outcomes. It is asked before something is done ahead, and told what came of
/// it.
///
/// It reads no clock and writes no file. Every method that needs the time takes it, in milliseconds since the Unix
/// epoch. After a call that may have written something down, the host fetches that with
/// [`take_pending_writes`](Self::take_pending_writes).
#[derive(Debug)]
pub struct Metering {
    entries: EntryBuilder,
    policy: Policy,
    experience: Experience,
    /// Why the machine that does the background work has no capacity to spare.
    machine: Option<SkipReason>,
    /// Why suggestions did not run, by their ids, until their outcome is known.
    skipped: BTreeMap<String, &'static str>,
    /// Whether a suggestion was ever on screen.
    has_shown: bool,
    /// The codes of what was reported: why nothing is suggested, and which errors there were.
    reported: BTreeSet<String>,
    pending_writes: PendingWrites,
    /// All entries of this conversation.
    session: Vec<Entry>,
}

/// What a host has to keep.
#[derive(Debug, Default, PartialEq)]
pub struct PendingWrites {
    /// For the end of the project's ledger, in order.
    pub entries: Vec<Entry>,
    /// For the habits of the user, which are kept for all projects. The experience in here has learned them already.
    pub habit_updates: Vec<HabitUpdate>,
}

impl Metering {
    /// Begins a conversation; `past` is what the ledger has so far.
    pub fn new(entries: EntryBuilder, policy: Policy, habits: Habits, past: &[Entry]) -> Self {
        let experience = Experience::of(entries.tariff().clone(), habits, past);
        Self {
            entries,
            policy,
            experience,
            machine: None,
            skipped: BTreeMap::new(),
            has_shown: false,
            reported: BTreeSet::new(),
            pending_writes: PendingWrites::default(),
            session: Vec::new(),
        }
    }

    /// Takes what has to be kept since the last call.
    pub fn take_pending_writes(&mut self) -> PendingWrites {
        std::mem::take(&mut self.pending_writes)
    }

    /// How much is done ahead.
    pub fn mode(&self) -> Mode {
        self.policy.mode
    }

    /// Sets how much is done ahead from now on.
    pub fn set_mode(&mut self, mode: Mode) {
        self.policy.mode = mode;
    }

    /// Sets other models, which are asked from now on.
    pub fn set_tariff(&mut self, tariff: Tariff) {
        self.experience.set_tariff(tariff.clone());
        self.entries.set_tariff(tariff);
    }

    /// The entries of this conversation, in order: what it cost, and what became of the work ahead.
    pub fn session(&self) -> &[Entry] {
        &self.session
    }

    /// The limits.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What was learned.
    pub fn experience(&self) -> &Experience {
        &self.experience
    }

    /// Takes over habits that other conversations have changed.
    pub fn set_habits(&mut self, habits: Habits) {
        self.experience.set_habits(habits);
    }

    /// Sets why the machine that does the background work has no capacity to spare, or `None` if it has. If another
    /// machine does the work, this need not be called. It counts in [`Mode::Auto`].
    pub fn set_machine(&mut self, trouble: Option<SkipReason>) {
        self.machine = trouble;
    }

    /// Notes that a suggestion is on screen.
    pub fn note_shown(&mut self) {
        self.has_shown = true;
    }

    /// Whether to report now why no suggestion comes: once for each reason, and only after the user has seen a
    /// suggestion.
    pub fn should_report(&mut self, skip: SkipReason) -> bool {
        self.has_shown && self.reported.insert(skip.code().to_owned())
    }

    /// Whether to report this error: once for each kind. If background work gave way to a turn, that is not an error.
    pub fn should_report_error(&mut self, error: &ModelError) -> bool {
        *error != ModelError::Yielded && self.reported.insert(format!("error {}", error.code()))
    }

    /// Whether to ask for a suggestion. If not, that is recorded too, because it is a lesson for the habits.
    pub fn ask_or_record(&mut self, now: u64) -> Result<(), SkipReason> {
        let answer = self.may_ask(now);
        if let Err(skip) = answer
            && skip != SkipReason::Off
        {
            self.record_suggestion(now, "", None, QueryCost::default(), Some(skip.code().into()));
        }
        answer
    }

    /// Whether a suggestion would be asked for now.
    pub fn may_ask(&self, now: u64) -> Result<(), SkipReason> {
        self.policy.allow_question(&self.experience, now)?;
        self.check_machine()
    }

    /// Whether to show a guess of which the model said that it is this sure, in percent.
    pub fn may_show(&self, said: Option<u8>) -> Result<(), SkipReason> {
        self.policy.allow_shown(&self.experience, said)
    }

    /// Whether to run this guess ahead, and what it may spend beside others. If not, the reason is written down with what
    /// becomes of the guess.
    pub fn allow_run(&mut self, now: u64, id: &str, guess: Guess<'_>, beside: Beside) -> Option<Allowance> {
        let answer = self.policy.allow_run(&self.experience, guess, beside, now);
        let answer = answer.and_then(|allowance| self.check_machine().map(|()| allowance));
        if let Err(skip) = answer {
            self.skipped.insert(id.to_owned(), skip.code());
        }
        answer.ok()
    }

    /// What is left of what questions and work that nobody takes may cost today, in money; `None` if that limits
    /// nothing.
    pub fn left_today(&self, now: u64) -> Option<f64> {
        self.policy.left_today(&self.experience, now)
    }

    /// Grants this session the limit of a day once more.
    pub fn grant(&mut self) {
        self.experience.grant();
        // It may be used up again, so that is reported again.
        self.reported.remove("limit");
    }

    fn check_machine(&self) -> Result<(), SkipReason> {
        let trouble = self.machine.filter(|_| self.policy.mode == Mode::Auto);
        trouble.map_or(Ok(()), Err)
    }

    /// Notes that the opaque part of another model is left out in this many answers; written down once for each model.
    pub fn record_left_out(&mut self, now: u64, is_ahead: bool, answers: usize) {
        let entry = self.entries.left_out(now, is_ahead, answers);
        if let Entry::LeftOut(left_out) = &entry
            && 0 < answers
            && self.reported.insert(format!("left out of {}", left_out.model))
        {
            self.record(entry);
        }
    }

    /// Notes that a turn of the user has ended; `interrupted` says that they interrupted it.
    pub fn record_turn(&mut self, now: u64, cost: &Cost, interrupted: bool) {
        self.record(self.entries.turn(now, cost, interrupted));
    }

    /// Notes that a summary was written while the user read.
    pub fn record_summary(&mut self, now: u64, tokens: Usage, work_ms: u64) {
        self.record(self.entries.summary(now, tokens, work_ms, false));
    }

    /// Notes a summary that is not waited for any longer.
    pub fn record_dropped_summary(&mut self, now: u64) {
        self.record(self.entries.summary(now, Usage::NOTHING, 0, true));
    }

    /// Notes that the model of background work was asked for a title.
    pub fn record_title(&mut self, now: u64, tokens: Usage, work_ms: u64) {
        self.record(self.entries.title(now, tokens, work_ms, false));
    }

    /// Notes a title that is not waited for any longer.
    pub fn record_dropped_title(&mut self, now: u64) {
        self.record(self.entries.title(now, Usage::NOTHING, 0, true));
    }

    /// Notes the answer to a query, or why there is nothing to show.
    pub fn record_suggestion(
        &mut self,
        now: u64,
        id: &str,
        guess: Option<Guess<'_>>,
        cost: QueryCost,
        suppression: Option<QuerySuppression<'_>>,
    ) {
        self.record(self.entries.suggestion(now, id, guess, cost, suppression));
    }

    /// Notes a query whose answer is not waited for any longer.
    pub fn record_dropped_query(&mut self, now: u64) {
        self.record_suggestion(now, "", None, QueryCost::DROPPED, Some("dropped".into()));
    }

    /// Notes a further candidate of the same answer as `first`.
    pub fn record_candidate(&mut self, now: u64, id: &str, guess: Guess<'_>, first: &str) {
        self.record(self.entries.candidate(now, id, guess, first));
    }

    /// Notes that the work of a run has ended: its cost is written at once, because the host may be killed before the
    /// user decides.
    pub fn record_run(&mut self, now: u64, meter: &mut RunMeter, speculation: &Speculation) {
        if let Some(entry) = meter.entry(now, &self.entries, speculation) {
            self.record(entry);
        }
    }

    /// Notes what became of a suggestion that was not run.
    pub fn record_decision(&mut self, now: u64, id: &str, outcome: Outcome) {
        let skip_code = self.skipped.remove(id);
        self.record(entries::skipped_entry(now, id, outcome, skip_code));
    }

    /// Notes that the user has taken back what this accepted work changed.
    pub fn record_undo(&mut self, now: u64, id: &str) {
        self.record(outcome(now, id, Outcome::Undone, 0));
    }

    /// Notes what became of a run. This must be called before the run is aborted, while it can still say what it cost.
    pub fn record_run_outcome(
        &mut self,
        now: u64,
        meter: &mut RunMeter,
        speculation: &Speculation,
        outcome: Outcome,
        saved_ms: u64,
    ) {
        if !outcome.is_hit() {
            self.record_dropped_next(now, meter, speculation);
        } else if !meter.is_recorded() {
            self.record_run(now, meter, speculation);
        }
        self.record(meter.outcome(now, speculation, outcome, saved_ms));
    }

    /// Notes that nobody waits for what comes after a run. What the query for it cost is written down here, and otherwise
    /// with the suggestion that it gives ([`RunMeter::spent_since`]): once, so that it counts as one query.
    pub fn record_dropped_next(&mut self, now: u64, meter: &mut RunMeter, speculation: &Speculation) {
        self.record_run(now, meter, speculation);
        if run::awaits_next_query(speculation) {
            self.record_dropped_query(now);
        }
    }

    /// Notes that work ahead of another program has ended, as [`record_run`](Self::record_run) does for a run of the
    /// engine.
    pub fn record_foreign_run(&mut self, now: u64, id: &str, prompt: &str, cost: &Cost, status: Status) {
        self.record(self.entries.speculation(now, id, prompt, cost, status));
    }

    /// Notes what became of that work; `changes` distinguishes the applied changes from others.
    pub fn record_foreign_outcome(
        &mut self,
        now: u64,
        id: &str,
        outcome: Outcome,
        saved_ms: u64,
        changes: Option<ContentHash>,
    ) {
        self.record(entries::outcome_entry(now, id, outcome, saved_ms, changes));
    }

    fn record(&mut self, entry: Entry) {
        let update = self.experience.observe(&entry);
        if !update.is_empty() {
            self.pending_writes.habit_updates.push(update);
        }
        self.session.push(entry.clone());
        self.pending_writes.entries.push(entry);
    }
}

#[cfg(test)]
mod tests;
