//! Keeps a conversation shorter than what its model sees at once.

use headstart_context::{CompactionPlan, SummaryPlan, Window};
use headstart_forked_query::{
    CacheSafeParams, FinishReason, Message, ModelError, ModelRequest, Part, QueryAnswer, QueryError, Role,
    TokenEstimate, ToolCall, ToolOutcome,
};
use headstart_speculation::{Cost, Ending, Limit, RequestLimit, Transcript};

use super::{Activity, Core, Effect, SummaryQuery};
use crate::item::{Compaction, Item};
use crate::view::{ActionError, TurnEvent};

/// How often the conversation is made shorter in one turn.
const MAX_SHORTENINGS: usize = 20;

/// How often in one turn a conversation is made shorter because its provider refused a request. By our count a request
/// may fit that does not by the provider's, so the first time may not be enough.
const MAX_REFUSALS: u32 = 3;

/// How the conversation is kept short.
pub(super) struct CompactionState {
    /// How much the model sees at once, as far as that is known: from the options, or from a provider that refused a
    /// request.
    window: Option<Window>,
    token_estimate: TokenEstimate,
    /// The messages of the running turn that are part of the conversation already, as they were before they were
    /// shortened.
    absorbed: Vec<Message>,
    /// How often the conversation was made shorter in the running turn.
    shortenings: usize,
    /// How many answers of the model its parts before the last took.
    answers: u32,
    /// How often the provider has said in this turn that a request was too long.
    refusals: u32,
}

/// What waits for a summary.
pub(super) struct PendingCompaction {
    pub(super) plan: SummaryPlan,
    /// The turn that begins or goes on once the summary is there.
    pub(super) turn: Option<(String, Transcript)>,
}

impl CompactionState {
    pub(super) fn new(window: Option<Window>) -> Self {
        Self {
            window,
            token_estimate: TokenEstimate::default(),
            absorbed: Vec::new(),
            shortenings: 0,
            answers: 0,
            refusals: 0,
        }
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

    /// What the running turn did before the conversation was made shorter.
    pub(super) fn done_in_turn(&self) -> &[Message] {
        &self.absorbed
    }

    pub(super) fn count_answers(&mut self, answers: u32) {
        self.answers = self.answers.saturating_add(answers);
    }

    pub(super) fn answers_in_turn(&self) -> u32 {
        self.answers
    }

    /// Why the turn does not go on if the conversation is made shorter once more: since the last time it did `since`.
    fn futility(&self, since: &[Message]) -> Option<String> {
        let sees = self.window.map_or(0, |window| window.tokens);
        if MAX_SHORTENINGS <= self.shortenings {
            return Some(format!(
                "the conversation was made shorter {} times in this turn, and is again longer than the {sees} tokens that the model sees at \
                 once; ask for a smaller step",
                self.shortenings
            ));
        }
        let before: Vec<_> = answered_calls(&self.absorbed).collect();
        let repeated = answered_calls(since).all(|(call, outcome)| {
            before
                .iter()
                .any(|(made, had)| made.name == call.name && made.args == call.args && *had == outcome)
        });
        let name = &since.iter().flat_map(Message::tool_calls).last()?.name;
        (0 < self.shortenings && repeated).then(|| {
            format!(
                "the model calls {name} again for what does not fit into the {sees} tokens that it sees at once; ask for a part of it"
            )
        })
    }

    /// Learns how much the model sees at once from a request of this size by our count, which its server refused with
    /// these words.
    fn narrow(&mut self, tokens: u64, refusal: &str) {
        let mut window = self.window.unwrap_or(Window { tokens, ..Window::default() });
        window.tokens = window.tokens.min(ModelError::window_in(refusal).unwrap_or(tokens)).min(tokens);
        if 0 < self.refusals {
            // It was short enough for the window by our count, so our count is too low for this model.
            window.tokens = window.tokens.min(tokens * 3 / 4);
        }
        self.refusals += 1;
        self.window = Some(window);
    }

    /// Resets what is known of the turn, and returns whether messages of it were part of the conversation before its end.
    pub(super) fn end_turn(&mut self) -> bool {
        (self.refusals, self.shortenings, self.answers) = (0, 0, 0);
        !std::mem::take(&mut self.absorbed).is_empty()
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
                let advice = match self.conversation.params().history() {
                    [] => "say it in fewer words, or give its server a larger window",
                    _ => "/clear begins anew",
                };
                let error = format!(
                    "what cannot be left out of this conversation has about {tokens} tokens, and the model sees {} at once; {advice}",
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
        let plan = self.plan_summary().ok_or(ActionError::Empty)?;
        self.forget_suggestion();
        self.compaction.refusals = 0;
        self.sum_up(plan, None);
        Ok(())
    }

    fn plan_summary(&self) -> Option<SummaryPlan> {
        let window = self.compaction.window.unwrap_or_default();
        match window.plan_summary(&self.conversation.request(), self.compaction.token_estimate) {
            CompactionPlan::Summarise(plan) => Some(plan),
            _ => None,
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
            Ending::Exhausted { limit: Limit::Window } if is_answered(&transcript) => {
                if let Some(reason) = self.compaction.futility(&transcript.messages) {
                    return Some((transcript, Ending::failed(ModelError::WINDOW_EXCEEDED, reason)));
                }
            }
            Ending::Failed { error, code: Some(code), .. } if code == ModelError::WINDOW_EXCEEDED => {
                let tokens = self.tokens_with(&transcript);
                if MAX_REFUSALS <= self.compaction.refusals {
                    let error =
                        format!("{error}; it had about {tokens} tokens when it was made shorter already");
                    return Some((transcript, Ending::failed(ModelError::WINDOW_EXCEEDED, error)));
                }
                self.compaction.narrow(tokens, error);
                self.offer_tools();
            }
            _ => return Some((transcript, ending)),
        }
        self.compaction.shortenings += 1;
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
            Ok(answer) => match summary_in(&answer) {
                Some(summary) => self.continue_with_summary(&plan, summary, turn),
                None => self.continue_without_summary(&plan, turn),
            },
            Err(QueryError { error, .. }) if error.code() == ModelError::WINDOW_EXCEEDED => {
                // What was to be read for the summary is longer than the window, as it turns out.
                let may_ask = self.compaction.refusals < MAX_REFUSALS;
                let messages = plan.messages().to_vec();
                let asked = ModelRequest { messages, ..self.conversation.request() };
                self.compaction.narrow(self.compaction.tokens(&asked), &error.to_string());
                self.offer_tools();
                match (turn, self.plan_summary()) {
                    (Some((prompt, transcript)), _) if may_ask => self.compact_if_needed(prompt, transcript),
                    (None, Some(plan)) if may_ask => self.sum_up(plan, None),
                    (turn, _) => self.continue_without_summary(&plan, turn),
                }
            }
            Err(QueryError { error, .. }) => match turn {
                Some((prompt, transcript)) => self.end(prompt, transcript, Ending::from(&error)),
                None => self.end_without_summary(&error.to_string()),
            },
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
        self.compaction.absorbed.extend_from_slice(&transcript.messages);
        self.conversation.absorb(transcript.messages);
        Transcript::default()
    }

    pub(super) fn sum_up(&mut self, plan: SummaryPlan, turn: Option<(String, Transcript)>) {
        let (is_asked, summary) = self.take_summary_ahead(plan.messages());
        if let Some(summary) = summary {
            return self.continue_with_summary(&plan, summary, turn);
        }
        if plan.messages().is_empty() {
            return self.continue_without_summary(&plan, turn);
        }
        if !is_asked {
            let query = Box::new(self.summary_query(&plan));
            self.effects.push_back(Effect::SumUp(query));
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

    /// Goes on although there is no summary: what it would have replaced is left out.
    fn continue_without_summary(&mut self, plan: &SummaryPlan, turn: Option<(String, Transcript)>) {
        let Some((prompt, transcript)) = turn else {
            // Nothing has to be left out because the user asked for a summary.
            return self.end_without_summary("the model gave no summary");
        };
        self.compacted(plan.without_summary(), 0, None);
        self.run_turn(prompt, transcript);
    }

    fn end_without_summary(&mut self, why: &str) {
        self.log.push(Item::Trouble { text: format!("nothing was summed up: {why}") });
        self.send_queued();
    }

    pub(super) fn summary_query(&self, plan: &SummaryPlan) -> SummaryQuery {
        let params = self.conversation.params();
        let (system, tools) = (params.system().map(str::to_owned), params.tools().to_vec());
        let model = params.model().to_owned();
        let params = CacheSafeParams::new(system, tools, plan.messages(), &model);
        SummaryQuery { params, model, prompt: plan.prompt(), tokens: plan.tokens() }
    }

    /// Learns how much the model sees at once from the words with which its server refused a question of the background.
    pub(super) fn learn_window(&mut self, error: &ModelError) {
        let told = ModelError::window_in(&error.to_string());
        let Some(told) = told.filter(|_| error.code() == ModelError::WINDOW_EXCEEDED) else { return };
        let window = self.compaction.window.unwrap_or(Window { tokens: told, ..Window::default() });
        self.compaction.window = Some(Window { tokens: window.tokens.min(told), ..window });
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

/// The summary in an answer. What a model says before a call, which nobody runs here, is none.
pub(super) fn summary_in(answer: &QueryAnswer) -> Option<String> {
    let is_summary = !answer.has_calls && matches!(answer.finish, FinishReason::Stop | FinishReason::Length);
    let summary = answer.text.trim();
    (is_summary && !summary.is_empty()).then(|| summary.to_owned())
}

/// Each call with what came of it. In a legal transcript the results are in the order of the calls.
fn answered_calls(messages: &[Message]) -> impl Iterator<Item = (&ToolCall, &ToolOutcome)> {
    let results = messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::ToolResult(result) => Some(&result.outcome),
        _ => None,
    });
    messages.iter().flat_map(Message::tool_calls).zip(results)
}

fn is_answered(transcript: &Transcript) -> bool {
    transcript.messages.iter().any(|message| message.role == Role::Model)
}

/// Whether every call in the transcript has its result.
fn is_whole(transcript: &Transcript) -> bool {
    is_answered(transcript) && transcript.rest.is_empty() && transcript.ready.is_empty()
}
