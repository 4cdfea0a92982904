mod prompt;
mod read;

use std::pin::pin;
use std::time::Duration;

use futures::future::{self, Either};
use headstart_followup_state::{FilterReason, MAX_CANDIDATES, Suggestion, Suggestions};

pub use self::prompt::GUESSES;
use self::read::Asked;
use crate::{
    BackgroundModel, CacheSafeParams, FinishReason, Message, ModelError, Query, QueryAnswer, Role, Usage,
    forked_query,
};

/// With fewer messages of the model than this, it is too early to guess what the user wants next.
const LEAST_MODEL_ENTRIES: usize = 2;

/// What the host knows about the situation. By default nothing prevents a suggestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Guards {
    /// How the turn ended that the suggestion would follow.
    pub turn: TurnEnd,
    /// Whether the user is making a plan, in which only they decide about the next prompt.
    pub plan_mode: bool,
}

impl Guards {
    /// Why not to ask for a suggestion after this conversation and what was speculated of it. The model is not asked
    /// then.
    pub fn against(&self, params: &CacheSafeParams, speculated: &[Message]) -> Option<SuppressionReason> {
        match self.turn {
            TurnEnd::Completed => {}
            TurnEnd::Failed => return Some(SuppressionReason::TurnFailed),
            TurnEnd::Aborted => return Some(SuppressionReason::Aborted),
        }
        if self.plan_mode {
            return Some(SuppressionReason::PlanMode);
        }
        let messages = params.history().iter().chain(speculated);
        let spoken = messages.filter(|message| message.role == Role::Model).count();
        (spoken < LEAST_MODEL_ENTRIES).then_some(SuppressionReason::EarlyConversation)
    }
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

/// One suggestion or several, and what they cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// What the user may type next: one suggestion unless [several](generate_candidates) were asked for.
    pub suggestions: Suggestions,
    /// What it cost.
    pub usage: Usage,
}

/// Why there is no suggestion, and what it cost to find out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppressed {
    /// The reason.
    pub reason: SuppressionReason,
    /// What was spent; nothing if the model was not asked.
    pub usage: Usage,
}

/// Why there is no suggestion.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SuppressionReason {
    /// The model has written fewer than two messages.
    EarlyConversation,
    /// The model made no guess.
    Empty,
    /// The turn failed.
    TurnFailed,
    /// The query failed.
    QueryFailed(ModelError),
    /// The user stopped the turn.
    Aborted,
    /// The user is making a plan.
    PlanMode,
    /// The filter refused the guess.
    Filtered(FilterReason),
    /// The model said the question again, or the prompt that was just sent, as small ones do.
    Echo,
    /// The answer was cut, or reading it ended because it can be no guess.
    Unreadable,
    /// A model on this machine had not answered after [`LOCAL_DEADLINE`].
    TooSlow,
}

impl SuppressionReason {
    /// The code, as in JSON: `early_conversation`, `empty`, `error`, `aborted`, `plan_mode`, `echo`, `unreadable`,
    /// `too_slow`, or the filter's own.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::EarlyConversation => "early_conversation",
            Self::Empty => "empty",
            Self::TurnFailed | Self::QueryFailed(_) => "error",
            Self::Aborted => "aborted",
            Self::PlanMode => "plan_mode",
            Self::Filtered(reason) => reason.as_str(),
            Self::Echo => "echo",
            Self::Unreadable => "unreadable",
            Self::TooSlow => "too_slow",
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
    generate_candidates(background, params, &[], guards, 1).await
}

/// Guesses what the user types next, with up to `count` candidates (from 1 to [`MAX_CANDIDATES`]) from one query,
/// best first. `speculated` is what an accept would add to the conversation: the accepted prompt first, tool results
/// included; it is empty after a main turn. The query begins with the bytes of the speculation's own requests, so the
/// prefix cache serves it too. For more than one candidate only the question and the form of the answer differ.
///
/// The answer is a list in JSON that says of each guess how likely it is, where it comes from and how else it may be
/// put ([`Meaning`](headstart_followup_state::Meaning)); a simple list, or one guess on each line, is read as well. Each guess has to pass the filter; if
/// none does, the reason is that of the first.
pub async fn generate_candidates(
    background: &BackgroundModel,
    params: &CacheSafeParams,
    speculated: &[Message],
    guards: Guards,
    count: usize,
) -> Result<Generated, Suppressed> {
    if let Some(reason) = guards.against(params, speculated) {
        return Err(Suppressed { reason, usage: Usage::default() });
    }
    let is_local = background.is_local;
    let count = if is_local { 1 } else { count.clamp(1, MAX_CANDIDATES) };
    let question = if is_local { prompt::LOCAL } else { prompt::prompt(count) };
    let schema = if is_local { prompt::local_schema() } else { prompt::schema(count) };
    let tokens = if is_local { prompt::LOCAL_OUTPUT_TOKENS } else { prompt::MAX_OUTPUT_TOKENS };
    let query = Query {
        after: speculated,
        prompt: question,
        schema,
        max_output_tokens: Some(tokens),
        gives_up: is_local,
    };
    let answer = forked_query(background, params, query).await.map_err(|failed| Suppressed {
        reason: SuppressionReason::QueryFailed(failed.error),
        usage: failed.usage,
    })?;
    let usage = answer.usage;
    let said = |role: Role| {
        let messages = params.history().iter().chain(speculated).rev();
        messages.filter(move |message| message.role == role).map(Message::to_text)
    };
    let mut sent = said(Role::User);
    let asked = Asked {
        offered: said(Role::Model).next(),
        sent: sent.next().filter(|last| sent.next().as_ref() != Some(last)),
        question,
    };
    match read::suggestions(&answer, count, &asked) {
        Ok(suggestions) => Ok(Generated { suggestions, usage }),
        Err(reason) => Err(Suppressed { reason, usage }),
    }
}

/// How long a model on this machine may take for an answer: behind it waits what the user asks.
pub const LOCAL_DEADLINE: Duration = Duration::from_secs(10);

/// The answer to a question, unless a model on this machine has none when `deadline` ends. The request is cancelled then.
pub async fn in_time(
    background: &BackgroundModel,
    asked: impl Future<Output = Result<Generated, Suppressed>>,
    deadline: impl Future<Output = ()>,
) -> Result<Generated, Suppressed> {
    if !background.is_local {
        return asked.await;
    }
    match future::select(pin!(asked), pin!(deadline)).await {
        Either::Left((answer, _)) => answer,
        Either::Right(_) => Err(Suppressed { reason: SuppressionReason::TooSlow, usage: Usage::UNTOLD }),
    }
}

/// The question for a suggestion, for a host that has another program ask its own model.
pub fn question() -> &'static str {
    prompt::PROMPT
}

/// The suggestion in the answer to [`question`].
///
/// ```
/// use headstart_forked_query::{SuppressionReason, suggestion_in};
///
/// let said = suggestion_in(r#"{"guesses": [{"text": "run the tests", "chance": 60}]}"#);
/// assert_eq!(said.map(|suggestion| suggestion.as_str().to_owned()), Ok("run the tests".to_owned()));
/// assert_eq!(suggestion_in(r#"{"guesses": []}"#), Err(SuppressionReason::Empty));
/// ```
pub fn suggestion_in(answer: &str) -> Result<Suggestion, SuppressionReason> {
    let answer = QueryAnswer {
        text: answer.to_owned(),
        json: serde_json::from_str(answer).ok(),
        has_calls: false,
        finish: FinishReason::Stop,
        usage: Usage::default(),
    };
    let asked = Asked { question: prompt::PROMPT, ..Asked::default() };
    read::suggestions(&answer, 1, &asked).map(|all| all.best().clone())
}

#[cfg(test)]
mod tests;
