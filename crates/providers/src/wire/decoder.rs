use std::collections::HashSet;

use serde_json::Value;

use super::frames::FrameError;
use super::given_ids::GivenIds;
use super::preamble::{Preamble, bare_error};
use super::{AnswerBuilder, EventError, EventReader, Frames, Framing, MAX_EVENT_BYTES};
use crate::Provider;
use crate::redact::Redactor;
use headstart_forked_query::json::ObjectEnd;
use headstart_forked_query::{Cause, FinishReason, Message, ModelError, ModelEvent, ModelRequest, Usage};

/// The most bytes of an answer, all its events together.
pub const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

const MEBIBYTE: usize = 1024 * 1024;

/// Turns the bytes of an answer into its events as they come. All wire formats share it.
///
/// Give it [`bytes`](Self::bytes) in pieces of any size, then call [`end`](Self::end). After an error, and after the
/// answer is complete, it returns nothing more. It never panics: any bytes give events or an error, and the memory
/// that it uses is limited.
#[derive(Debug)]
pub struct Decoder {
    provider: Provider,
    model: String,
    reader: EventReader,
    frames: Frames,
    answer: AnswerBuilder,
    ids: HashSet<String>,
    read_bytes: usize,
    state: State,
    /// What came until the first event of the format.
    preamble: Option<Preamble>,
    redactor: Redactor,
    /// The error of the connection.
    broken: Option<Cause>,
    /// Whether the server has reported the cost.
    has_cost: bool,
    /// Set if the request is a question, whose answer is one JSON object.
    question: Option<ObjectEnd>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Closed,
}

impl Decoder {
    /// A decoder for the answer to `request`. Calls get ids that no call in it has.
    pub fn new(provider: &Provider, request: &ModelRequest) -> Self {
        let calls = request.messages.iter().flat_map(Message::tool_calls).map(|call| call.id.as_str());
        let given = GivenIds::of(&request.messages, provider.wire.id(), &request.model);
        Self {
            provider: provider.clone(),
            model: request.model.clone(),
            reader: provider.wire.reader(),
            frames: Frames::new(provider.wire.framing()),
            answer: AnswerBuilder::default(),
            ids: calls.chain(given.all()).map(str::to_owned).collect(),
            read_bytes: 0,
            state: State::Open,
            preamble: Some(Preamble::default()),
            redactor: Redactor::default(),
            broken: None,
            has_cost: false,
            question: request.response_schema.as_ref().map(|_| ObjectEnd::default()),
        }
    }

    /// For a server that does not stream: the answer comes as one JSON document.
    #[must_use]
    pub fn unstreamed(self) -> Self {
        Self { frames: Frames::new(Framing::Document), ..self }
    }

    /// Also returns the characters of calls as they come ([`ModelEvent::CallFragment`]).
    #[must_use]
    pub fn with_call_fragments(mut self) -> Self {
        self.answer.pass_on_fragments();
        self
    }

    /// Removes this key, and every larger piece of it, from errors, because some servers show the key that they
    /// refuse.
    #[must_use]
    pub fn with_hidden_key(self, key: &str) -> Self {
        self.with_redactor(Redactor::new(key))
    }

    /// Removes everything that `redactor` knows from errors.
    pub(crate) fn with_redactor(self, redactor: Redactor) -> Self {
        Self { redactor, ..self }
    }

    /// Takes the next bytes. Nothing follows an error.
    pub fn bytes(&mut self, bytes: &[u8]) -> Vec<Result<ModelEvent, ModelError>> {
        if self.is_closed() {
            return Vec::new();
        }
        self.read_bytes = self.read_bytes.saturating_add(bytes.len());
        if MAX_ANSWER_BYTES < self.read_bytes {
            let limit = MAX_ANSWER_BYTES / MEBIBYTE;
            return self.failed(self.malformed(format!("it is longer than {limit} MiB")));
        }
        if let Some(preamble) = &mut self.preamble {
            preamble.push(bytes);
        }
        match self.frames.push(bytes) {
            Ok(framed) => framed.iter().flat_map(|data| self.data(data)).collect(),
            Err(error) => self.failed(self.framing_error(error)),
        }
    }

    /// Takes the data of one event, for a host that has split the stream into events itself.
    pub fn data(&mut self, data: &str) -> Vec<Result<ModelEvent, ModelError>> {
        let data = data.trim();
        if self.is_closed() || data.is_empty() {
            return Vec::new();
        }
        if data == "[DONE]" {
            return self.done();
        }
        let read = self.read(data);
        let events = self.answer.take_events().into_iter().filter_map(|event| self.within_answer(event));
        let mut events: Vec<_> = events.map(Ok).collect();
        self.has_cost |= events.iter().any(|event| matches!(event, Ok(ModelEvent::Usage(_))));
        match read {
            Ok(()) if self.answer.has_ended() => events.extend(self.complete()),
            Ok(()) => {}
            Err(error) => events.extend(self.failed(self.model_error(error, data))),
        }
        events
    }

    /// The event, if it belongs to the answer: behind the object that answers a question only the cost counts.
    fn within_answer(&mut self, event: ModelEvent) -> Option<ModelEvent> {
        let Some(object) = &mut self.question else { return Some(event) };
        match event {
            ModelEvent::Text(mut text) => {
                text.truncate(object.take(&text));
                (!text.is_empty()).then_some(ModelEvent::Text(text))
            }
            ModelEvent::Thought(_) if object.has_closed() => None,
            event => Some(event),
        }
    }

    fn read(&mut self, data: &str) -> Result<(), EventError> {
        let parsed: Result<Value, _> = serde_json::from_str(data);
        let is_known = parsed.as_ref().is_ok_and(|event| self.reader.knows(event));
        let is_foreign = match (&mut self.preamble, &parsed) {
            (Some(preamble), Ok(_)) if !is_known => preamble.push_unknown_event(data),
            // The data may have been cut or damaged.
            (Some(_), Err(_)) => !data.starts_with(['{', '[']),
            _ => false,
        };
        if is_known {
            self.preamble = None;
        }
        let event = parsed
            .map_err(|error| if is_foreign { EventError::Foreign } else { EventError::Shape(error) })?;
        if let (false, Some(error)) = (is_known, bare_error(&event)) {
            return Err(EventError::Reported(error.clone()));
        }
        self.reader.read(event, &mut self.answer).map_err(|error| match error {
            EventError::Shape(_) if is_foreign => EventError::Foreign,
            error => error,
        })
    }

    /// Ends the stream: returns what was held back, or [`ModelError::Cut`] if the answer is not complete and
    /// [`ModelError::Dropped`] if nothing of it came.
    pub fn end(&mut self) -> Vec<Result<ModelEvent, ModelError>> {
        let mut events = Vec::new();
        if !self.is_closed() {
            match self.frames.end() {
                // Only complete JSON counts here; anything else is the beginning of a cut event.
                Ok(Some(rest)) if is_whole(&rest) => events.extend(self.data(&rest)),
                // A character that was cut is not an error of its own.
                Ok(_) | Err(FrameError::NotUtf8) => {}
                Err(_) if self.is_complete() => {}
                Err(error) => events.extend(self.failed(self.framing_error(error))),
            }
        }
        events.extend(self.complete());
        events
    }

    /// As [`end`](Self::end), if the connection broke: what came complete counts, and the error has its cause.
    #[cfg(feature = "http")]
    pub(crate) fn end_broken(&mut self, cause: impl Into<Cause>) -> Vec<Result<ModelEvent, ModelError>> {
        self.broken = self.redactor.cause(cause);
        self.end()
    }

    /// Whether the provider has said that the answer is complete. The stream may go on, with the usage.
    pub fn is_complete(&self) -> bool {
        self.finish_reason().is_some()
    }

    /// Whether the answer to a question is complete, although its stream has not ended: only the cost may follow.
    pub fn is_answered(&self) -> bool {
        self.question.as_ref().is_some_and(ObjectEnd::has_closed)
    }

    fn finish_reason(&self) -> Option<FinishReason> {
        if self.is_answered() { Some(FinishReason::Stop) } else { self.answer.finish_reason() }
    }

    /// How often the answer grew, including pieces of a call's arguments. If this stays the same, the stream contains
    /// only keep-alives.
    pub fn steps(&self) -> u64 {
        self.answer.steps()
    }

    /// Whether nothing more can come.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Ends the answer because the connection failed.
    #[cfg(feature = "http")]
    pub(crate) fn fail(&mut self, error: ModelError) -> Vec<Result<ModelEvent, ModelError>> {
        self.failed(error)
    }

    /// Handles the mark that ends a stream in OpenAI's format.
    fn done(&mut self) -> Vec<Result<ModelEvent, ModelError>> {
        if matches!(self.reader, EventReader::Chat) && !self.is_complete() {
            self.answer.finish(FinishReason::Stop);
        }
        self.complete()
    }

    /// Ends the answer: returns the calls and the reason if everything is right.
    fn complete(&mut self) -> Vec<Result<ModelEvent, ModelError>> {
        if self.is_closed() {
            return Vec::new();
        }
        self.state = State::Closed;
        let Some(finish) = self.finish_reason() else {
            let incomplete = self.incomplete();
            return self.failed(incomplete);
        };
        match self.answer.take_calls(&mut self.ids) {
            Ok(calls) => {
                let opaque = self.answer.take_opaque(self.provider.wire.id(), &self.model);
                let calls = calls.into_iter().map(ModelEvent::ToolCall);
                let events =
                    opaque.map(ModelEvent::Opaque).into_iter().chain(calls).chain(self.unreported_usage());
                events.chain([ModelEvent::Finished(finish)]).map(Ok).collect()
            }
            Err(message) => self.failed(self.malformed(message)),
        }
    }

    /// The event for an unknown cost, before an end, if the server reported none and the model was at work.
    fn unreported_usage(&mut self) -> Option<ModelEvent> {
        let is_unreported = !self.has_cost && (0 < self.steps() || self.is_complete());
        self.has_cost = true;
        is_unreported.then_some(ModelEvent::Usage(Usage::UNTOLD))
    }

    fn failed(&mut self, error: ModelError) -> Vec<Result<ModelEvent, ModelError>> {
        self.state = State::Closed;
        self.unreported_usage().map(Ok).into_iter().chain([Err(error)]).collect()
    }

    /// The error for an answer that ended before it was complete.
    fn incomplete(&mut self) -> ModelError {
        let source = self.broken.take();
        if self.preamble.as_ref().is_some_and(Preamble::is_empty) {
            return ModelError::Dropped { provider: self.provider.label(), source };
        }
        let preamble = self.preamble.as_ref().filter(|preamble| !preamble.may_be_cut(self.frames.framing()));
        let Some(preamble) = preamble else {
            return ModelError::Cut { provider: self.provider.label(), source };
        };
        // An error that was not sent as an event.
        match preamble.error() {
            Some(error) => self.provider.error_in_stream(&error, &self.redactor),
            None => self.provider.wrong_server(&preamble.quoted(), &self.redactor),
        }
    }

    fn model_error(&self, error: EventError, data: &str) -> ModelError {
        match error {
            EventError::Foreign => {
                let said = self.preamble.as_ref().map(Preamble::quoted);
                self.provider.wrong_server(&said.unwrap_or_default(), &self.redactor)
            }
            EventError::Shape(error) => ModelError::Malformed {
                provider: self.provider.label(),
                message: self.redactor.shorten(&format!("{error} in: {data}")),
                source: self.redactor.cause(error),
            },
            EventError::Content(message) => self.malformed(message),
            EventError::Reported(error) => self.provider.error_in_stream(&error, &self.redactor),
        }
    }

    fn malformed(&self, message: impl AsRef<str>) -> ModelError {
        self.provider.malformed(message, &self.redactor)
    }

    fn framing_error(&self, error: FrameError) -> ModelError {
        match error {
            FrameError::TooLong => {
                self.malformed(format!("an event is longer than {} MiB", MAX_EVENT_BYTES / MEBIBYTE))
            }
            #[cfg(feature = "bedrock")]
            FrameError::Damaged if self.preamble.is_none() => {
                self.malformed("the checksum of a message is wrong")
            }
            #[cfg(feature = "bedrock")]
            FrameError::Damaged => {
                self.provider.wrong_server("bytes that are no messages of AWS", &self.redactor)
            }
            FrameError::NotUtf8 if self.preamble.is_some() => {
                self.provider.wrong_server("bytes that are no text", &self.redactor)
            }
            FrameError::NotUtf8 => self.malformed("the stream is not UTF-8"),
        }
    }
}

fn is_whole(data: &str) -> bool {
    data.trim() == "[DONE]" || serde_json::from_str::<serde::de::IgnoredAny>(data).is_ok()
}
