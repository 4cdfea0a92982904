//! The summary that is written while the user reads, because the next turn will need it.

use headstart_forked_query::{Message, QueryAnswer, QueryError};

use super::compaction::summary_in;
use super::{Activity, Core, Effect};

/// A summary that is written ahead. It is for exactly these messages: if the conversation went another way, a new one
/// is written.
pub(super) struct SummaryAhead {
    of: Vec<Message>,
    /// `None` while it is being written.
    summary: Option<String>,
}

impl Core {
    /// Has the summary written that the next turn is likely to need, if background work is allowed; a summary of
    /// messages that the conversation does not have any more is thrown away.
    pub(super) fn prepare_summary(&mut self) {
        let window = self.compaction.window();
        let plan = window
            .and_then(|window| {
                window.plan_ahead(&self.conversation.request(), self.compaction.token_estimate())
            })
            .filter(|plan| !plan.messages().is_empty());
        let Some(plan) = plan else { return self.drop_summary_ahead() };
        if self.summary_ahead.as_ref().is_some_and(|ahead| ahead.of == plan.messages()) {
            return;
        }
        self.drop_summary_ahead();
        self.update_machine();
        if self.options.metering.may_ask(self.now.unix_ms).is_err() {
            return;
        }
        let query = Box::new(self.summary_query(&plan));
        self.summary_ahead = Some(SummaryAhead { of: plan.messages().to_vec(), summary: None });
        self.effects.push_back(Effect::SumUpAhead(query));
    }

    /// Whether the summary of these messages is being written, and the summary if it is there. A summary of other
    /// messages is thrown away.
    pub(super) fn take_summary_ahead(&mut self, of: &[Message]) -> (bool, Option<String>) {
        match &mut self.summary_ahead {
            Some(ahead) if ahead.of == of => match ahead.summary.take() {
                Some(summary) => {
                    self.summary_ahead = None;
                    (false, Some(summary))
                }
                None => (true, None),
            },
            _ => {
                self.drop_summary_ahead();
                (false, None)
            }
        }
    }

    pub(super) fn summed_up_ahead(&mut self, answer: Result<QueryAnswer, QueryError>, work_ms: u64) {
        let Some(ahead) = self.summary_ahead.take_if(|ahead| ahead.summary.is_none()) else { return };
        let usage = answer.as_ref().map_or_else(|error| error.usage, |answer| answer.usage);
        self.options.metering.record_summary(self.now.unix_ms, usage, work_ms);
        let summary = match answer {
            Ok(answer) => summary_in(&answer),
            Err(QueryError { error, .. }) => {
                self.learn_window(&error);
                None
            }
        };
        match (std::mem::take(&mut self.activity), summary) {
            // A turn waits for the summary.
            (Activity::Compacting(pending_compaction), Some(summary)) => {
                self.continue_with_summary(&pending_compaction.plan, summary, pending_compaction.turn);
            }
            (Activity::Compacting(pending_compaction), None) => {
                self.sum_up(pending_compaction.plan, pending_compaction.turn);
            }
            (activity, summary) => {
                self.activity = activity;
                self.summary_ahead =
                    summary.map(|summary| SummaryAhead { of: ahead.of, summary: Some(summary) });
            }
        }
    }

    /// Throws the summary away. If it was still being written, what it has cost is not known.
    pub(super) fn drop_summary_ahead(&mut self) {
        if self.summary_ahead.take().is_some_and(|ahead| ahead.summary.is_none()) {
            self.effects.push_back(Effect::DropSummaryAhead);
            self.options.metering.record_dropped_summary(self.now.unix_ms);
        }
    }
}
