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
mod written;

use read::{CallReader, Segment};
pub(crate) use write::with_text_tools;
use written::WrittenCalls;

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
pub struct ToolRefusal {
    /// What the provider calls the model.
    pub model: String,
    /// The refusal.
    pub error: ModelError,
}

/// Which models refused tools. Shared by all that send requests for one conversation, so that its requests keep one
/// prefix.
#[derive(Debug, Default)]
pub struct ToolRefusals(Mutex<RefusalState>);

#[derive(Debug, Default)]
struct RefusalState {
    models: HashSet<String>,
    unreported: Vec<ToolRefusal>,
}

impl ToolRefusals {
    /// Refusals that were not reported yet, each once. A front end tells its user.
    pub fn take_new(&self) -> Vec<ToolRefusal> {
        std::mem::take(&mut self.lock().unreported)
    }

    fn holds(&self, model: &str) -> bool {
        self.lock().models.contains(model)
    }

    fn add(&self, model: &str, error: ModelError) {
        info!(model, error = error.code(), "the server takes no tools; they are told in words from now on");
        let mut known = self.lock();
        if known.models.insert(model.to_owned()) {
            known.unreported.push(ToolRefusal { model: model.to_owned(), error });
        }
    }

    fn lock(&self) -> MutexGuard<'_, RefusalState> {
        // Every change under the lock is a single step, so a panic in another thread leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A model that gets its tools as [`ToolSupport`] says. Calls that it writes as words in the form that it was trained on
/// are calls as well if the answer ends with them; what only looks like one ends the answer with
/// [`FinishReason::WrittenCall`].
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

    async fn stream_with_text_tools(
        &self,
        request: &ModelRequest,
        support: ToolSupport,
    ) -> Result<EventStream, ModelError> {
        let events = self.model.stream(&with_text_tools(request, support)).await?;
        // The answer to a question is one JSON object, which contains no calls.
        if support == ToolSupport::None || request.tools.is_empty() || request.response_schema.is_some() {
            return Ok(events);
        }
        Ok(with_written_calls(with_calls(events, request), request))
    }
}

#[async_trait]
impl Model for TextTools {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        if self.support != ToolSupport::Native {
            return self.stream_with_text_tools(request, self.support).await;
        }
        if self.refusals.holds(&request.model) {
            return self.stream_with_text_tools(request, ToolSupport::Text).await;
        }
        let refusal = match self.model.stream(request).await {
            Err(error @ ModelError::ToolsRefused { .. }) => error,
            Err(error) => return Err(error),
            // Some servers answer with success, and report the refusal as the first event.
            Ok(mut events) => match events.next().await {
                Some(Err(error @ ModelError::ToolsRefused { .. })) => error,
                Some(first) => {
                    return Ok(with_written_calls(stream::iter([first]).chain(events).boxed(), request));
                }
                None => return Ok(events),
            },
        };
        self.refusals.add(&request.model, refusal);
        self.stream_with_text_tools(request, ToolSupport::Text).await
    }
}

/// The answer with calls that the model wrote in a form of its own as calls.
fn with_written_calls(events: EventStream, request: &ModelRequest) -> EventStream {
    // The answer to a question is one JSON object, which is no call.
    if request.tools.is_empty() || request.response_schema.is_some() {
        return events;
    }
    let state = (events, WrittenCalls::new(request), VecDeque::new());
    let step = |(mut events, mut written, mut ready): (EventStream, WrittenCalls, VecDeque<_>)| async move {
        loop {
            if let Some(event) = ready.pop_front() {
                return Some((event, (events, written, ready)));
            }
            match events.next().await? {
                Ok(event) => ready.extend(written.handle(event).into_iter().map(Ok)),
                Err(error) => {
                    ready.extend(written.break_off().into_iter().map(Ok));
                    ready.push_back(Err(error));
                }
            }
        }
    };
    stream::unfold(state, step).boxed()
}

/// The answer with the calls in its words as calls.
fn with_calls(events: EventStream, request: &ModelRequest) -> EventStream {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    let taken = parts.filter_map(|part| match part {
        Part::ToolCall(call) => Some(call.id.clone()),
        _ => None,
    });
    let answer = ToolCallStream {
        events,
        reader: CallReader::default(),
        taken: taken.collect(),
        ready: VecDeque::new(),
        is_cost_reported: false,
        is_over: false,
    };
    stream::unfold(answer, |mut answer| async move { Some((answer.next().await?, answer)) }).boxed()
}

struct ToolCallStream {
    events: EventStream,
    reader: CallReader,
    /// The ids of all calls, for choosing new ones.
    taken: HashSet<String>,
    ready: VecDeque<ModelEvent>,
    /// Whether the cost was reported.
    is_cost_reported: bool,
    is_over: bool,
}

impl ToolCallStream {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if self.is_over {
                return None;
            }
            match self.events.next().await {
                Some(Ok(event)) => self.handle(event),
                other => {
                    self.is_over = true;
                    return other;
                }
            }
        }
    }

    fn handle(&mut self, event: ModelEvent) {
        match event {
            ModelEvent::Text(text) => {
                let segments = self.reader.push(&text);
                self.emit(segments);
            }
            ModelEvent::Usage(usage) => {
                self.is_cost_reported = true;
                self.ready.push_back(ModelEvent::Usage(usage));
            }
            ModelEvent::Finished(reason) => {
                let segments = self.reader.end(reason == FinishReason::Stop);
                self.emit(segments);
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

    fn emit(&mut self, segments: Vec<Segment>) {
        for segment in segments {
            match segment {
                Segment::Text(text) => self.ready.push_back(ModelEvent::Text(text)),
                Segment::Call(call) => {
                    let id = free_id("call", &self.taken);
                    self.taken.insert(id.clone());
                    self.ready.push_back(ModelEvent::ToolCall(call.with_id(id)));
                }
                // What a model writes behind its calls, it writes as if it had their results, so it is neither read
                // nor worth waiting for.
                Segment::End => {
                    self.is_over = true;
                    if !self.is_cost_reported {
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
