use headstart_forked_query::{ModelError, Money, Usage};
use headstart_overlay_fs::ContentHash;
use headstart_providers::Scrubber;
use headstart_speculation::{Acceptance, Cost, Finished, Status};

use crate::ledger::{
    Entry, Kind, OmissionEntry, Outcome, OutcomeEntry, Source, SpeculationEntry, SuggestionEntry, WorkCost,
};
use crate::policy::{Guess, Tariff};

/// Makes the entries of one host: it has the models, their prices, and whether the texts of prompts are kept. Each
/// method takes the time of the entry as `at`, in milliseconds since the Unix epoch.
#[derive(Debug, Clone)]
pub struct EntryBuilder {
    source: Source,
    tariff: Tariff,
    /// Removes secrets from the texts of prompts; without it no text is kept.
    scrubber: Option<Scrubber>,
}

/// What a query for a suggestion cost.
#[derive(Debug, Clone, Copy, Default)]
pub struct QueryCost {
    /// The tokens of all its requests together.
    pub tokens: Usage,
    /// Wall time in milliseconds.
    pub work_ms: u64,
    /// Whether the answer was dropped half-way.
    pub dropped: bool,
}

impl QueryCost {
    /// A query whose answer was dropped, so that the provider has not said what it cost.
    pub const DROPPED: Self = Self { tokens: Usage::NOTHING, work_ms: 0, dropped: true };
}

/// Why the answer to a query is not shown.
#[derive(Debug, Clone, Copy)]
pub struct QuerySuppression<'a> {
    /// The code of the guard, of the filter's rule or of the policy.
    pub reason: &'a str,
    /// The error, if the query failed.
    pub error: Option<&'a ModelError>,
}

impl<'a> From<&'a str> for QuerySuppression<'a> {
    fn from(reason: &'a str) -> Self {
        Self { reason, error: None }
    }
}

impl EntryBuilder {
    /// Makes entries without the texts of prompts.
    pub fn new(source: Source, tariff: Tariff) -> Self {
        Self { source, tariff, scrubber: None }
    }

    /// Makes entries with the texts of prompts, without the secrets that the scrubber finds in them.
    #[must_use]
    pub fn with_prompts(self, scrubber: Scrubber) -> Self {
        Self { scrubber: Some(scrubber), ..self }
    }

    /// Sets the model of work ahead.
    #[must_use]
    pub fn with_background(self, model: &str) -> Self {
        Self { tariff: self.tariff.with_background(model), ..self }
    }

    /// Sets other models, which are asked from now on.
    pub fn set_tariff(&mut self, tariff: Tariff) {
        self.tariff = tariff;
    }

    /// The models and their prices.
    pub fn tariff(&self) -> &Tariff {
        &self.tariff
    }

    /// A turn of the user; `dropped` says that its last answer was cut half-way.
    pub fn turn(&self, at: u64, cost: &Cost, dropped: bool) -> Entry {
        Entry::Turn(self.work(at, self.tariff.main(), cost.tokens, cost.work_ms, dropped))
    }

    /// A summary that was written ahead, by the model of turns, because the cache of that model has the conversation;
    /// `dropped` says that it was given up half-way.
    pub fn summary(&self, at: u64, tokens: Usage, work_ms: u64, dropped: bool) -> Entry {
        Entry::Summary(self.work(at, self.tariff.main(), tokens, work_ms, dropped))
    }

    /// A title, as an entry for a summary, by the model of background work; `dropped` says that it was given up
    /// half-way.
    pub fn title(&self, at: u64, tokens: Usage, work_ms: u64, dropped: bool) -> Entry {
        Entry::Summary(self.work(at, self.tariff.background(), tokens, work_ms, dropped))
    }

    /// A query for a suggestion: its best answer, or why that is not shown.
    pub fn suggestion(
        &self,
        at: u64,
        id: &str,
        guess: Option<Guess<'_>>,
        cost: QueryCost,
        suppression: Option<QuerySuppression<'_>>,
    ) -> Entry {
        Entry::Suggestion(self.suggested(at, id, guess, cost, suppression))
    }

    /// A further candidate of the same answer as `first`, whose entry has what the query cost.
    pub fn candidate(&self, at: u64, id: &str, guess: Guess<'_>, first: &str) -> Entry {
        let suggested = self.suggested(at, id, Some(guess), QueryCost::default(), None);
        Entry::Suggestion(SuggestionEntry { candidate_of: Some(first.to_owned()), ..suggested })
    }

    fn suggested(
        &self,
        at: u64,
        id: &str,
        guess: Option<Guess<'_>>,
        cost: QueryCost,
        suppression: Option<QuerySuppression<'_>>,
    ) -> SuggestionEntry {
        let background = self.tariff.background();
        SuggestionEntry {
            id: id.to_owned(),
            source: self.source,
            kind: guess.map(|guess| Kind::of(guess.text)).unwrap_or_default(),
            chance: guess.and_then(|guess| guess.said),
            suppressed: suppression.map(|suppression| suppression.reason.to_owned()),
            code: suppression.and_then(|suppression| suppression.error).map(|error| error.code().to_owned()),
            candidate_of: None,
            shares_cache: self.shares_cache(),
            work: self.work(at, background, cost.tokens, cost.work_ms, cost.dropped),
            prompt: guess.and_then(|guess| self.prompt(guess.text)),
        }
    }

    /// Work that ran ahead. If it still runs, it counts as dropped, because it is about to be.
    pub fn speculation(&self, at: u64, id: &str, prompt: &str, cost: &Cost, status: Status) -> Entry {
        let dropped = status == Status::Running;
        let line = SpeculationEntry {
            id: id.to_owned(),
            source: self.source,
            kind: Kind::of(prompt),
            shares_cache: self.shares_cache(),
            status: if dropped { Status::Aborted } else { status },
            work: self.work(at, self.tariff.background(), cost.tokens, 0, dropped),
            staged_files: 0,
            staged_bytes: 0,
            model_ms: 0,
            tool_ms: 0,
            view_ms: 0,
            view_cpu_ms: 0,
            prompt: self.prompt(prompt),
        };
        Entry::Speculation(line.with_cost(cost))
    }

    /// That the opaque part of another model is left out in this many answers, for the user's own turns or for work
    /// ahead.
    pub fn left_out(&self, at: u64, is_ahead: bool, answers: usize) -> Entry {
        let model = if is_ahead { self.tariff.background() } else { self.tariff.main() };
        Entry::LeftOut(OmissionEntry { at, model: model.to_owned(), answers: answers as u64 })
    }

    fn shares_cache(&self) -> bool {
        self.tariff.main() == self.tariff.background()
    }

    /// A text in the form in which it may be kept.
    fn prompt(&self, text: &str) -> Option<String> {
        self.scrubber.as_ref().map(|scrubber| scrubber.text(text).into_owned())
    }

    fn work(&self, at: u64, model: &str, tokens: Usage, work_ms: u64, dropped: bool) -> WorkCost {
        // If nothing was told, that does not mean that nothing was spent.
        let told = Usage { untold_requests: 0, ..tokens };
        let is_known = told != Usage::NOTHING || tokens.untold_requests == 0;
        let money = if self.tariff.is_free_model(model) {
            Some(Money::ZERO)
        } else {
            self.tariff.price_of(model, tokens).filter(|_| is_known)
        };
        let unmeasured = u32::from(dropped);
        WorkCost { at, model: model.to_owned(), tokens, money, unmeasured, work_ms }
    }
}

/// What became of a suggestion.
pub fn outcome(at: u64, id: &str, outcome: Outcome, saved_ms: u64) -> Entry {
    outcome_entry(at, id, outcome, saved_ms, None)
}

/// What became of a suggestion that did not run; `skip_code` is the code of the reason.
pub(super) fn skipped_entry(at: u64, id: &str, outcome: Outcome, skip_code: Option<&str>) -> Entry {
    let skip_code = skip_code.map(str::to_owned);
    Entry::Outcome(OutcomeEntry {
        id: id.to_owned(),
        at,
        outcome,
        saved_ms: 0,
        skip_code,
        taken_by: None,
        changes: None,
    })
}

/// What became of a suggestion of which no record is kept, because its changes are in the workspace.
pub(super) fn applied_entry(
    at: u64,
    id: &str,
    outcome: Outcome,
    saved_ms: u64,
    finished: &Finished,
) -> Entry {
    outcome_entry(at, id, outcome, saved_ms, finished.digest())
}

pub(super) fn outcome_entry(
    at: u64,
    id: &str,
    outcome: Outcome,
    saved_ms: u64,
    changes: Option<ContentHash>,
) -> Entry {
    Entry::Outcome(OutcomeEntry {
        id: id.to_owned(),
        at,
        outcome,
        saved_ms,
        skip_code: None,
        taken_by: None,
        changes,
    })
}

/// The outcome for a suggestion after an accept, and the milliseconds that it saved.
pub fn outcome_of_acceptance(acceptance: &Acceptance) -> (Outcome, u64) {
    match acceptance {
        Acceptance::Accepted(accepted) => (Outcome::Accepted, accepted.time_saved_ms),
        Acceptance::Conflict(_) => (Outcome::Conflict, 0),
        Acceptance::Withdrawn { .. } => (Outcome::Withdrawn, 0),
        _ => (Outcome::Failed, 0),
    }
}
