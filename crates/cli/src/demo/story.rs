use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use headstart_forked_query::{
    EventStream, Message, Model, ModelError, ModelRequest, Part, Role, ToolOutcome,
};
use headstart_providers::{RecordedCall, RecordedTurn, Recording, Replay};
use serde_json::json;

/// The bundled recording as a model to talk to: it answers the prompts that were recorded, and says what it is to all others.
///
/// What it answers rests on the request alone, so that work which ran ahead and was given up, or a prompt of the user's own,
/// does not use the recording up.
pub(crate) struct Story {
    scenes: Vec<Scene>,
    speed: f64,
}

/// One prompt and what was answered to it.
struct Scene {
    prompt: String,
    turns: Vec<RecordedTurn>,
}

/// What the recording cannot say of itself.
const LAST_WORDS: &str = "That was all of the recording: Ctrl-D leaves, and then you see what to type next.";

impl Story {
    /// The recording from its first prompt on, `parts` prompts of it, with its delays divided by `speed`.
    pub(super) fn new(recording: Recording, first: &str, parts: usize, speed: f64) -> Self {
        let suggested = recording.suggestions.into_iter().map(|suggestion| suggestion.text);
        let prompts = std::iter::once(first.to_owned()).chain(suggested);
        let mut turns = recording.turns.into_iter();
        let mut scenes: Vec<_> = prompts
            .take(parts)
            .map(|prompt| {
                // An answer without a call is the end of a turn of the user's.
                let mut answers: Vec<RecordedTurn> = Vec::new();
                while answers.last().is_none_or(|answer| !answer.tool_calls.is_empty())
                    && let Some(turn) = turns.next()
                {
                    answers.push(turn);
                }
                Scene { prompt, turns: answers }
            })
            .collect();
        if let Some(last) = scenes.last_mut().and_then(|scene| scene.turns.last_mut()) {
            last.text = format!("{} {LAST_WORDS}", last.text);
        }
        Self { scenes, speed }
    }

    /// The first part that the conversation does not hold yet.
    fn next(&self, messages: &[Message]) -> Option<&Scene> {
        self.scenes.iter().find(|scene| !scene.is_told(messages))
    }

    /// What is answered next in a conversation.
    fn answer(&self, messages: &[Message]) -> RecordedTurn {
        let asked = messages.iter().rposition(|message| message.role == Role::User).unwrap_or(0);
        let (before, turn) = messages.split_at(asked);
        let answers = turn.iter().filter(|message| message.role == Role::Model).count();
        let next = self.next(before);
        let scene = next.filter(|scene| turn.first().is_some_and(|asked| scene.is_asked_in(asked)));
        match scene.and_then(|scene| scene.turns.get(answers)) {
            Some(_) if ends_in_failure(turn) => says(REFUSED),
            Some(recorded) => recorded.clone(),
            // A suggestion comes from the second answer on, so the first one looks.
            None if answers == 0 => looks(),
            None => says(&off_the_path(next)),
        }
    }
}

#[async_trait]
impl Model for Story {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let mut recording = Recording::default();
        if request.response_schema.is_some() {
            let next = self.next(&request.messages).map(|scene| scene.prompt.as_str());
            recording.suggestions.push(next.unwrap_or_default().into());
        } else {
            recording.turns.push(self.answer(&request.messages));
        }
        let speed = self.speed;
        let sleep = Arc::new(move |time: Duration| Box::pin(tokio::time::sleep(time.div_f64(speed))) as _);
        Replay::new(recording, sleep).stream(request).await
    }
}

impl Scene {
    /// Whether the prompt is this one, whatever the user is told before it and however it is written.
    fn is_asked_in(&self, message: &Message) -> bool {
        let asked = texts(message).map(str::to_lowercase).last().unwrap_or_default();
        asked.trim_end_matches(['.', ' ', '\n']).ends_with(&self.prompt)
    }

    /// Whether the conversation holds this part up to its last words.
    fn is_told(&self, messages: &[Message]) -> bool {
        let end = self.turns.last().map_or("", |turn| turn.text.as_str());
        messages.iter().filter(|message| message.role == Role::Model).flat_map(texts).any(|text| text == end)
    }
}

const REFUSED: &str = "A call of this part did not run, so the recording cannot go on from there. Send the prompt once \
    more to try it again.";

fn off_the_path(next: Option<&Scene>) -> String {
    let goes_on = next.map_or_else(
        || LAST_WORDS.to_owned(),
        |next| format!("The next one is \"{}\": take it with Tab when it shows, or type it.", next.prompt),
    );
    format!(
        "I am a recording, not a model: I have answers to a few prompts about this sample project, and to no others. \
         {goes_on}"
    )
}

fn looks() -> RecordedTurn {
    let args = json!({ "file_path": "README.md" });
    let args = args.as_object().cloned().unwrap_or_default();
    let call = RecordedCall { name: "read_file".to_owned(), args };
    RecordedTurn { tool_calls: vec![call], delay_ms: 300, ..RecordedTurn::default() }
}

fn says(text: &str) -> RecordedTurn {
    RecordedTurn { text: text.to_owned(), delay_ms: 300, ..RecordedTurn::default() }
}

fn texts(message: &Message) -> impl Iterator<Item = &str> {
    message.parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    })
}

/// Whether a call of the last answer was declined or went wrong.
fn ends_in_failure(turn: &[Message]) -> bool {
    let results = turn.iter().rev().take_while(|message| message.role == Role::Tool);
    results.flat_map(|message| &message.parts).any(
        |part| matches!(part, Part::ToolResult(result) if matches!(result.outcome, ToolOutcome::Error(_))),
    )
}

#[cfg(test)]
mod tests;
