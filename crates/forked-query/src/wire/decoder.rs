use std::collections::HashSet;

use serde_json::Value;

use super::frames::FrameError;
use super::{Answer, Frames, Framing, MAX_EVENT_BYTES, Reader, Wrong};
use crate::redact::Redactor;
use crate::{FinishReason, Message, ModelError, ModelEvent, ModelRequest, Provider};

/// The longest answer that is read, all its events together.
pub const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

const MEBIBYTE: usize = 1024 * 1024;

/// Turns the bytes of an answer, as they come, into its events: every wire format's decoder.
///
/// Give it [`bytes`](Self::bytes) in pieces of any size, then call [`end`](Self::end). After an error, and after the
/// answer is complete, it gives nothing more. It is total: whatever comes is events or an error, and what it keeps in
/// memory is limited.
#[derive(Debug)]
pub struct Decoder {
    provider: Provider,
    reader: Reader,
    frames: Frames,
    answer: Answer,
    ids: HashSet<String>,
    read_bytes: usize,
    state: State,
    hide: Redactor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Closed,
}

impl Decoder {
    /// A decoder for the answer to `request`: calls get ids that no call in it has.
    pub fn new(provider: &Provider, request: &ModelRequest) -> Self {
        let calls = request.messages.iter().flat_map(Message::tool_calls);
        Self {
            provider: provider.clone(),
            reader: provider.wire.reader(),
            frames: Frames::new(provider.wire.framing()),
            answer: Answer::default(),
            ids: calls.map(|call| call.id.clone()).collect(),
            read_bytes: 0,
            state: State::Open,
            hide: Redactor::default(),
        }
    }

    /// The answer comes as one JSON document, from a server that does not stream.
    #[must_use]
    pub fn unstreamed(self) -> Self {
        Self { frames: Frames::new(Framing::Document), ..self }
    }

    /// Keeps this key, and every larger piece of it, out of the errors: some servers show the key that they refuse.
    #[must_use]
    pub fn hiding(self, key: &str) -> Self {
        Self { hide: Redactor::new(key), ..self }
    }

    /// Takes the next bytes. An error is the last thing that comes.
    pub fn bytes(&mut self, bytes: &[u8]) -> Vec<Result<ModelEvent, ModelError>> {
        if self.is_closed() {
            return Vec::new();
        }
        self.read_bytes = self.read_bytes.saturating_add(bytes.len());
        if MAX_ANSWER_BYTES < self.read_bytes {
            let limit = MAX_ANSWER_BYTES / MEBIBYTE;
            return self.failed(self.malformed(format!("it is longer than {limit} MiB")));
        }
        match self.frames.push(bytes) {
            Ok(framed) => framed.iter().flat_map(|data| self.data(data)).collect(),
            Err(error) => self.failed(self.unframed(error)),
        }
    }

    /// Takes the data of one event, for a host that has cut the stream into events itself.
    pub fn data(&mut self, data: &str) -> Vec<Result<ModelEvent, ModelError>> {
        let data = data.trim();
        if self.is_closed() || data.is_empty() {
            return Vec::new();
        }
        if data == "[DONE]" {
            return self.done();
        }
        let read = serde_json::from_str(data)
            .map_err(Wrong::Shape)
            .and_then(|event: Value| self.reader.read(event, &mut self.answer));
        let mut events: Vec<_> = self.answer.take_events().into_iter().map(Ok).collect();
        match read {
            Ok(()) if self.answer.has_ended() => events.extend(self.complete()),
            Ok(()) => {}
            Err(wrong) => events.extend(self.failed(self.error(wrong, data))),
        }
        events
    }

    /// The stream has ended: gives what was held back, or [`ModelError::Cut`] where the answer is not complete.
    pub fn end(&mut self) -> Vec<Result<ModelEvent, ModelError>> {
        let mut events = Vec::new();
        if !self.is_closed() {
            match self.frames.end() {
                // Only whole JSON counts here; anything else is the beginning of what was cut.
                Ok(Some(rest)) if is_whole(&rest) => events.extend(self.data(&rest)),
                // A character that was cut is no more than that.
                Ok(_) | Err(FrameError::NotUtf8) => {}
                Err(_) if self.is_complete() => {}
                Err(error) => events.extend(self.failed(self.unframed(error))),
            }
        }
        events.extend(self.complete());
        events
    }

    /// Whether the provider has said that the answer is complete, though the stream may go on (with the usage).
    pub fn is_complete(&self) -> bool {
        self.answer.finish_reason().is_some()
    }

    /// Whether nothing more can come.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Ends it where it is: the connection failed.
    #[cfg(feature = "http")]
    pub(crate) fn close(&mut self) {
        self.state = State::Closed;
    }

    /// The mark at the end of a stream in the manner of OpenAI.
    fn done(&mut self) -> Vec<Result<ModelEvent, ModelError>> {
        if matches!(self.reader, Reader::Chat) && !self.is_complete() {
            self.answer.finish(FinishReason::Stop);
        }
        self.complete()
    }

    /// Closes: the calls and the reason, where all is well.
    fn complete(&mut self) -> Vec<Result<ModelEvent, ModelError>> {
        if self.is_closed() {
            return Vec::new();
        }
        self.state = State::Closed;
        let Some(finish) = self.answer.finish_reason() else {
            return vec![Err(ModelError::Cut { provider: self.provider.label() })];
        };
        match self.answer.take_calls(&mut self.ids) {
            Ok(calls) => {
                let calls = calls.into_iter().map(ModelEvent::ToolCall);
                calls.chain([ModelEvent::Finished(finish)]).map(Ok).collect()
            }
            Err(message) => vec![Err(self.malformed(message))],
        }
    }

    fn failed(&mut self, error: ModelError) -> Vec<Result<ModelEvent, ModelError>> {
        self.state = State::Closed;
        vec![Err(error)]
    }

    fn error(&self, wrong: Wrong, data: &str) -> ModelError {
        match wrong {
            Wrong::Shape(error) => self.malformed(format!("{error} in: {data}")),
            Wrong::Meaning(message) => self.malformed(message),
            Wrong::Error(error) => self.provider.error_in_stream(&error, &self.hide),
        }
    }

    fn malformed(&self, message: impl AsRef<str>) -> ModelError {
        self.provider.malformed(message, &self.hide)
    }

    fn unframed(&self, error: FrameError) -> ModelError {
        match error {
            FrameError::TooLong => {
                self.malformed(format!("an event is longer than {} MiB", MAX_EVENT_BYTES / MEBIBYTE))
            }
            FrameError::NotUtf8 => self.malformed("the stream is not UTF-8"),
        }
    }
}

fn is_whole(data: &str) -> bool {
    data.trim() == "[DONE]" || serde_json::from_str::<serde::de::IgnoredAny>(data).is_ok()
}
