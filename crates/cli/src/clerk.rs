use headstart_budget::ledger::{
    Decision, Entry, Kind, LeftOut, Outcome, Source, Speculated, Suggested, Work,
};
use headstart_forked_query::{ModelError, Scrubber, Usage};
use headstart_forked_query::{Money, Prices};
use headstart_overlay_fs::{ChangeSet, ContentHash, OsTree};
use headstart_speculation::{Acceptance, Cost, Status};

use crate::clock;
use crate::config::{Config, Flags};
use crate::context::Context;
use crate::error::CliError;
use crate::ledger::Ledger;
use crate::output;
use crate::secrets;
use crate::store::Record;

/// Puts into words for the ledger what a command or a chat does.
#[derive(Debug, Clone)]
pub(crate) struct Clerk {
    pub(crate) ledger: Ledger,
    source: Source,
    main: String,
    background: String,
    prices: Prices,
    /// What costs nothing.
    free: Vec<String>,
    /// For the texts that the user wants to be kept.
    scrubber: Scrubber,
}

/// What a query for a suggestion cost.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct QueryCost {
    pub(crate) tokens: Usage,
    pub(crate) work_ms: u64,
    /// Whether the answer was dropped half-way.
    pub(crate) dropped: bool,
}

/// Why the answer to a query is not shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NotShown<'a> {
    /// The code of the guard, of the filter's rule or of the policy.
    pub(crate) reason: &'a str,
    /// Where the query failed.
    pub(crate) error: Option<&'a ModelError>,
}

impl<'a> From<&'a str> for NotShown<'a> {
    fn from(reason: &'a str) -> Self {
        Self { reason, error: None }
    }
}

impl Clerk {
    /// For what is done in a workspace.
    pub(crate) fn of(
        context: &Context,
        config: &Config,
        workspace: &str,
        source: Source,
    ) -> Result<Self, CliError> {
        Ok(Self {
            ledger: match context.store() {
                Ok(store) => Ledger::of(&store, workspace, config.ledger),
                Err(CliError::NoStateDir) => Ledger::nowhere(),
                Err(error) => return Err(error),
            },
            source,
            main: config.main_model(),
            background: config.background_model(),
            prices: config.prices(),
            free: config.free_models(),
            scrubber: secrets::scrubber(&context.environment),
        })
    }

    /// A turn of the user.
    pub(crate) fn turn(&self, cost: &Cost, dropped: bool) -> Entry {
        Entry::Turn(self.work(&self.main, cost.tokens, cost.work_ms, dropped))
    }

    /// A query for a suggestion.
    pub(crate) fn suggestion(
        &self,
        id: &str,
        text: Option<&str>,
        cost: QueryCost,
        suppressed: Option<NotShown<'_>>,
    ) -> Entry {
        Entry::Suggestion(Suggested {
            id: id.to_owned(),
            source: self.source,
            kind: text.map(Kind::of).unwrap_or_default(),
            suppressed: suppressed.map(|not_shown| not_shown.reason.to_owned()),
            code: suppressed.and_then(|not_shown| not_shown.error).map(|error| error.code().to_owned()),
            beside: None,
            shares_cache: self.main == self.background,
            work: self.work(&self.background, cost.tokens, cost.work_ms, cost.dropped),
            prompt: text.and_then(|text| self.prompt(text)),
        })
    }

    /// A further candidate of the same answer as `first`, whose line has what the query cost.
    pub(crate) fn candidate(&self, id: &str, text: &str, first: &str) -> Entry {
        match self.suggestion(id, Some(text), QueryCost::default(), None) {
            Entry::Suggestion(suggested) => {
                Entry::Suggestion(Suggested { beside: Some(first.to_owned()), ..suggested })
            }
            entry => entry,
        }
    }

    /// Work that ran ahead. Work that still runs is about to be dropped.
    pub(crate) fn speculation(&self, id: &str, prompt: &str, cost: &Cost, status: Status) -> Entry {
        let dropped = status == Status::Running;
        let line = Speculated {
            id: id.to_owned(),
            source: self.source,
            kind: Kind::of(prompt),
            shares_cache: self.main == self.background,
            status: if dropped { Status::Aborted } else { status },
            work: self.work(&self.background, cost.tokens, 0, dropped),
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

    /// Of so many answers what another model gave for itself is left out, of the user's own turns or of work ahead.
    pub(crate) fn left_out(&self, is_ahead: bool, answers: usize) -> Entry {
        let model = if is_ahead { &self.background } else { &self.main }.clone();
        Entry::LeftOut(LeftOut { at: clock::unix_ms(), model, answers: answers as u64 })
    }

    /// Writes it down for work ahead, where there is any.
    pub(crate) fn note_left_out(&self, answers: usize) {
        if 0 < answers {
            self.ledger.note(&[self.left_out(true, answers)]);
        }
    }

    /// A text as it may be kept.
    fn prompt(&self, text: &str) -> Option<String> {
        self.ledger.keeps_prompts().then(|| self.scrubber.text(text).into_owned())
    }

    fn work(&self, model: &str, tokens: Usage, work_ms: u64, dropped: bool) -> Work {
        // Nothing that was told is no cost of nothing.
        let told = Usage { untold_requests: 0, ..tokens };
        let is_known = told != Usage::default() || tokens.untold_requests == 0;
        let money = if self.free.iter().any(|free| free == model) {
            Some(Money::ZERO)
        } else {
            self.prices.of(model, tokens).filter(|_| is_known)
        };
        let unmeasured = u32::from(dropped);
        Work { at: clock::unix_ms(), model: model.to_owned(), tokens, money, unmeasured, work_ms }
    }
}

/// What became of a suggestion.
pub(crate) fn outcome(id: &str, outcome: Outcome, saved_ms: u64) -> Entry {
    decision(id, outcome, saved_ms, None)
}

/// What became of a suggestion that did not run; `held`: the code of why.
pub(crate) fn not_run(id: &str, outcome: Outcome, held: Option<&str>) -> Entry {
    match decision(id, outcome, 0, None) {
        Entry::Outcome(decision) => Entry::Outcome(Decision { held: held.map(str::to_owned), ..decision }),
        entry => entry,
    }
}

/// What became of a suggestion of which no record is kept: `changes` are in the workspace.
pub(crate) fn applied(id: &str, outcome: Outcome, saved_ms: u64, changes: &ChangeSet) -> Entry {
    let changes = (!changes.is_empty()).then(|| OsTree::digest(changes));
    decision(id, outcome, saved_ms, changes)
}

fn decision(id: &str, outcome: Outcome, saved_ms: u64, changes: Option<ContentHash>) -> Entry {
    Entry::Outcome(Decision {
        id: id.to_owned(),
        at: clock::unix_ms(),
        outcome,
        saved_ms,
        held: None,
        changes,
    })
}

/// What an accept makes of a suggestion, and the milliseconds it saved.
pub(crate) fn of_acceptance(acceptance: &Acceptance) -> (Outcome, u64) {
    match acceptance {
        Acceptance::Accepted(accepted) => (Outcome::Accepted, accepted.time_saved_ms),
        Acceptance::Conflict(_) => (Outcome::Conflict, 0),
        Acceptance::Withdrawn { .. } => (Outcome::Withdrawn, 0),
        _ => (Outcome::Failed, 0),
    }
}

/// Writes down that changes were taken back of which no record is kept, if a suggestion had made them.
pub(crate) fn undone(context: &Context, workspace: &str, changes: ContentHash) {
    let config = context.config(&Flags::default(), workspace.as_ref());
    let read = config.and_then(|config| Clerk::of(context, &config, workspace, Source::Command));
    let read = read.and_then(|clerk| Ok((clerk.ledger.read()?, clerk.ledger)));
    let (book, ledger) = match read {
        Ok(read) => read,
        Err(error) => return output::note(&format!("nothing of this is in the ledger: {error}")),
    };
    let mut taken: Vec<&str> = Vec::new();
    for entry in &book.entries {
        let Entry::Outcome(decision) = entry else { continue };
        if decision.changes == Some(changes) && decision.outcome.is_hit() {
            taken.push(&decision.id);
        } else {
            taken.retain(|id| *id != decision.id);
        }
    }
    if let Some(id) = taken.pop() {
        ledger.note(&[outcome(id, Outcome::Undone, 0)]);
    }
}

/// Writes down what a command made of a speculation that is kept. The command has done what it is for, so whatever goes
/// wrong here is a remark.
pub(crate) fn decided(context: &Context, record: &Record, decision: (Outcome, u64)) {
    let clerk = context
        .config(&Flags::default(), record.workspace.as_ref())
        .and_then(|config| Clerk::of(context, &config, &record.workspace, Source::Command));
    let clerk = match clerk {
        Ok(clerk) => clerk,
        Err(error) => return output::note(&format!("nothing of this is in the ledger: {error}")),
    };
    let id = record.id.as_str();
    let mut entries = Vec::new();
    if record.finished.is_none() {
        // Its process died before it could write down what it spent; that there was something is all that is known.
        let clerk = Clerk { background: record.model.clone(), ..clerk.clone() };
        entries.push(clerk.speculation(id, &record.prompt, &Cost::default(), Status::Running));
    }
    entries.push(outcome(id, decision.0, decision.1));
    clerk.ledger.note(&entries);
}
