mod prompt;

use headstart_followup_state::{FilterReason, Suggestion, filter};
use serde_json::Value;

use crate::{
    BackgroundModel, CacheSafeParams, FinishReason, Message, ModelError, Query, QueryAnswer, Role, Usage,
    forked_query,
};

/// Fewer entries by the model than this say too little about where the user is going.
const LEAST_MODEL_ENTRIES: usize = 2;

/// What the host knows about the moment; by default nothing speaks against a suggestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Guards {
    /// How the turn ended after which to suggest.
    pub turn: TurnEnd,
    /// Whether the user is making a plan, where the next prompt is theirs alone.
    pub plan_mode: bool,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TurnEnd {
    /// With an answer.
    #[default]
    Completed,
    /// With an error.
    Failed,
    /// The user stopped it.
    Aborted,
}

/// A suggestion and its price.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// What the user may type next.
    pub suggestion: Suggestion,
    /// What it cost.
    pub usage: Usage,
}

/// No suggestion, and what it cost to find out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppressed {
    /// Why there is none.
    pub reason: SuppressionReason,
    /// What was spent; nothing where the model was not asked.
    pub usage: Usage,
}

/// Why there is no suggestion.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SuppressionReason {
    /// The model has spoken fewer than two times.
    EarlyConversation,
    /// The model has no guess.
    Empty,
    /// The turn before failed.
    TurnFailed,
    /// The query failed.
    QueryFailed(ModelError),
    /// The user stopped the turn before.
    Aborted,
    /// The user is making a plan.
    PlanMode,
    /// The guess is not one to show.
    Filtered(FilterReason),
}

impl SuppressionReason {
    /// The code, as in JSON: `early_conversation`, `empty`, `error`, `aborted`, `plan_mode`, or the filter's own.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::EarlyConversation => "early_conversation",
            Self::Empty => "empty",
            Self::TurnFailed | Self::QueryFailed(_) => "error",
            Self::Aborted => "aborted",
            Self::PlanMode => "plan_mode",
            Self::Filtered(reason) => reason.as_str(),
        }
    }
}

/// Guesses what the user types next after a main turn.
///
/// Dropping the future cancels the request.
pub async fn generate_suggestion(
    background: &BackgroundModel,
    params: &CacheSafeParams,
    guards: Guards,
) -> Result<Generated, Suppressed> {
    generate_pipelined_suggestion(background, params, &[], guards).await
}

/// Guesses what the user types after a turn that has only been speculated: `speculated` is what an accept would add
/// to the conversation, the accepted prompt first, tool results included.
///
/// The query begins with the bytes of the speculation's own requests, so the prefix cache serves it too.
pub async fn generate_pipelined_suggestion(
    background: &BackgroundModel,
    params: &CacheSafeParams,
    speculated: &[Message],
    guards: Guards,
) -> Result<Generated, Suppressed> {
    if let Some(reason) = guarded(params, speculated, guards) {
        return Err(Suppressed { reason, usage: Usage::default() });
    }
    let query = Query {
        after: speculated,
        prompt: prompt::PROMPT,
        schema: prompt::schema(),
        max_output_tokens: Some(prompt::MAX_OUTPUT_TOKENS),
    };
    let answer = forked_query(background, params, query).await.map_err(|failed| Suppressed {
        reason: SuppressionReason::QueryFailed(failed.error),
        usage: failed.usage,
    })?;
    let usage = answer.usage;
    match read_suggestion(&answer) {
        Ok(suggestion) => Ok(Generated { suggestion, usage }),
        Err(reason) => Err(Suppressed { reason, usage }),
    }
}

fn guarded(params: &CacheSafeParams, speculated: &[Message], guards: Guards) -> Option<SuppressionReason> {
    match guards.turn {
        TurnEnd::Completed => {}
        TurnEnd::Failed => return Some(SuppressionReason::TurnFailed),
        TurnEnd::Aborted => return Some(SuppressionReason::Aborted),
    }
    if guards.plan_mode {
        return Some(SuppressionReason::PlanMode);
    }
    let messages = params.history().iter().chain(speculated);
    let spoken = messages.filter(|message| message.role == Role::Model).count();
    (spoken < LEAST_MODEL_ENTRIES).then_some(SuppressionReason::EarlyConversation)
}

fn read_suggestion(answer: &QueryAnswer) -> Result<Suggestion, SuppressionReason> {
    if answer.finish != FinishReason::Stop {
        // Half a prompt is worse than none.
        return Err(SuppressionReason::Empty);
    }
    let text = guess(answer).trim();
    if text.is_empty() {
        return Err(SuppressionReason::Empty);
    }
    filter(text).map_err(SuppressionReason::Filtered)
}

/// The guess in an answer; a model that cannot answer in JSON answers with the bare text.
fn guess(answer: &QueryAnswer) -> &str {
    match &answer.json {
        Some(Value::Object(fields)) => fields.get("suggestion").and_then(Value::as_str).unwrap_or_default(),
        Some(Value::String(text)) => text,
        Some(Value::Array(_) | Value::Null) => "",
        // JSON that was cut or garbled is not what a user types.
        None if answer.text.trim_start().starts_with(['{', '[', '`']) => "",
        None | Some(Value::Bool(_) | Value::Number(_)) => &answer.text,
    }
}

#[cfg(test)]
mod tests;
