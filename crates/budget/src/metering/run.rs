use futures::FutureExt;
use headstart_forked_query::Usage;
use headstart_overlay_fs::ChangeKind;
use headstart_speculation::{Cost, Speculation, Status};

use super::entries::{self, EntryBuilder, QueryCost};
use crate::ledger::{Entry, Outcome, TakenBy};

/// What of one run is written down already.
#[derive(Debug)]
pub struct RunMeter {
    id: String,
    /// When the run began, in milliseconds since the Unix epoch.
    started: u64,
    recorded: Option<Usage>,
    /// Whether the user took the work while it was still running.
    pub joined: bool,
    /// How the user took it, if not by a key.
    pub taken_by: Option<TakenBy>,
}

impl RunMeter {
    /// Begins to meter a run that begins now.
    pub fn new(now: u64, id: impl Into<String>) -> Self {
        Self { id: id.into(), started: now, recorded: None, joined: false, taken_by: None }
    }

    /// Whether what the run cost is written down.
    pub fn is_recorded(&self) -> bool {
        self.recorded.is_some()
    }

    /// What the query for what comes after the run has cost.
    pub fn spent_since(&self, speculation: &Speculation) -> Usage {
        speculation.cost().tokens.since(self.recorded.unwrap_or_default())
    }

    /// The entry for what the run has cost since the last call: first the run itself, then the query for what comes
    /// after it.
    pub(super) fn entry(
        &mut self,
        now: u64,
        entries: &EntryBuilder,
        speculation: &Speculation,
    ) -> Option<Entry> {
        let mut cost = speculation.cost();
        let status = speculation.status();
        if let Some(before) = self.recorded.replace(cost.tokens) {
            let tokens = cost.tokens.since(before);
            let cost = QueryCost { tokens, ..QueryCost::default() };
            return (tokens != Usage::NOTHING)
                .then(|| entries.suggestion(now, "", None, cost, Some("dropped".into())));
        }
        if status == Status::Running {
            self.complete(now, &mut cost, speculation);
        }
        Some(entries.speculation(now, &self.id, speculation.prompt(), &cost, status))
    }

    pub(super) fn outcome(
        &self,
        now: u64,
        speculation: &Speculation,
        outcome: Outcome,
        saved_ms: u64,
    ) -> Entry {
        let mut entry = match speculation.finished().now_or_never().filter(|_| outcome.is_hit()) {
            Some(finished) => entries::applied_entry(now, &self.id, outcome, saved_ms, &finished),
            None => entries::outcome(now, &self.id, outcome, saved_ms),
        };
        if let Entry::Outcome(told) = &mut entry {
            told.taken_by = self.taken_by;
        }
        entry
    }

    /// Fills in the time and the staged content of a run that is about to be dropped, because the run has not added
    /// these up yet.
    fn complete(&self, now: u64, cost: &mut Cost, speculation: &Speculation) {
        cost.work_ms = now.saturating_sub(self.started);
        let changes = speculation.changes().changes;
        let bytes = changes.iter().map(|change| match &change.kind {
            ChangeKind::Write { content, .. } => content.len() as u64,
            _ => 0,
        });
        (cost.staged_files, cost.staged_bytes) = (changes.len() as u64, bytes.sum());
    }
}

/// Whether a run that was completed still waits for the answer to the query for what comes after it.
pub(super) fn awaits_next_query(speculation: &Speculation) -> bool {
    speculation.status() == Status::Completed && speculation.next().now_or_never().is_none()
}
