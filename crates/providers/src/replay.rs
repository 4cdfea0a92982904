use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream;
use serde_json::json;

use crate::{RecordedTurn, Recording};
use headstart_forked_query::GUESSES;
use headstart_forked_query::free_id;
use headstart_forked_query::{
    EventStream, FinishReason, Message, Model, ModelError, ModelEvent, ModelRequest, ToolCall,
};

/// Waits, with the host's timer, because this crate has none.
pub type Sleep = Arc<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync>;

/// A model that plays a recording, whatever it is asked.
///
/// Turns are played in order, one for each request. A request with a response schema gets the next suggestion as
/// `{"guesses": […]}`, a guess for each of its lines; whoever asks for one takes the first. After the last turn a request fails with
/// [`ModelError::RecordingExhausted`]; after the last suggestion the answer holds no guess, because a missing
/// guess is not an error.
///
/// It reads nothing of the request except the ids of its calls and the form of the answer, so it does not notice when
/// tools answer differently than at the time of the recording. A turn counts as played once it is requested, even if
/// the request is dropped before its end, as it would with a provider.
pub struct Replay {
    recording: Recording,
    sleep: Option<Sleep>,
    next_turn: AtomicUsize,
    next_suggestion: AtomicUsize,
}

impl Replay {
    /// Plays with the timing of the recording, waiting with `sleep`. A `sleep` that divides the time plays faster.
    pub fn new(recording: Recording, sleep: Sleep) -> Self {
        Self { sleep: Some(sleep), ..Self::instant(recording) }
    }

    /// Plays without waiting.
    pub fn instant(recording: Recording) -> Self {
        Self { recording, sleep: None, next_turn: AtomicUsize::new(0), next_suggestion: AtomicUsize::new(0) }
    }

    fn suggestion(&self) -> (Vec<ModelEvent>, Duration) {
        let index = self.next_suggestion.fetch_add(1, Ordering::Relaxed);
        let suggestion = self.recording.suggestions.get(index).cloned().unwrap_or_default();
        // A recording may hold the whole answer, with what the model said of its guesses.
        let answer = if suggestion.text.starts_with('{') {
            suggestion.text
        } else {
            let guess = |text| match &suggestion.also[..] {
                [] => json!({ "text": text }),
                also => json!({ "text": text, "also": also }),
            };
            json!({ GUESSES: suggestion.text.lines().map(guess).collect::<Vec<_>>() }).to_string()
        };
        let mut events = vec![ModelEvent::Text(answer)];
        events.extend(suggestion.usage.map(ModelEvent::Usage));
        events.push(ModelEvent::Finished(FinishReason::Stop));
        (events, Duration::from_millis(suggestion.delay_ms))
    }

    /// The events after a delay, the last one `length` after the first.
    fn play(&self, events: Vec<ModelEvent>, delay: Duration, length: Duration) -> EventStream {
        let Some(sleep) = self.sleep.clone().filter(|_| !(delay.is_zero() && length.is_zero())) else {
            return stream::iter(events).map(Ok).boxed();
        };
        let gaps = u32::try_from(events.len().saturating_sub(1)).unwrap_or(u32::MAX).max(1);
        let played = stream::iter(events).enumerate().then(move |(index, event)| {
            let wait = if index == 0 { delay } else { length / gaps };
            let sleep = Arc::clone(&sleep);
            async move {
                if !wait.is_zero() {
                    sleep(wait).await;
                }
                Ok(event)
            }
        });
        played.boxed()
    }

    fn turn(&self) -> Result<(usize, &RecordedTurn), ModelError> {
        let index = self.next_turn.fetch_add(1, Ordering::Relaxed);
        let turns = &self.recording.turns;
        let turn = turns.get(index);
        turn.map(|turn| (index, turn))
            .ok_or(ModelError::RecordingExhausted { what: "turn", played: turns.len() })
    }
}

#[async_trait]
impl Model for Replay {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        if request.response_schema.is_some() {
            let (events, delay) = self.suggestion();
            return Ok(self.play(events, delay, Duration::ZERO));
        }
        let (index, turn) = self.turn()?;
        let events = events(index, turn, request);
        Ok(self.play(events, Duration::from_millis(turn.delay_ms), Duration::from_millis(turn.stream_ms)))
    }
}

fn events(index: usize, turn: &RecordedTurn, request: &ModelRequest) -> Vec<ModelEvent> {
    let mut taken: HashSet<String> =
        request.messages.iter().flat_map(Message::tool_calls).map(|call| call.id.clone()).collect();
    let mut events: Vec<_> = chunks(&turn.text).map(|chunk| ModelEvent::Text(chunk.to_owned())).collect();
    for (number, call) in turn.tool_calls.iter().enumerate() {
        let id = free_id(&format!("replay-{}-{}", index + 1, number + 1), &taken);
        taken.insert(id.clone());
        events.push(ModelEvent::ToolCall(ToolCall { id, name: call.name.clone(), args: call.args.clone() }));
    }
    events.extend(turn.usage.map(ModelEvent::Usage));
    events.push(ModelEvent::Finished(FinishReason::Stop));
    events
}

/// A text in pieces of a few words, as a model streams it.
fn chunks(text: &str) -> impl Iterator<Item = &str> {
    const WORDS: usize = 3;
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.match_indices(' ').nth(WORDS - 1).map_or(rest.len(), |(space, _)| space + 1);
        let (chunk, after) = rest.split_at(end);
        rest = after;
        (!chunk.is_empty()).then_some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures::executor::block_on;
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{call, message, request};
    use crate::{RecordedCall, RecordedSuggestion};
    use headstart_forked_query::{Role, Usage};

    fn play(model: &dyn Model, request: &ModelRequest) -> Result<Vec<ModelEvent>, ModelError> {
        block_on(async {
            let events: Vec<_> = model.stream(request).await?.collect().await;
            events.into_iter().collect()
        })
    }

    fn recording() -> Recording {
        let calls =
            ["ls", "grep"].map(|name| RecordedCall { name: name.into(), args: serde_json::Map::new() });
        let usage =
            Some(Usage { input_tokens: 3, cached_input_tokens: 1, output_tokens: 2, ..Usage::default() });
        Recording {
            turns: vec![
                RecordedTurn {
                    text: "I look at it.".into(),
                    tool_calls: calls.into(),
                    delay_ms: 20,
                    stream_ms: 60,
                    usage,
                },
                RecordedTurn { text: "Done.".into(), ..RecordedTurn::default() },
            ],
            suggestions: vec!["commit this".into()],
        }
    }

    #[test]
    fn turns_and_suggestions_are_played_in_order_until_they_are_exhausted() {
        let replay = Replay::instant(recording());
        let turn = request();
        let query = ModelRequest { response_schema: Some(json!({})), ..request() };
        insta::assert_debug_snapshot!([
            play(&replay, &turn),
            play(&replay, &query),
            play(&replay, &turn),
            play(&replay, &query),
            play(&replay, &turn),
        ]);
    }

    #[test]
    fn the_lines_of_a_suggestion_are_its_guesses_and_a_whole_answer_is_played_as_it_is() {
        let query = ModelRequest { response_schema: Some(json!({})), ..request() };
        let whole = r#"{"guesses":[{"text":"2, the lock","kind":"choice","sign":"2"}]}"#;
        let cases = [
            (
                "run the tests\ncommit this",
                json!({GUESSES: [{"text": "run the tests"}, {"text": "commit this"}]}).to_string(),
            ),
            ("run the tests", json!({GUESSES: [{"text": "run the tests"}]}).to_string()),
            ("", json!({GUESSES: []}).to_string()),
            (whole, whole.to_owned()),
        ];
        for (text, expected) in cases {
            let recording = Recording { suggestions: vec![text.into()], ..recording() };
            let events = play(&Replay::instant(recording), &query).unwrap();
            assert_eq!(events[0], ModelEvent::Text(expected), "{text:?}");
        }
    }

    /// The ids of a recording may be in the conversation already, so others are made.
    #[test]
    fn ids_in_the_conversation_are_not_used_again() {
        let mut asked = request();
        asked.messages.push(message(Role::Model, [call("replay-1-1"), call("replay-1-1-2")]));
        let events = play(&Replay::instant(recording()), &asked).unwrap();
        let ids: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                ModelEvent::ToolCall(call) => Some(call.id.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(ids, ["replay-1-1-3", "replay-1-2"]);
    }

    #[test]
    fn the_host_waits_for_the_delays() {
        let slept = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&slept);
        let sleep: Sleep = Arc::new(move |time| {
            log.lock().unwrap().push(time);
            Box::pin(async {})
        });
        let replay = Replay::new(recording(), sleep);
        play(&replay, &request()).unwrap();
        play(&replay, &request()).unwrap();
        // Two pieces of text, two calls, usage, the end.
        let gap = Duration::from_millis(12);
        assert_eq!(*slept.lock().unwrap(), [Duration::from_millis(20), gap, gap, gap, gap, gap]);

        slept.lock().unwrap().clear();
        let timed = RecordedSuggestion { delay_ms: 7, ..RecordedSuggestion::from("commit this") };
        let replay =
            Replay::new(Recording { suggestions: vec![timed], ..recording() }, replay.sleep.unwrap());
        play(&replay, &ModelRequest { response_schema: Some(json!({})), ..request() }).unwrap();
        assert_eq!(*slept.lock().unwrap(), [Duration::from_millis(7)]);
    }

    proptest! {
        #[test]
        fn chunks_make_up_the_text(text in "[a-zß語 \n]{0,40}") {
            prop_assert_eq!(chunks(&text).collect::<String>(), text);
        }
    }
}
