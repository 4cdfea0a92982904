use std::time::Instant;

use headstart_forked_query::{
    BackgroundModel, CacheSafeParams, Generated, Guards, Message, ModelError, Part, Suppressed,
    SuppressionReason, TokenEstimate, ToolSchema, Usage, generate_candidates,
};
use headstart_providers::Scrubber;

use super::files::{PromptPosition, SessionScan};
use super::recorded_conversation::SentPrompt;

/// The most tokens that a question and its answer add to the conversation.
const QUESTION: u64 = 600;
const ANSWER: u64 = 300;

/// A prompt that a model is to guess.
#[derive(Debug)]
pub(crate) struct EvaluationQuery {
    pub(crate) file: usize,
    pub(crate) prompt: SentPrompt,
    /// The conversation before the prompt.
    pub(crate) params: CacheSafeParams,
}

/// The result of a question.
#[derive(Debug)]
pub(crate) struct QueryResult {
    pub(crate) answer: Result<Generated, Suppressed>,
    pub(crate) took_ms: u64,
}

/// The beginning of every question, which is the same as in a chat. `scrubber` removes secrets that are known by their
/// shape or from the environment.
pub(crate) struct RequestPrefix<'a> {
    pub(crate) system: &'a str,
    pub(crate) tools: &'a [ToolSchema],
    pub(crate) model: &'a str,
    pub(crate) scrubber: &'a Scrubber,
}

/// The questions about these prompts, those about one conversation next to each other. `None` takes the place of a
/// question whose conversation is too short to ask about.
pub(crate) fn questions(
    scan: &SessionScan,
    places: &[PromptPosition],
    opening: &RequestPrefix<'_>,
) -> Vec<Option<EvaluationQuery>> {
    let mut places = places.to_vec();
    places.sort_unstable();
    let files = places.chunk_by(|one, other| one.file == other.file);
    let of_file = |places: &[PromptPosition]| {
        let recorded = places.first().and_then(|place| scan.recorded(place.file));
        let question = |place: &PromptPosition| {
            let recorded = recorded.as_ref()?;
            let prompt = recorded.prompts.get(place.prompt)?;
            let history: Vec<_> =
                recorded.before(prompt).iter().map(|message| scrubbed(message, opening.scrubber)).collect();
            let params = CacheSafeParams::new(
                Some(opening.system.to_owned()),
                opening.tools.to_vec(),
                &history,
                opening.model,
            );
            let is_too_young = Guards::default().against(&params, &[]).is_some();
            (!is_too_young).then(|| EvaluationQuery { file: place.file, prompt: prompt.clone(), params })
        };
        places.iter().map(question).collect::<Vec<_>>()
    };
    files.flat_map(of_file).collect()
}

impl EvaluationQuery {
    /// About how many tokens the question needs at most. No token is counted as cached.
    pub(crate) fn at_most(&self, background: &BackgroundModel) -> Usage {
        let mut request = self.params.fork(background);
        if !background.shares_cache(&self.params) {
            request.tools.clear();
        }
        let input_tokens = TokenEstimate::default().tokens(&request) + QUESTION;
        // Providers charge the most for tokens that are written into their cache, so all input is counted as such.
        Usage { input_tokens, cache_creation_tokens: input_tokens, output_tokens: ANSWER, ..Usage::default() }
    }

    /// What the question costs if the conversation is in the provider's cache, as it is after a turn of a chat.
    pub(crate) fn if_cached(&self, background: &BackgroundModel, usage: Usage) -> Usage {
        if !background.shares_cache(&self.params) {
            return usage;
        }
        let cached = usage.input_tokens.saturating_sub(QUESTION).max(usage.cached_input_tokens);
        Usage { cached_input_tokens: cached, cache_creation_tokens: 0, ..usage }
    }
}

/// Asks for up to `candidates` suggestions, as a chat does.
pub(crate) async fn ask(
    question: &EvaluationQuery,
    background: &BackgroundModel,
    candidates: usize,
) -> QueryResult {
    let began = Instant::now();
    let answer = generate_candidates(background, &question.params, &[], Guards::default(), candidates).await;
    QueryResult { answer, took_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX) }
}

impl QueryResult {
    pub(crate) fn usage(&self) -> Usage {
        match &self.answer {
            Ok(generated) => generated.usage,
            Err(suppressed) => suppressed.usage,
        }
    }

    /// The error if the model gave no answer at all.
    pub(crate) fn error(&self) -> Option<&ModelError> {
        match &self.answer {
            Err(Suppressed { reason: SuppressionReason::QueryFailed(error), .. }) => Some(error),
            _ => None,
        }
    }
}

/// A message without secrets, because they may have been told to another provider than this model's.
fn scrubbed(message: &Message, scrubber: &Scrubber) -> Message {
    let part = |part: &Part| {
        let value = serde_json::to_value(part).ok()?;
        serde_json::from_value(scrubber.value(&value)).ok()
    };
    Message { role: message.role, parts: message.parts.iter().filter_map(part).collect() }
}
