use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::Stream;
use serde_json::Value;

use crate::{RecordedCall, RecordedSuggestion, RecordedTurn, Recording, Scrubber};
use headstart_forked_query::GUESSES;
use headstart_forked_query::{EventStream, Model, ModelError, ModelEvent, ModelRequest};

/// The host's clock: the time since any fixed moment.
pub type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Passes requests on to a model, and keeps the answers as a recording that [`Replay`](crate::Replay) plays.
///
/// Only complete answers are kept, in the order of their requests. It never sees requests, keys and headers, and
/// keeps no thoughts. What the model says is kept without what looks like a secret, and without the
/// [secrets](Self::with_secrets) that the host knows.
pub struct Recorder {
    model: Arc<dyn Model>,
    clock: Option<Clock>,
    partial: Arc<Mutex<PartialRecording>>,
}

/// The answers. Each has its slot from the moment of its request; if it fails, the slot stays empty.
#[derive(Default)]
struct PartialRecording {
    turns: Vec<Option<RecordedTurn>>,
    suggestions: Vec<Option<RecordedSuggestion>>,
    scrubber: Scrubber,
}

impl Recorder {
    /// Records without delays.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self { model, clock: None, partial: Arc::default() }
    }

    /// Also records how long each answer took until its first event, and from there to its end.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock: Some(clock), ..self }
    }

    /// Also removes these secrets from what is recorded.
    #[must_use]
    pub fn with_secrets(self, scrubber: Scrubber) -> Self {
        lock(&self.partial).scrubber = scrubber;
        self
    }

    /// Another model whose answers go into the same recording, in the order of all requests.
    #[must_use]
    pub fn for_model(&self, model: Arc<dyn Model>) -> Self {
        Self { model, clock: self.clock.clone(), partial: Arc::clone(&self.partial) }
    }

    /// The recording so far.
    pub fn recording(&self) -> Recording {
        let partial = lock(&self.partial);
        // Only complete answers are scrubbed, because a secret may come in pieces.
        partial.scrubber.recording(&Recording {
            turns: partial.turns.iter().flatten().cloned().collect(),
            suggestions: partial.suggestions.iter().flatten().cloned().collect(),
        })
    }

    fn reserve_slot(&self, request: &ModelRequest) -> RecordingSlot {
        let mut partial = lock(&self.partial);
        if request.response_schema.is_some() {
            partial.suggestions.push(None);
            RecordingSlot::Suggestion(partial.suggestions.len() - 1)
        } else {
            partial.turns.push(None);
            RecordingSlot::Turn(partial.turns.len() - 1)
        }
    }
}

#[async_trait]
impl Model for Recorder {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let requested_at = self.clock.as_ref().map(|clock| clock());
        let slot = self.reserve_slot(request);
        let events = self.model.stream(request).await?;
        Ok(Box::pin(RecordedStream {
            events,
            answer: Some(RecordedTurn::default()),
            clock: self.clock.clone(),
            requested_at,
            first_event_at: None,
            slot,
            partial: Arc::clone(&self.partial),
        }))
    }
}

#[derive(Clone, Copy)]
enum RecordingSlot {
    Turn(usize),
    Suggestion(usize),
}

struct RecordedStream {
    events: EventStream,
    /// The answer, until it is complete.
    answer: Option<RecordedTurn>,
    clock: Option<Clock>,
    requested_at: Option<Duration>,
    /// When the first event came.
    first_event_at: Option<Duration>,
    slot: RecordingSlot,
    partial: Arc<Mutex<PartialRecording>>,
}

impl Stream for RecordedStream {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let event = std::task::ready!(self.events.as_mut().poll_next(context));
        if let Some(Ok(event)) = &event {
            self.record(event);
        }
        Poll::Ready(event)
    }
}

impl RecordedStream {
    fn record(&mut self, event: &ModelEvent) {
        let Some(answer) = &mut self.answer else {
            return;
        };
        if let (Some(clock), Some(requested_at)) = (&self.clock, self.requested_at) {
            let now = clock();
            let first_event_at = *self.first_event_at.get_or_insert(now);
            answer.delay_ms = millis(first_event_at.saturating_sub(requested_at));
            answer.stream_ms = millis(now.saturating_sub(first_event_at));
        }
        match event {
            ModelEvent::Text(text) => answer.text.push_str(text),
            ModelEvent::ToolCall(call) => {
                answer.tool_calls.push(RecordedCall { name: call.name.clone(), args: call.args.clone() });
            }
            ModelEvent::Usage(usage) => answer.usage = Some(*usage),
            ModelEvent::Finished(_) => {
                let answer = self.answer.take().unwrap_or_default();
                let mut partial = lock(&self.partial);
                match self.slot {
                    RecordingSlot::Turn(index) => partial.turns[index] = Some(answer),
                    RecordingSlot::Suggestion(index) => {
                        partial.suggestions[index] = Some(suggestion(&answer));
                    }
                }
            }
            // A replay needs no thoughts, and no other model understands them.
            _ => {}
        }
    }
}

/// The guesses in an answer to a query, on lines of their own, if they are no more than their texts. Other answers are
/// kept as they are. Nobody reads it before its end, so all of its time is a delay.
fn suggestion(answer: &RecordedTurn) -> RecordedSuggestion {
    let json: Option<Value> = serde_json::from_str(answer.text.trim()).ok();
    let field = |name| json.as_ref().and_then(|json| json.get(name));
    let one = field("suggestion").and_then(Value::as_str).map(str::to_owned);
    let several = || {
        let text = |guess: &Value| {
            let only = guess.as_object().filter(|fields| fields.len() == 1)?;
            only.get("text")?.as_str().map(str::to_owned)
        };
        let texts: Option<Vec<_>> = field(GUESSES)?.as_array()?.iter().map(text).collect();
        Some(texts?.join("\n"))
    };
    RecordedSuggestion {
        text: one.or_else(several).unwrap_or_else(|| answer.text.clone()),
        also: Vec::new(),
        delay_ms: answer.delay_ms.saturating_add(answer.stream_ms),
        usage: answer.usage,
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn lock(partial: &Mutex<PartialRecording>) -> MutexGuard<'_, PartialRecording> {
    // Every change under the lock is a single step, so a panic in another thread leaves nothing half done.
    partial.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use futures::StreamExt;
    use futures::executor::block_on;
    use serde_json::json;

    use super::*;
    use crate::Replay;
    use crate::testing::{Script, request};
    use headstart_forked_query::FinishReason;

    /// What a recorder writes while a recording is played is that recording.
    #[test]
    fn a_recording_of_a_replay_is_the_recording() {
        // The clock advances by 5 ms whenever it is asked: once for the request, once for each event.
        let text = r#"{"turns":[{"text":"I look at all of it.","toolCalls":[{"name":"ls","args":{"path":"."}}],"delayMs":5,"streamMs":20,
            "usage":{"inputTokens":3,"cachedInputTokens":2,"outputTokens":1}},{"text":"Done.","delayMs":5,"streamMs":5}],
            "suggestions":[{"text":"commit this","delayMs":15,"usage":{"inputTokens":9}}]}"#;
        let played = Recording::parse(text).unwrap();
        let time = Arc::new(AtomicU64::new(0));
        let clock: Clock = Arc::new(move || Duration::from_millis(time.fetch_add(5, Ordering::Relaxed)));
        let recorder = Recorder::new(Arc::new(Replay::instant(played.clone()))).with_clock(clock);
        let query = ModelRequest { response_schema: Some(json!({})), ..request() };
        block_on(async {
            for request in [request(), query, request()] {
                recorder.stream(&request).await.unwrap().collect::<Vec<_>>().await;
            }
        });
        assert_eq!(recorder.recording(), played);
    }

    #[test]
    fn several_candidates_are_recorded_as_they_are_played() {
        let played = Recording::parse(r#"{"suggestions":["commit this\npush it","tag it"]}"#).unwrap();
        let recorder = Recorder::new(Arc::new(Replay::instant(played.clone())));
        let query = ModelRequest { response_schema: Some(json!({})), ..request() };
        block_on(async {
            for _ in 0..2 {
                recorder.stream(&query).await.unwrap().collect::<Vec<_>>().await;
            }
        });
        assert_eq!(recorder.recording(), played);
    }

    /// Only whole answers are recorded, in the order of their requests.
    #[test]
    fn what_is_not_whole_is_not_kept_and_the_order_is_that_of_asking() {
        let cut = Script::answering([Ok(ModelEvent::Text("half".into()))]);
        let recorder = Recorder::new(cut);
        block_on(async { recorder.stream(&request()).await.unwrap().collect::<Vec<_>>().await });
        assert_eq!(recorder.recording(), Recording::default());

        let replay = Recording::parse(r#"{"turns":[{"text":"first"},{"text":"second"}]}"#).unwrap();
        let recorder = Recorder::new(Arc::new(Replay::instant(replay.clone())));
        block_on(async {
            let first = recorder.stream(&request()).await.unwrap();
            let second = recorder.stream(&request()).await.unwrap();
            let last = second.collect::<Vec<_>>().await.pop();
            assert_eq!(last, Some(Ok(ModelEvent::Finished(FinishReason::Stop))));
            first.collect::<Vec<_>>().await;
        });
        assert_eq!(recorder.recording(), replay);
    }
}
