//! Keeps a conversation shorter than what its model sees at once.

use headstart_context::{CompactionPlan, SummaryPlan, Window};
use headstart_forked_query::{
    CacheSafeParams, Message, ModelError, ModelRequest, QueryAnswer, QueryError, Role, TokenEstimate,
};
use headstart_speculation::{Cost, Ending, Limit, RequestLimit, Transcript};

use super::{Activity, Core, Effect};
use crate::item::{Compaction, Item};
use crate::view::{ActionError, TurnEvent};

/// How the conversation is kept short.
pub(super) struct CompactionState {
    /// How much the model sees at once, as far as that is known: from the options, or from a provider that refused a
    /// request.
    window: Option<Window>,
    token_estimate: TokenEstimate,
    /// Whether messages of the running turn are part of the conversation already.
    has_absorbed: bool,
    /// Whether the provider has said in this turn that a request was too long.
    was_refused: bool,
}

/// What waits for a summary.
pub(super) struct PendingCompaction {
    pub(super) plan: SummaryPlan,
    /// The turn that begins or goes on once the summary is there.
    pub(super) turn: Option<(String, Transcript)>,
}

impl CompactionState {
    pub(super) fn new(window: Option<Window>) -> Self {
        Self { window, token_estimate: TokenEstimate::default(), has_absorbed: false, was_refused: false }
    }

    pub(super) fn set_token_estimate(&mut self, token_estimate: Option<TokenEstimate>) {
        self.token_estimate = token_estimate.unwrap_or(self.token_estimate);
    }

    /// The limit for the requests of a run. A turn that reaches it goes on when the conversation is shorter.
    pub(super) fn limit(&self) -> RequestLimit {
        // Without a window there is no limit, but the run still measures its requests.
        let tokens = self.window.map_or(u64::MAX, |window| window.max_request_tokens());
        RequestLimit { tokens, token_estimate: self.token_estimate }
    }

    /// About how many tokens this request takes.
    pub(super) fn tokens(&self, request: &ModelRequest) -> u64 {
        self.token_estimate.tokens(request)
    }

    pub(super) fn token_estimate(&self) -> TokenEstimate {
        self.token_estimate
    }

    pub(super) fn window(&self) -> Option<Window> {
        self.window
    }

    /// Resets what is known of the turn, and returns whether messages of it were part of the conversation before its end.
    pub(super) fn end_turn(&mut self) -> bool {
        self.was_refused = false;
        std::mem::take(&mut self.has_absorbed)
    }
}

impl Core {
    /// Begins a turn or its next part. If the conversation is too long for it, the conversation is made shorter first.
    pub(super) fn compact_if_needed(&mut self, prompt: String, mut transcript: Transcript) {
        let Some(window) = self.compaction.window else { return self.run_turn(prompt, transcript) };
        let mut plan = self.plan(window, &transcript);
        if plan != CompactionPlan::Keep && is_whole(&transcript) {
            // What the turn itself has done so far may be what is too long.
            transcript = self.absorb(transcript);
            plan = self.plan(window, &transcript);
        }
        match plan {
            CompactionPlan::Keep => self.run_turn(prompt, transcript),
            CompactionPlan::Cut { history, outputs } => {
                self.compacted(history, outputs, None);
                self.run_turn(prompt, transcript);
            }
            CompactionPlan::Summarise(plan) => self.sum_up(plan, Some((prompt, transcript))),
            CompactionPlan::TooLong { tokens } => {
                let error = format!(
                    "what cannot be left out of this conversation has about {tokens} tokens, and the model sees {} at once; /clear begins anew",
                    window.tokens
                );
                self.end(prompt, transcript, Ending::failed(ModelError::WINDOW_EXCEEDED, error));
            }
        }
    }

    /// Sums up what was said, because the user asked for it.
    pub(crate) fn compact(&mut self) -> Result<(), ActionError> {
        self.is_open()?;
        if self.is_busy() {
            return Err(ActionError::Busy);
        }
        let window = self.compaction.window.unwrap_or_default();
        match window.plan_summary(&self.conversation.request(), self.compaction.token_estimate) {
            CompactionPlan::Summarise(plan) => {
                self.forget_suggestion();
                self.sum_up(plan, None);
                Ok(())
            }
            _ => Err(ActionError::Empty),
        }
    }

    /// If a part of a turn ended only because the conversation is too long, makes it shorter so that the turn goes on.
    /// Returns how the turn ended otherwise.
    pub(super) fn continue_compacted(
        &mut self,
        prompt: &str,
        transcript: Transcript,
        ending: Ending,
    ) -> Option<(Transcript, Ending)> {
        if self.interrupted || self.is_over {
            return Some((transcript, ending));
        }
        match &ending {
            Ending::Exhausted { limit: Limit::Window } if is_answered(&transcript) => {}
            Ending::Failed { error, code: Some(code), .. } if code == ModelError::WINDOW_EXCEEDED => {
                let tokens = self.tokens_with(&transcript);
                if std::mem::replace(&mut self.compaction.was_refused, true) {
                    let error =
                        format!("{error}; it had about {tokens} tokens when it was made shorter already");
                    return Some((transcript, Ending::failed(ModelError::WINDOW_EXCEEDED, error)));
                }
                // By our count this is more than the model sees at once, whatever the provider's own count is.
                let window = self.compaction.window.unwrap_or_default();
                let tokens = self.compaction.window.map_or(tokens, |window| window.tokens.min(tokens));
                self.compaction.window = Some(Window { tokens, ..window });
            }
            _ => return Some((transcript, ending)),
        }
        // Work ahead builds on the conversation as it was.
        self.forget_suggestion();
        self.compact_if_needed(prompt.to_owned(), transcript);
        None
    }

    pub(super) fn summed_up(&mut self, answer: Result<QueryAnswer, QueryError>, work_ms: u64) {
        if !matches!(self.activity, Activity::Compacting(_)) {
            return;
        }
        let Activity::Compacting(pending_compaction) = std::mem::take(&mut self.activity) else { return };
        let PendingCompaction { plan, turn } = *pending_compaction;
        let usage = answer.as_ref().map_or_else(|error| error.usage, |answer| answer.usage);
        let cost = Cost { tokens: usage, turns: 1, model_ms: work_ms, work_ms, ..Cost::default() };
        self.options.metering.record_turn(self.now.unix_ms, &cost, false);
        match answer {
            Ok(answer) if !answer.text.trim().is_empty() => {
                return self.continue_with_summary(&plan, answer.text.trim().to_owned(), turn);
            }
            Err(QueryError { error, .. }) if error.code() != ModelError::WINDOW_EXCEEDED => {
                match turn {
                    Some((prompt, transcript)) => self.end(prompt, transcript, Ending::from(&error)),
                    None => self.log.push(Item::Trouble { text: format!("nothing was summed up: {error}") }),
                }
                return;
            }
            _ => self.compacted(plan.without_summary(), 0, None),
        }
        match turn {
            Some((prompt, transcript)) => self.run_turn(prompt, transcript),
            None => self.send_queued(),
        }
    }

    /// Drops the summary, because the user does not want to wait for it: the turn that would go on with it ends.
    pub(super) fn drop_compacting(&mut self) {
        let Activity::Compacting(pending_compaction) = std::mem::take(&mut self.activity) else { return };
        self.effects.push_back(Effect::DropSummary);
        self.drop_summary_ahead();
        if let Some((prompt, transcript)) = pending_compaction.turn {
            self.end(prompt, transcript, Ending::Aborted);
        }
    }

    fn plan(&self, window: Window, transcript: &Transcript) -> CompactionPlan {
        window.plan(&self.conversation.request(), &transcript.messages, self.compaction.token_estimate)
    }

    fn tokens_with(&self, transcript: &Transcript) -> u64 {
        let mut request = self.conversation.request();
        request.messages.extend_from_slice(&transcript.messages);
        self.compaction.token_estimate.tokens(&request)
    }

    /// Makes what the turn has done so far part of the conversation, so that both can be made shorter together.
    fn absorb(&mut self, transcript: Transcript) -> Transcript {
        self.keep_transcript(&transcript);
        self.session_file.said = 0;
        self.compaction.has_absorbed = true;
        self.conversation.absorb(transcript.messages);
        Transcript::default()
    }

    pub(super) fn sum_up(&mut self, plan: SummaryPlan, turn: Option<(String, Transcript)>) {
        let (is_asked, summary) = self.take_summary_ahead(plan.messages());
        if let Some(summary) = summary {
            return self.continue_with_summary(&plan, summary, turn);
        }
        if !is_asked {
            let (params, model) = self.summary_query(&plan);
            self.effects.push_back(Effect::SumUp { params, model });
        }
        self.activity = Activity::Compacting(Box::new(PendingCompaction { plan, turn }));
    }

    /// Goes on once the summary is there.
    pub(super) fn continue_with_summary(
        &mut self,
        plan: &SummaryPlan,
        summary: String,
        turn: Option<(String, Transcript)>,
    ) {
        self.compacted(plan.with_summary(&summary), 0, Some(summary));
        match turn {
            Some((prompt, transcript)) => self.run_turn(prompt, transcript),
            None => self.send_queued(),
        }
    }

    /// The conversation of which a summary is asked for, and the model that is asked.
    pub(super) fn summary_query(&self, plan: &SummaryPlan) -> (Box<CacheSafeParams>, String) {
        let params = self.conversation.params();
        let (system, tools) = (params.system().map(str::to_owned), params.tools().to_vec());
        let model = params.model().to_owned();
        (Box::new(CacheSafeParams::new(system, tools, plan.messages(), &model)), model)
    }

    /// Replaces the conversation with a shorter one.
    fn compacted(&mut self, history: Vec<Message>, outputs: usize, summary: Option<String>) {
        let before = self.tokens_with(&Transcript::default());
        self.conversation.replace(history);
        let after = self.tokens_with(&Transcript::default());
        let compacted = Compaction { outputs, summary, before, after };
        if self.options.events {
            self.events.push(TurnEvent::Compacted(compacted.clone()));
        }
        self.log.push(Item::Compacted(compacted));
        self.keep_compacted();
    }
}

fn is_answered(transcript: &Transcript) -> bool {
    transcript.messages.iter().any(|message| message.role == Role::Model)
}

/// Whether every call in the transcript has its result.
fn is_whole(transcript: &Transcript) -> bool {
    is_answered(transcript) && transcript.rest.is_empty() && transcript.ready.is_empty()
}
