use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use futures::FutureExt;
use headstart_budget::ledger::{Book, Entry, Outcome, Source};
use headstart_budget::policy::{Allowance, Experience, Habits, Hold, Mode, Policy, Room};
use headstart_forked_query::{ModelError, Usage};
use headstart_overlay_fs::ChangeKind;
use headstart_speculation::{Cost, Speculation, Status};

use crate::clerk::{self, Clerk, NotShown, QueryCost};
use crate::clock;
use crate::config::Config;
use crate::context::Context;
use crate::error::CliError;
use crate::habits::HabitsFile;
use crate::machine::Machine;
use crate::store::SpeculationId;

/// What the chat knows of costs and outcomes: it asks here before it does something ahead, and tells here what came of it.
pub(crate) struct Books {
    clerk: Clerk,
    policy: Policy,
    experience: Experience,
    habits: HabitsFile,
    /// The machine that does the background work, where it is this one and costs nothing.
    machine: Option<Machine>,
    /// Why suggestions did not run, by their id, until it is known what became of them.
    held: BTreeMap<String, &'static str>,
    /// Whether a suggestion was on screen.
    has_shown: bool,
    /// The codes of what the user was told of: why nothing is suggested, and what went wrong.
    told: BTreeSet<String>,
    /// What is wrong with the files, until the user was told.
    trouble: Option<String>,
    troubled: bool,
}

/// One suggestion's account: what of its run is in the ledger already.
pub(super) struct Account {
    id: String,
    started: Instant,
    noted: Option<Usage>,
    /// Whether the user took the work while it was still going on.
    pub(super) joined: bool,
}

impl Books {
    /// The books of a workspace, with what earlier chats wrote.
    pub(crate) fn open(context: &Context, config: &Config, workspace: &str) -> Result<Self, CliError> {
        let clerk = Clerk::of(context, config, workspace, Source::Chat)?;
        let habits = HabitsFile::of(context.store().ok().as_ref());
        // A file that cannot be read is one without experience; a chat is possible all the same.
        let mut trouble = None;
        let mut or_default = |error: CliError, lost: &str| {
            trouble.get_or_insert(format!("{lost}: {error}"));
        };
        let book = clerk.ledger.read().unwrap_or_else(|error| {
            or_default(error, "what earlier chats cost is unknown");
            Book::default()
        });
        let known = habits.read().unwrap_or_else(|error| {
            or_default(error, "which suggestions you take is unknown");
            Habits::default()
        });
        Ok(Self {
            clerk,
            policy: config.background,
            experience: Experience::of(config.tariff(), known, &book.entries),
            habits,
            machine: config.works_here().then(|| Machine::of(&context.environment)),
            held: BTreeMap::new(),
            has_shown: false,
            told: BTreeSet::new(),
            troubled: trouble.is_some(),
            trouble,
        })
    }

    pub(super) fn mode(&self) -> Mode {
        self.policy.mode
    }

    pub(super) fn set_mode(&mut self, mode: Mode) {
        self.policy.mode = mode;
    }

    /// What is wrong with the files, once.
    pub(super) fn trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    /// A suggestion is on screen.
    pub(super) fn shows(&mut self) {
        self.has_shown = true;
    }

    /// Whether to tell the user now, once, why no suggestion comes: not before they have seen one.
    pub(super) fn tells_of(&mut self, hold: Hold) -> bool {
        self.has_shown && self.told.insert(hold.code().to_owned())
    }

    /// Whether to tell the user of this error, once for each kind. That background work gave way to a turn is none.
    pub(super) fn tells_of_error(&mut self, error: &ModelError) -> bool {
        *error != ModelError::Yielded && self.told.insert(format!("error {}", error.code()))
    }

    /// Whether to ask for a suggestion. That nothing is asked for is a lesson to remember, too.
    pub(super) fn ask(&mut self) -> Result<(), Hold> {
        // Other chats may have learned something meanwhile.
        if let Ok(habits) = self.habits.read() {
            self.experience.adopt(habits);
        }
        let answer = self.may_ask();
        if let Err(hold) = answer
            && hold != Hold::Off
        {
            self.suggested("", None, QueryCost::default(), Some(hold.code().into()));
        }
        answer
    }

    /// Whether a suggestion would be asked for now.
    pub(super) fn may_ask(&self) -> Result<(), Hold> {
        self.policy.ask(&self.experience, clock::unix_ms())?;
        self.spared()
    }

    /// Which of these, best first, to run ahead at the same time, at most so many.
    pub(super) fn run(&mut self, suggestions: &[(String, &str)], most: usize) -> Vec<Option<Allowance>> {
        let texts: Vec<_> = suggestions.iter().map(|(_, text)| *text).collect();
        let answers = self.policy.run_several(&self.experience, &texts, most, clock::unix_ms());
        let spared = self.spared();
        let answers =
            answers.into_iter().map(|answer| answer.and_then(|allowance| spared.map(|()| allowance)));
        let answers: Vec<_> = answers.collect();
        for ((id, _), answer) in suggestions.iter().zip(&answers) {
            if let Err(hold) = answer {
                self.held.insert(id.clone(), hold.code());
            }
        }
        answers.into_iter().map(Result::ok).collect()
    }

    /// As [`run`](Self::run), on top of so many steps that the user has not taken yet.
    pub(super) fn run_above(&self, below: usize, text: &str) -> Result<Allowance, Hold> {
        self.spared()?;
        self.policy.run_above(&self.experience, below, text, clock::unix_ms())
    }

    /// What the session may still lose; `None` where that does not limit it.
    pub(super) fn room(&self) -> Option<Room> {
        let is_limited = self.policy.mode == Mode::Auto && !self.experience.tariff().is_free();
        is_limited.then(|| self.policy.room(&self.experience, clock::unix_ms()))
    }

    /// One more start for this session.
    pub(super) fn grant(&mut self) {
        self.experience.grant();
        // It may be used up again.
        self.told.retain(|code| code != "allowance" && code != "day_starts");
    }

    pub(super) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(super) fn experience(&self) -> &Experience {
        &self.experience
    }

    /// Whether the machine has something to spare.
    fn spared(&self) -> Result<(), Hold> {
        let machine = self.machine.as_ref().filter(|_| self.policy.mode == Mode::Auto);
        machine.and_then(Machine::trouble).map_or(Ok(()), Err)
    }

    /// Of so many answers what another model gave for itself is left out: written down once for each model.
    pub(super) fn left_out(&mut self, is_ahead: bool, answers: usize) {
        let entry = self.clerk.left_out(is_ahead, answers);
        if let Entry::LeftOut(left_out) = &entry
            && 0 < answers
            && self.told.insert(format!("left out of {}", left_out.model))
        {
            self.note(&[entry]);
        }
    }

    pub(super) fn turn(&mut self, cost: &Cost, interrupted: bool) {
        let entry = self.clerk.turn(cost, interrupted);
        self.note(&[entry]);
    }

    /// The answer to a query, or why there is nothing to show.
    pub(super) fn suggested(
        &mut self,
        id: &str,
        text: Option<&str>,
        cost: QueryCost,
        suppressed: Option<NotShown<'_>>,
    ) {
        let entry = self.clerk.suggestion(id, text, cost, suppressed);
        self.note(&[entry]);
    }

    /// A further candidate of the same answer as `first`.
    pub(super) fn candidate(&mut self, id: &str, text: &str, first: &str) {
        let entry = self.clerk.candidate(id, text, first);
        self.note(&[entry]);
    }

    /// The work of a run has ended: what it cost is written at once, for the chat may be killed before the user decides.
    pub(super) fn ran(&mut self, account: &mut Account, speculation: &Speculation) {
        let entries = self.run_entries(account, speculation);
        self.note(&entries);
    }

    /// What became of a suggestion that was not run.
    pub(super) fn decided(&mut self, id: &str, outcome: Outcome) {
        let held = self.held.remove(id);
        self.note(&[clerk::not_run(id, outcome, held)]);
    }

    /// What became of a run. It is told before the run is aborted, while it still says what it cost.
    pub(super) fn closed(
        &mut self,
        account: &mut Account,
        speculation: &Speculation,
        outcome: Outcome,
        saved_ms: u64,
    ) {
        let mut entries = self.run_entries(account, speculation);
        if !outcome.is_hit()
            && speculation.status() == Status::Completed
            && speculation.next().now_or_never().is_none()
        {
            // The query for what comes after is still under way, and dropped with the run.
            let dropped = QueryCost { dropped: true, ..QueryCost::default() };
            entries.push(self.clerk.suggestion("", None, dropped, Some("dropped".into())));
        }
        let finished = speculation.finished().now_or_never().filter(|_| outcome.is_hit());
        entries.push(match finished {
            Some(finished) => clerk::applied(&account.id, outcome, saved_ms, &finished.changes),
            None => clerk::outcome(&account.id, outcome, saved_ms),
        });
        self.note(&entries);
    }

    /// What a run has cost since it was last written down: the run itself, then the query for what comes after.
    fn run_entries(&self, account: &mut Account, speculation: &Speculation) -> Vec<Entry> {
        let mut cost = speculation.cost();
        let status = speculation.status();
        let Some(noted) = account.noted.replace(cost.tokens) else {
            if status == Status::Running {
                complete(&mut cost, account.started, speculation);
            }
            return vec![self.clerk.speculation(&account.id, speculation.prompt(), &cost, status)];
        };
        let more = QueryCost { tokens: beyond(cost.tokens, noted), ..QueryCost::default() };
        if more.tokens == Usage::default() {
            return Vec::new();
        }
        vec![self.clerk.suggestion("", None, more, Some("dropped".into()))]
    }

    fn note(&mut self, entries: &[Entry]) {
        for entry in entries {
            let lesson = self.experience.observe(&self.policy, entry);
            if lesson.is_empty() {
                continue;
            }
            match self.habits.learn(lesson) {
                Ok(Some(habits)) => self.experience.adopt(habits),
                Ok(None) => {}
                Err(error) => self.is_troubled(&format!("which suggestions you take is not kept: {error}")),
            }
        }
        if let Err(error) = self.clerk.ledger.append(entries) {
            self.is_troubled(&format!("the ledger lacks what this chat costs: {error}"));
        }
    }

    fn is_troubled(&mut self, trouble: &str) {
        if !std::mem::replace(&mut self.troubled, true) {
            self.trouble = Some(trouble.to_owned());
        }
    }
}

impl Account {
    pub(super) fn new(id: String) -> Self {
        Self { id, started: Instant::now(), noted: None, joined: false }
    }

    /// Whether what the run cost is written down.
    pub(super) fn is_noted(&self) -> bool {
        self.noted.is_some()
    }

    /// What the query for what comes after the run has cost.
    pub(super) fn spent_since(&self, speculation: &Speculation) -> Usage {
        beyond(speculation.cost().tokens, self.noted.unwrap_or_default())
    }
}

/// An id for a suggestion, in its place among those of an answer; one without chance where the system has none to give, which is
/// no reason not to suggest.
pub(super) fn new_id(request: u64, place: usize) -> String {
    SpeculationId::random()
        .map_or_else(|_| format!("{}-{request}-{place}", clock::unix_ms()), |id| id.as_str().to_owned())
}

/// A run that is about to be dropped has not added up yet how long it took and what it staged.
fn complete(cost: &mut Cost, started: Instant, speculation: &Speculation) {
    cost.work_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let changes = speculation.changes().changes;
    let bytes = changes.iter().map(|change| match &change.kind {
        ChangeKind::Write { content, .. } => content.len() as u64,
        _ => 0,
    });
    (cost.staged_files, cost.staged_bytes) = (changes.len() as u64, bytes.sum());
}

fn beyond(now: Usage, before: Usage) -> Usage {
    let mut more = now;
    more.input_tokens = now.input_tokens.saturating_sub(before.input_tokens);
    more.cached_input_tokens = now.cached_input_tokens.saturating_sub(before.cached_input_tokens);
    more.cache_creation_tokens = now.cache_creation_tokens.saturating_sub(before.cache_creation_tokens);
    more.cache_token_seconds = now.cache_token_seconds.saturating_sub(before.cache_token_seconds);
    more.output_tokens = now.output_tokens.saturating_sub(before.output_tokens);
    more.untold_requests = now.untold_requests.saturating_sub(before.untold_requests);
    more
}
