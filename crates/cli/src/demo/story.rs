use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use headstart_forked_query::{
    EventStream, Message, Model, ModelError, ModelRequest, Part, Role, ToolOutcome,
};
use headstart_providers::{RecordedCall, RecordedSuggestion, RecordedTurn, Recording, Replay};
use serde_json::json;

/// The bundled recording as a model: it answers the recorded prompts, and replies to all others that it is a recording.
///
/// The answer depends on the request alone. So the recording is not used up by work that ran ahead and was discarded,
/// or by prompts of the user's own.
pub(crate) struct Story {
    scenes: Vec<RecordedPrompt>,
    speed: f64,
}

/// One prompt and the recorded answers to it.
struct RecordedPrompt {
    prompt: RecordedSuggestion,
    turns: Vec<RecordedTurn>,
    /// What takes the place of the last answer if the last call did not run.
    cut_short: String,
}

/// The end of the last answer, which the recording itself does not contain.
const LAST_WORDS: &str = "That was all of the recording: Ctrl-D leaves, and then you see what to type next.";

impl Story {
    /// The first `parts` prompts of the recording, beginning with `first`, with its delays divided by `speed`.
    pub(super) fn new(recording: Recording, first: &str, parts: usize, speed: f64) -> Self {
        let prompts = std::iter::once(RecordedSuggestion::from(first)).chain(recording.suggestions);
        let mut turns = recording.turns.into_iter();
        let mut scenes: Vec<_> = prompts
            .take(parts)
            .map(|prompt| {
                // An answer without a call ends one of the user's turns.
                let mut answers: Vec<RecordedTurn> = Vec::new();
                while answers.last().is_none_or(|answer| !answer.tool_calls.is_empty())
                    && let Some(turn) = turns.next()
                {
                    answers.push(turn);
                }
                let cut_short = format!("The last call did not run, so \"{}\" ends here.", prompt.text);
                RecordedPrompt { prompt, turns: answers, cut_short }
            })
            .collect();
        if let Some(last) = scenes.last_mut() {
            for text in [last.turns.last_mut().map(|turn| &mut turn.text), Some(&mut last.cut_short)]
                .into_iter()
                .flatten()
            {
                *text = format!("{text} {LAST_WORDS}");
            }
        }
        Self { scenes, speed }
    }

    /// The first scene that the conversation does not contain yet. There is none once two parts were stopped by a call
    /// that did not run, because a suggestion that can only fail would come back without end.
    fn next(&self, messages: &[Message]) -> Option<&RecordedPrompt> {
        let refused = model_texts(messages).filter(|text| *text == REFUSED).count();
        self.scenes.iter().find(|scene| !scene.is_told(messages)).filter(|_| refused < 2)
    }

    /// The next answer in a conversation.
    fn answer(&self, messages: &[Message]) -> RecordedTurn {
        let asked = messages.iter().rposition(|message| message.role == Role::User).unwrap_or(0);
        let turn = &messages[asked..];
        let answers = turn.iter().filter(|message| message.role == Role::Model).count();
        // What the user took back is told before their prompt.
        let next = self.next(&messages[..messages.len().min(asked + 1)]);
        let scene = next.filter(|scene| turn.first().is_some_and(|asked| scene.matches_message(asked)));
        match scene.and_then(|scene| Some((scene, scene.turns.get(answers)?))) {
            Some((scene, recorded)) => match failed_call(turn) {
                // The parts that follow rest on edits, but on no command.
                Some("shell") if recorded.tool_calls.is_empty() => says(&scene.cut_short),
                Some(_) => says(REFUSED),
                None => recorded.clone(),
            },
            // Suggestions begin with the second answer, so the first one only reads files.
            None if answers == 0 => looking_turn(),
            None => says(&off_the_path(next)),
        }
    }
}

#[async_trait]
impl Model for Story {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let mut recording = Recording::default();
        if request.response_schema.is_some() {
            let next = self.next(&request.messages).map(|scene| scene.prompt.clone());
            recording.suggestions.push(next.unwrap_or_default());
        } else {
            recording.turns.push(self.answer(&request.messages));
        }
        let speed = self.speed;
        let sleep = Arc::new(move |time: Duration| Box::pin(tokio::time::sleep(time.div_f64(speed))) as _);
        Replay::new(recording, sleep).stream(request).await
    }
}

impl RecordedPrompt {
    /// Whether the message contains this prompt in one of its wordings, in any case of letters and after any notes that
    /// are added before it.
    fn matches_message(&self, message: &Message) -> bool {
        let asked = texts(message).map(str::to_lowercase).last().unwrap_or_default();
        let asked = asked.trim_end_matches(['.', ' ', '\n']);
        std::iter::once(&self.prompt.text).chain(&self.prompt.also).any(|wording| asked.ends_with(wording))
    }

    /// Whether the conversation contains this scene completely, and what it changed was not taken back since.
    fn is_told(&self, messages: &[Message]) -> bool {
        let end = self.turns.last().map_or("", |turn| turn.text.as_str());
        let is_end = |message: &Message| {
            message.role == Role::Model && texts(message).any(|text| text == end || text == self.cut_short)
        };
        let Some(told) = messages.iter().rposition(is_end) else { return false };
        let since = messages[told..].iter().filter(|message| message.role == Role::User);
        !since.flat_map(texts).any(|text| self.is_taken_back(text))
    }

    /// Whether this note to the model names a file of this scene among those that were dropped or undone.
    fn is_taken_back(&self, note: &str) -> bool {
        let is_about_that =
            note.starts_with("[Note: ") && TAKEN_BACK.iter().any(|words| note.contains(words));
        let calls = self.turns.iter().flat_map(|turn| &turn.tool_calls);
        let mut edited = calls
            .filter(|call| matches!(call.name.as_str(), "edit" | "write_file"))
            .filter_map(|call| call.args.get("file_path")?.as_str());
        is_about_that && edited.any(|path| note.contains(path))
    }
}

/// What the conversation says of files whose changes the user dropped or undid.
const TAKEN_BACK: [&str; 2] = ["the user dropped your changes", "the user has undone changes"];

const REFUSED: &str = "A call of this part did not run, so the recording cannot go on from there. Send the prompt once \
    more to try it again.";

fn off_the_path(next: Option<&RecordedPrompt>) -> String {
    let goes_on = next.map_or_else(
        || LAST_WORDS.to_owned(),
        |next| {
            format!("The next one is \"{}\": take it with Tab when it shows, or type it.", next.prompt.text)
        },
    );
    format!(
        "I am a recording, not a model: I have answers to a few prompts about this sample project, and to no others. \
         {goes_on}"
    )
}

fn looking_turn() -> RecordedTurn {
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

fn model_texts(messages: &[Message]) -> impl Iterator<Item = &str> {
    messages.iter().filter(|message| message.role == Role::Model).flat_map(texts)
}

/// The tool of a call of the last answer that was declined or failed.
fn failed_call(turn: &[Message]) -> Option<&str> {
    let results = turn.iter().rev().take_while(|message| message.role == Role::Tool);
    results.flat_map(|message| &message.parts).find_map(|part| match part {
        Part::ToolResult(result) if matches!(result.outcome, ToolOutcome::Error(_)) => {
            Some(result.name.as_str())
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests;
