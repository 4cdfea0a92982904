//! What a conversation with work ahead costs and comes to: the entries for the ledger, and the answers of the policy.

mod entries;
mod run;

use std::collections::{BTreeMap, BTreeSet};

use headstart_forked_query::{ModelError, Usage};
use headstart_overlay_fs::ContentHash;
use headstart_speculation::{Cost, Speculation, Status};

pub use self::entries::{EntryBuilder, NotShown, QueryCost, of_acceptance, outcome};
pub use self::run::RunMeter;
use crate::ledger::{Entry, Outcome};
use crate::policy::{Allowance, Experience, Habits, Lesson, Mode, Policy, Room, SkipReason, Tariff};

/// What one conversation knows of costs and outcomes: it is asked before something is done ahead, and told what came of it.
///
/// It reads no clock and writes no file. Every method that needs the time takes it, in milliseconds since the Unix epoch; after a call that may
/// have written something down the host takes it with [`take_unwritten`](Self::take_unwritten).
#[derive(Debug)]
pub struct Metering {
    entries: EntryBuilder,
    policy: Policy,
    experience: Experience,
    /// Why the machine that does the background work has nothing to spare.
    machine: Option<SkipReason>,
    /// Why suggestions did not run, by their id, until it is known what became of them.
    held: BTreeMap<String, &'static str>,
    /// Whether a suggestion was on screen.
    has_shown: bool,
    /// The codes of what was reported: why nothing is suggested, and what went wrong.
    reported: BTreeSet<String>,
    unwritten: Unwritten,
    /// All that was written down of this conversation.
    session: Vec<Entry>,
}

/// What a host has to keep.
#[derive(Debug, Default, PartialEq)]
pub struct Unwritten {
    /// For the end of the project's ledger, in order.
    pub entries: Vec<Entry>,
    /// For the habits of the user that are kept for all projects. The experience here has learned them.
    pub lessons: Vec<Lesson>,
}

impl Metering {
    /// A conversation begins, after what the ledger and the habits of the user tell.
    pub fn new(entries: EntryBuilder, policy: Policy, habits: Habits, past: &[Entry]) -> Self {
        let experience = Experience::of(entries.tariff().clone(), habits, past);
        Self {
            entries,
            policy,
            experience,
            machine: None,
            held: BTreeMap::new(),
            has_shown: false,
            reported: BTreeSet::new(),
            unwritten: Unwritten::default(),
            session: Vec::new(),
        }
    }

    /// What is to be kept since this was called last.
    pub fn take_unwritten(&mut self) -> Unwritten {
        std::mem::take(&mut self.unwritten)
    }

    /// How much is done ahead.
    pub fn mode(&self) -> Mode {
        self.policy.mode
    }

    /// As much is done ahead from now on.
    pub fn set_mode(&mut self, mode: Mode) {
        self.policy.mode = mode;
    }

    /// Other models are asked from now on.
    pub fn set_tariff(&mut self, tariff: Tariff) {
        self.experience.set_tariff(tariff.clone());
        self.entries.set_tariff(tariff);
    }

    /// What this conversation has written down, in order: what it cost, and what became of what was done ahead.
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

    /// What other conversations have learned of the user counts here, too.
    pub fn adopt(&mut self, habits: Habits) {
        self.experience.adopt(habits);
    }

    /// The machine that does the background work has something to spare (`None`) or not; where another machine does it, nothing is told.
    /// It counts in [`Mode::Auto`].
    pub fn set_machine(&mut self, trouble: Option<SkipReason>) {
        self.machine = trouble;
    }

    /// A suggestion is on screen.
    pub fn shown(&mut self) {
        self.has_shown = true;
    }

    /// Whether to report now, once, why no suggestion comes: not before the user has seen one.
    pub fn should_report(&mut self, hold: SkipReason) -> bool {
        self.has_shown && self.reported.insert(hold.code().to_owned())
    }

    /// Whether to report this error, once for each kind. That background work gave way to a turn is none.
    pub fn should_report_error(&mut self, error: &ModelError) -> bool {
        *error != ModelError::Yielded && self.reported.insert(format!("error {}", error.code()))
    }

    /// Whether to ask for a suggestion. That nothing is asked for is a lesson to remember, too.
    pub fn ask(&mut self, now: u64) -> Result<(), SkipReason> {
        let answer = self.may_ask(now);
        if let Err(hold) = answer
            && hold != SkipReason::Off
        {
            self.suggested(now, "", None, QueryCost::default(), Some(hold.code().into()));
        }
        answer
    }

    /// Whether a suggestion would be asked for now.
    pub fn may_ask(&self, now: u64) -> Result<(), SkipReason> {
        self.policy.ask(&self.experience, now)?;
        self.spared()
    }

    /// Which of these (id and text), best first, to run ahead at the same time, at most so many.
    pub fn run(&mut self, now: u64, suggestions: &[(String, &str)], most: usize) -> Vec<Option<Allowance>> {
        let texts: Vec<_> = suggestions.iter().map(|(_, text)| *text).collect();
        let answers = self.policy.run_several(&self.experience, &texts, most, now);
        let spared = self.spared();
        let mut allowances = Vec::with_capacity(answers.len());
        for ((id, _), answer) in suggestions.iter().zip(answers) {
            let answer = answer.and_then(|allowance| spared.map(|()| allowance));
            if let Err(hold) = answer {
                self.held.insert(id.clone(), hold.code());
            }
            allowances.push(answer.ok());
        }
        allowances
    }

    /// As [`run`](Self::run), on top of so many steps that the user has not taken yet.
    pub fn run_above(&self, now: u64, below: usize, text: &str) -> Result<Allowance, SkipReason> {
        self.spared()?;
        self.policy.run_above(&self.experience, below, text, now)
    }

    /// What the session may still lose; `None` where that does not limit it.
    pub fn room(&self, now: u64) -> Option<Room> {
        let is_limited = self.policy.mode == Mode::Auto && !self.experience.tariff().is_free();
        is_limited.then(|| self.policy.room(&self.experience, now))
    }

    /// One more start for this session.
    pub fn grant(&mut self) {
        self.experience.grant();
        // It may be used up again.
        self.reported.retain(|code| code != "allowance" && code != "day_starts");
    }

    fn spared(&self) -> Result<(), SkipReason> {
        let trouble = self.machine.filter(|_| self.policy.mode == Mode::Auto);
        trouble.map_or(Ok(()), Err)
    }

    /// Of so many answers what another model gave for itself is left out: written down once for each model.
    pub fn left_out(&mut self, now: u64, is_ahead: bool, answers: usize) {
        let entry = self.entries.left_out(now, is_ahead, answers);
        if let Entry::LeftOut(left_out) = &entry
            && 0 < answers
            && self.reported.insert(format!("left out of {}", left_out.model))
        {
            self.record(entry);
        }
    }

    /// A turn of the user has ended; `interrupted`: by them.
    pub fn turn(&mut self, now: u64, cost: &Cost, interrupted: bool) {
        self.record(self.entries.turn(now, cost, interrupted));
    }

    /// A summary was written while the user read.
    pub fn summed_up_ahead(&mut self, now: u64, tokens: Usage, work_ms: u64) {
        self.record(self.entries.summary(now, tokens, work_ms, false));
    }

    /// One that is not waited for any longer.
    pub fn summary_dropped(&mut self, now: u64) {
        self.record(self.entries.summary(now, Usage::NOTHING, 0, true));
    }

    /// The model of background work was asked for a title.
    pub fn titled(&mut self, now: u64, tokens: Usage, work_ms: u64) {
        self.record(self.entries.title(now, tokens, work_ms, false));
    }

    /// One that is not waited for any longer.
    pub fn title_dropped(&mut self, now: u64) {
        self.record(self.entries.title(now, Usage::NOTHING, 0, true));
    }

    /// The answer to a query, or why there is nothing to show.
    pub fn suggested(
        &mut self,
        now: u64,
        id: &str,
        text: Option<&str>,
        cost: QueryCost,
        not_shown: Option<NotShown<'_>>,
    ) {
        self.record(self.entries.suggestion(now, id, text, cost, not_shown));
    }

    /// A query whose answer is not waited for any longer.
    pub fn query_dropped(&mut self, now: u64) {
        self.suggested(now, "", None, QueryCost::DROPPED, Some("dropped".into()));
    }

    /// A further candidate of the same answer as `first`.
    pub fn candidate(&mut self, now: u64, id: &str, text: &str, first: &str) {
        self.record(self.entries.candidate(now, id, text, first));
    }

    /// The work of a run has ended: what it cost is written at once, for the host may be killed before the user decides.
    pub fn ran(&mut self, now: u64, meter: &mut RunMeter, speculation: &Speculation) {
        if let Some(entry) = meter.entry(now, &self.entries, speculation) {
            self.record(entry);
        }
    }

    /// What became of a suggestion that was not run.
    pub fn decided(&mut self, now: u64, id: &str, outcome: Outcome) {
        let held = self.held.remove(id);
        self.record(entries::not_run(now, id, outcome, held));
    }

    /// The user has taken back what this accepted work changed.
    pub fn undone(&mut self, now: u64, id: &str) {
        self.record(outcome(now, id, Outcome::Undone, 0));
    }

    /// What became of a run. It is told before the run is aborted, while it still says what it cost.
    pub fn closed(
        &mut self,
        now: u64,
        meter: &mut RunMeter,
        speculation: &Speculation,
        outcome: Outcome,
        saved_ms: u64,
    ) {
        self.ran(now, meter, speculation);
        if !outcome.is_hit() && run::asks_what_comes_after(speculation) {
            // That query is dropped with the run.
            self.query_dropped(now);
        }
        self.record(meter.outcome(now, speculation, outcome, saved_ms));
    }

    /// Work that another program did ahead has ended, as [`ran`](Self::ran) for what the engine ran.
    pub fn worked(&mut self, now: u64, id: &str, prompt: &str, cost: &Cost, status: Status) {
        self.record(self.entries.speculation(now, id, prompt, cost, status));
    }

    /// What became of it; `changes`: what tells what was applied from other changes.
    pub fn settled(
        &mut self,
        now: u64,
        id: &str,
        outcome: Outcome,
        saved_ms: u64,
        changes: Option<ContentHash>,
    ) {
        self.record(entries::decision(now, id, outcome, saved_ms, changes));
    }

    fn record(&mut self, entry: Entry) {
        let lesson = self.experience.observe(&self.policy, &entry);
        if !lesson.is_empty() {
            self.unwritten.lessons.push(lesson);
        }
        self.session.push(entry.clone());
        self.unwritten.entries.push(entry);
    }
}

#[cfg(test)]
mod tests;
