//! Tools for models whose servers accept none: described in words, and called in blocks of the answer.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use futures::{StreamExt, stream};
use headstart_forked_query::{
    EventStream, FinishReason, Model, ModelError, ModelEvent, ModelRequest, Part, Usage, free_id,
};
use tracing::info;

mod read;
mod write;

use read::{CallReader, Found};
pub(crate) use write::in_words;

/// How a model gets tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ToolSupport {
    /// In the fields of its wire format; in words once its server refuses those.
    #[default]
    Native,
    /// In words: the system instruction lists them, and the calls are blocks of the answer.
    Text,
    /// Not at all. Calls and results of earlier models are sent as words.
    None,
}

/// A model whose server refused tools in their own fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedTools {
    /// What the provider calls the model.
    pub model: String,
    /// The refusal.
    pub error: ModelError,
}

/// Which models refused tools. Shared by all that send requests for one conversation, so that its requests keep one
/// prefix.
#[derive(Debug, Default)]
pub struct ToolRefusals(Mutex<Refusals>);

#[derive(Debug, Default)]
struct Refusals {
    models: HashSet<String>,
    untold: Vec<RefusedTools>,
}

impl ToolRefusals {
    /// Refusals that were not reported yet, each once. A front end tells its user.
    pub fn take_new(&self) -> Vec<RefusedTools> {
        std::mem::take(&mut self.lock().untold)
    }

    fn holds(&self, model: &str) -> bool {
        self.lock().models.contains(model)
    }

    fn add(&self, model: &str, error: ModelError) {
        info!(model, error = error.code(), "the server takes no tools; they are told in words from now on");
        let mut known = self.lock();
        if known.models.insert(model.to_owned()) {
            known.untold.push(RefusedTools { model: model.to_owned(), error });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Refusals> {
        // Every change under the lock is a single step, so a panic in another thread leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A model that gets its tools as [`ToolSupport`] says.
///
/// Callers see no difference: calls come complete, in order, each with an id, and a conversation has the same
/// messages whether or not the model supports tools. What the model wants back of its thoughts
/// ([`Opaque`](headstart_forked_query::Opaque)) is left out if tools are sent in words, because its positions in the
/// answer would not be those of the words any more.
pub struct TextTools {
    model: Arc<dyn Model>,
    support: ToolSupport,
    refusals: Arc<ToolRefusals>,
}

impl TextTools {
    /// Wraps a model. Refusals are remembered in `refusals`.
    pub fn new(model: Arc<dyn Model>, support: ToolSupport, refusals: Arc<ToolRefusals>) -> Self {
        Self { model, support, refusals }
    }

    async fn in_words(
        &self,
        request: &ModelRequest,
        support: ToolSupport,
    ) -> Result<EventStream, ModelError> {
        let events = self.model.stream(&in_words(request, support)).await?;
        // The answer to a question is one JSON object, which contains no calls.
        if support == ToolSupport::None || request.tools.is_empty() || request.response_schema.is_some() {
            return Ok(events);
        }
        Ok(with_calls(events, request))
    }
}

#[async_trait]
impl Model for TextTools {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        if self.support != ToolSupport::Native {
            return self.in_words(request, self.support).await;
        }
        if self.refusals.holds(&request.model) {
            return self.in_words(request, ToolSupport::Text).await;
        }
        let refusal = match self.model.stream(request).await {
            Err(error @ ModelError::ToolsRefused { .. }) => error,
            Err(error) => return Err(error),
            // Some servers answer with success, and report the refusal as the first event.
            Ok(mut events) => match events.next().await {
                Some(Err(error @ ModelError::ToolsRefused { .. })) => error,
                Some(first) => return Ok(stream::iter([first]).chain(events).boxed()),
                None => return Ok(events),
            },
        };
        self.refusals.add(&request.model, refusal);
        self.in_words(request, ToolSupport::Text).await
    }
}

/// The answer with the calls in its words as calls.
fn with_calls(events: EventStream, request: &ModelRequest) -> EventStream {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    let taken = parts.filter_map(|part| match part {
        Part::ToolCall(call) => Some(call.id.clone()),
        _ => None,
    });
    let answer = Answer {
        events,
        reader: CallReader::default(),
        taken: taken.collect(),
        ready: VecDeque::new(),
        is_told: false,
        is_over: false,
    };
    stream::unfold(answer, |mut answer| async move { Some((answer.next().await?, answer)) }).boxed()
}

struct Answer {
    events: EventStream,
    reader: CallReader,
    /// The ids of all calls, for choosing new ones.
    taken: HashSet<String>,
    ready: VecDeque<ModelEvent>,
    /// Whether the cost was reported.
    is_told: bool,
    is_over: bool,
}

impl Answer {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if self.is_over {
                return None;
            }
            match self.events.next().await {
                Some(Ok(event)) => self.take(event),
                other => {
                    self.is_over = true;
                    return other;
                }
            }
        }
    }

    fn take(&mut self, event: ModelEvent) {
        match event {
            ModelEvent::Text(text) => {
                let found = self.reader.push(&text);
                self.give(found);
            }
            ModelEvent::Usage(usage) => {
                self.is_told = true;
                self.ready.push_back(ModelEvent::Usage(usage));
            }
            ModelEvent::Finished(reason) => {
                let found = self.reader.end(reason == FinishReason::Stop);
                self.give(found);
                if !self.is_over {
                    self.is_over = true;
                    self.ready.push_back(ModelEvent::Finished(reason));
                }
            }
            // Calls in the model's own format were not offered, and positions in the words are not those that it
            // knows.
            ModelEvent::Opaque(_) | ModelEvent::ToolCall(_) | ModelEvent::CallFragment { .. } => {}
            other => self.ready.push_back(other),
        }
    }

    fn give(&mut self, found: Vec<Found>) {
        for found in found {
            match found {
                Found::Text(text) => self.ready.push_back(ModelEvent::Text(text)),
                Found::Call(call) => {
                    let id = free_id("call", &self.taken);
                    self.taken.insert(id.clone());
                    self.ready.push_back(ModelEvent::ToolCall(call.with_id(id)));
                }
                // What a model writes behind its calls, it writes as if it had their results, so it is neither read
                // nor worth waiting for.
                Found::End => {
                    self.is_over = true;
                    if !self.is_told {
                        self.ready.push_back(ModelEvent::Usage(Usage::UNTOLD));
                    }
                    self.ready.push_back(ModelEvent::Finished(FinishReason::Stop));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
