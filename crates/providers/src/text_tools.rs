//! Tools for models that take none: told in words, and called in blocks of the answer.

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

/// How a model is given tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ToolSupport {
    /// In the fields that its wire format has for them; in words from the moment at which its server refuses them.
    #[default]
    Native,
    /// In words: the system instruction lists them, and blocks of the answer are calls.
    Text,
    /// Not at all. Calls and results of earlier models are told as words.
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

/// Which models refused tools: shared by all that ask for one conversation, so that its requests keep one prefix.
#[derive(Debug, Default)]
pub struct ToolRefusals(Mutex<Refusals>);

#[derive(Debug, Default)]
struct Refusals {
    models: HashSet<String>,
    untold: Vec<RefusedTools>,
}

impl ToolRefusals {
    /// Those that nobody was told of yet, each once. Whoever shows a conversation tells its user.
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
        // Every change under the lock is one step, so a panic elsewhere leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A model that gets its tools as [`ToolSupport`] says.
///
/// Who asks sees no difference: calls come whole, in order, each with an id, and a conversation is the same messages whether the model
/// takes tools or not. What the model wants back of its thoughts ([`Opaque`](headstart_forked_query::Opaque)) is left out where
/// tools are told in words, because its places in the answer are no longer those of the words.
pub struct TextTools {
    model: Arc<dyn Model>,
    support: ToolSupport,
    refusals: Arc<ToolRefusals>,
}

impl TextTools {
    /// This model. Refusals are remembered in `refusals`.
    pub fn new(model: Arc<dyn Model>, support: ToolSupport, refusals: Arc<ToolRefusals>) -> Self {
        Self { model, support, refusals }
    }

    async fn in_words(
        &self,
        request: &ModelRequest,
        support: ToolSupport,
    ) -> Result<EventStream, ModelError> {
        let events = self.model.stream(&in_words(request, support)).await?;
        // The answer to a question is one JSON object, which holds no calls.
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
            // Some servers answer with a success, and with the refusal as its first event.
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
    /// The ids of calls.
    taken: HashSet<String>,
    ready: VecDeque<ModelEvent>,
    /// Whether it is known what it cost.
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
            // Calls of its own are none that it was offered, and places in the words are no longer those that it knows.
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
                // What a model writes behind its calls, it writes as if it had their results. Nobody waits for it, nor for what it costs.
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
