use std::time::Instant;

use futures::FutureExt;
use headstart_forked_query::Usage;
use headstart_overlay_fs::ChangeKind;
use headstart_speculation::ledger::{Entry, Outcome, Source};
use headstart_speculation::policy::{Allowance, Experience, Hold, Mode, Policy};
use headstart_speculation::{Cost, Speculation, Status};

use crate::clerk::{self, Clerk, QueryCost};
use crate::clock;
use crate::config::Config;
use crate::context::Context;
use crate::error::CliError;
use crate::store::SpeculationId;

/// What the chat knows of costs and outcomes: it asks here before it does something ahead, and tells here what came of it.
pub(crate) struct Books {
    clerk: Clerk,
    policy: Policy,
    experience: Experience,
    /// Why the ledger could not be written, until the user was told.
    trouble: Option<String>,
    troubled: bool,
    /// Whether the user was told that suggestions are held back.
    told_of_hold: bool,
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
        // A ledger that cannot be read is one without experience; a chat is possible all the same.
        let (book, trouble) = match clerk.ledger.read() {
            Ok(book) => (book, None),
            Err(error) => (headstart_speculation::ledger::Book::default(), Some(error.to_string())),
        };
        let experience = Experience::of(config.tariff(), &book.entries);
        Ok(Self {
            clerk,
            policy: config.background,
            experience,
            troubled: trouble.is_some(),
            trouble,
            told_of_hold: false,
        })
    }

    pub(super) fn mode(&self) -> Mode {
        self.policy.mode
    }

    pub(super) fn set_mode(&mut self, mode: Mode) {
        self.policy.mode = mode;
    }

    /// What is wrong with the ledger, once.
    pub(super) fn trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    /// Whether the user was not told before that suggestions are held back.
    pub(super) fn is_first_hold(&mut self) -> bool {
        !std::mem::replace(&mut self.told_of_hold, true)
    }

    /// Whether to ask for a suggestion. That nothing is asked for is a lesson to remember, too.
    pub(super) fn ask(&mut self) -> Result<(), Hold> {
        let answer = self.may_ask();
        if let Err(hold @ (Hold::BackingOff { .. } | Hold::Unlikely { .. })) = answer {
            self.suggested("", None, QueryCost::default(), Some(hold.code()));
        }
        answer
    }

    /// Whether a suggestion would be asked for now.
    pub(super) fn may_ask(&self) -> Result<(), Hold> {
        self.policy.ask(&self.experience, clock::unix_ms())
    }

    pub(super) fn show(&self, text: &str) -> Result<(), Hold> {
        self.policy.show(&self.experience, text)
    }

    /// Which of these, best first, to run ahead at the same time, at most so many.
    pub(super) fn run(&self, texts: &[&str], most: usize) -> Vec<Result<Allowance, Hold>> {
        self.policy.run_several(&self.experience, texts, most, clock::unix_ms())
    }

    /// As [`run`](Self::run), on top of steps that the user has not taken yet.
    pub(super) fn run_above<'a>(
        &self,
        below: impl IntoIterator<Item = &'a str>,
        text: &str,
    ) -> Result<Allowance, Hold> {
        self.policy.run_above(&self.experience, below, text, clock::unix_ms())
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
        suppressed: Option<&str>,
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
        self.note(&[clerk::outcome(id, outcome, 0)]);
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
            entries.push(self.clerk.suggestion("", None, dropped, Some("dropped")));
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
        vec![self.clerk.suggestion("", None, more, Some("dropped"))]
    }

    fn note(&mut self, entries: &[Entry]) {
        for entry in entries {
            self.experience.observe(entry);
        }
        if let Err(error) = self.clerk.ledger.append(entries)
            && !std::mem::replace(&mut self.troubled, true)
        {
            self.trouble = Some(error.to_string());
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
