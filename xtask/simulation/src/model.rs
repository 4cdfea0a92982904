//! A model that takes virtual time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt, stream};
use headstart_forked_query::{
    EventStream, FinishReason, Message, Model, ModelError, ModelEvent, ModelRequest, Part, Role, ToolCall,
    Usage,
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::inputs::{self, ANSWER_TOKENS, BASE_TOKENS, RESULT_TOKENS, WRITTEN_TOKENS};
use crate::script::Script;

/// Answers as the script says, and adds up what the provider charges, including requests that are dropped.
pub(crate) struct SimulatedModel {
    script: Arc<Script>,
    bill: Mutex<Usage>,
}

impl SimulatedModel {
    pub(crate) fn new(script: Arc<Script>) -> Arc<Self> {
        Arc::new(Self { script, bill: Mutex::default() })
    }

    /// What the provider has charged so far.
    pub(crate) fn bill(&self) -> Usage {
        *self.bill.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn charge(&self, usage: Usage) {
        *self.bill.lock().unwrap_or_else(PoisonError::into_inner) += usage;
    }

    /// The guess after this turn, and how long the question takes.
    fn guess(&self, turn: usize) -> (Duration, Value) {
        let next = turn + 1;
        let Some(found) = self.script.turns.get(next) else { return (Duration::from_secs(1), json!([])) };
        let guess =
            |(said, right)| json!([{ "text": Script::prompt(next, right), "chance": said, "kind": "plan" }]);
        (found.question, found.guess.map_or(json!([]), guess))
    }
}

/// The prompt that an answer is for, and how many answers it has had.
fn position(messages: &[Message]) -> Option<(&str, usize)> {
    let start = messages.iter().rposition(|message| prompt_of(message).is_some())?;
    let answers = messages[start..].iter().filter(|message| message.role == Role::Model).count();
    Some((prompt_of(&messages[start])?, answers))
}

fn prompt_of(message: &Message) -> Option<&str> {
    match (message.role, message.parts.first()) {
        (Role::User, Some(Part::Text { text }))
            if text.starts_with("add tests") || text.starts_with("document") =>
        {
            Some(text)
        }
        _ => None,
    }
}

/// The prompt that an answer names. It is needed because the beginning of a long turn may have left the history.
fn answer_text(message: &Message) -> Option<&str> {
    message.parts.iter().find_map(|part| match part {
        Part::Text { text } => text.strip_prefix("Words on ")?.split(',').next(),
        _ => None,
    })
}

/// The input tokens of a request.
fn reading(messages: &[Message], first_of_turn: bool) -> Usage {
    let results: usize = messages
        .iter()
        .flat_map(|message| &message.parts)
        .filter(|part| matches!(part, Part::ToolResult(_)))
        .count();
    let answers = messages.iter().filter(|message| message.role == Role::Model).count();
    let input_tokens = BASE_TOKENS + RESULT_TOKENS * results as u64 + ANSWER_TOKENS * answers as u64;
    let cached = if first_of_turn { inputs::CACHED_FIRST } else { inputs::CACHED_LATER };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a count of tokens"
    )]
    let cached_input_tokens = (input_tokens as f64 * cached) as u64;
    Usage { input_tokens, cached_input_tokens, ..Usage::default() }
}

#[async_trait]
impl Model for SimulatedModel {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let unknown =
            || ModelError::Cut { provider: "a prompt that is not in the script".into(), source: None };
        if request.response_schema.is_some() {
            let answer_text = request.messages.iter().rev().find_map(answer_text).ok_or_else(unknown)?;
            let (turn, _) = self.script.answers(answer_text).ok_or_else(unknown)?;
            let (time, guesses) = self.guess(turn);
            // The query follows right after a request with the same beginning, which is therefore cached.
            let usage = reading(&request.messages, false);
            self.charge(usage);
            sleep(time).await;
            let usage = Usage { output_tokens: 60, ..usage };
            self.charge(Usage { output_tokens: 60, ..Usage::default() });
            return Ok(events(vec![ModelEvent::Text(json!({ "guesses": guesses }).to_string())], usage));
        }
        let (prompt, answers) = position(&request.messages).ok_or_else(unknown)?;
        let (_, all) = self.script.answers(prompt).ok_or_else(unknown)?;
        let usage = reading(&request.messages, answers == 0);
        self.charge(usage);
        let mut parts = vec![ModelEvent::Text(format!("Words on {prompt}, {answers}."))];
        // Each answer but the last one makes a call, which takes no time of its own: a measured turn has all of it.
        if answers + 1 < all as usize {
            let args =
                json!({ "file_path": format!("src/file-{answers}.rs"), "content": format!("// {prompt}\n") });
            let args = args.as_object().cloned().unwrap_or_default();
            parts.push(ModelEvent::ToolCall(ToolCall { id: String::new(), name: "write_file".into(), args }));
        }
        let time = Duration::from_secs_f64(inputs::ANSWER_SECONDS);
        sleep(time.mul_f64(inputs::FIRST_TOKEN_PART)).await;
        // The tokens are charged as soon as the provider begins to write. An answer that is dropped in the middle is
        // charged as a whole.
        self.charge(Usage { output_tokens: WRITTEN_TOKENS, ..Usage::default() });
        let usage = Usage { output_tokens: WRITTEN_TOKENS, ..usage };
        let rest = sleep(time.mul_f64(1.0 - inputs::FIRST_TOKEN_PART));
        Ok(stream::once(rest).flat_map(move |()| events(parts.clone(), usage)).boxed())
    }
}

fn events(parts: Vec<ModelEvent>, usage: Usage) -> EventStream {
    let end = [ModelEvent::Usage(usage), ModelEvent::Finished(FinishReason::Stop)];
    stream::iter(parts.into_iter().chain(end).map(Ok)).boxed()
}
