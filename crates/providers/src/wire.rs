//! What the wire formats share: the way from a request to bytes, and from the bytes of an answer to
//! [`ModelEvent`](headstart_forked_query::ModelEvent)s.

mod answer_builder;
pub(crate) mod arguments;
pub(crate) mod cache_control;
mod calls;
mod decoder;
pub(crate) mod encoding;
mod frames;
pub(crate) mod given_ids;
pub(crate) mod layout;
mod preamble;
mod refusal;

pub(crate) use answer_builder::{AnswerBuilder, EventError};
pub(crate) use calls::CallFragment;
#[cfg(feature = "bedrock")]
pub(crate) use calls::FragmentArguments;
pub use decoder::{Decoder, MAX_ANSWER_BYTES};
#[cfg(feature = "bedrock")]
pub(crate) use frames::FrameError;
pub use frames::MAX_EVENT_BYTES;
pub(crate) use frames::{Frames, Framing};
pub use layout::MAX_OPAQUE_BYTES;
use serde_json::Value;

#[cfg(feature = "bedrock")]
use crate::bedrock;
use crate::{anthropic, gemini, ollama, openai, responses};
use headstart_forked_query::ModelRequest;

/// The wire format of a provider, with its options.
#[derive(Debug, Clone, PartialEq)]
pub enum Wire {
    /// OpenAI's chat completions, which most servers speak; DashScope's dialect of them too.
    Chat(openai::WireOptions),
    /// Anthropic's Messages.
    Anthropic(anthropic::Options),
    /// Gemini's `streamGenerateContent`.
    Gemini(gemini::Options),
    /// OpenAI's Responses.
    Responses(responses::Options),
    /// Ollama's own `/api/chat`.
    Ollama(ollama::Options),
    /// Bedrock's `ConverseStream`.
    #[cfg(feature = "bedrock")]
    Bedrock(bedrock::Options),
}

/// How a key is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyHeader {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// The key alone in a header of this name.
    Named(&'static str),
}

impl Wire {
    /// The body of a streaming request. The same request gives the same bytes.
    pub fn encode(&self, request: &ModelRequest) -> Vec<u8> {
        match self {
            Self::Chat(options) => openai::encode(request, options),
            Self::Anthropic(options) => anthropic::encode(request, options),
            Self::Gemini(options) => gemini::encode(request, options),
            Self::Responses(options) => responses::encode(request, options),
            Self::Ollama(options) => ollama::encode(request, options),
            #[cfg(feature = "bedrock")]
            Self::Bedrock(options) => bedrock::encode(request, options),
        }
    }

    /// The format's name for programs, which identifies what it wrote into a conversation.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Chat(_) => openai::ID,
            Self::Anthropic(_) => anthropic::ID,
            Self::Gemini(_) => gemini::ID,
            Self::Responses(_) => responses::ID,
            Self::Ollama(_) => ollama::ID,
            #[cfg(feature = "bedrock")]
            Self::Bedrock(_) => bedrock::ID,
        }
    }

    /// The format's name, for messages.
    pub fn format(&self) -> &'static str {
        match self {
            Self::Chat(_) => "OpenAI's chat completions",
            Self::Anthropic(_) => "Anthropic's Messages",
            Self::Gemini(_) => "Gemini's generateContent",
            Self::Responses(_) => "OpenAI's Responses",
            Self::Ollama(_) => "Ollama's chat",
            #[cfg(feature = "bedrock")]
            Self::Bedrock(_) => "Bedrock's Converse",
        }
    }

    /// The part behind the base URL in a request to this model.
    pub fn path(&self, model: &str) -> String {
        match self {
            Self::Chat(_) => "/chat/completions".into(),
            Self::Anthropic(_) => "/v1/messages".into(),
            Self::Gemini(_) => gemini::path(model),
            Self::Responses(_) => "/responses".into(),
            Self::Ollama(_) => "/api/chat".into(),
            #[cfg(feature = "bedrock")]
            Self::Bedrock(_) => bedrock::path(model),
        }
    }

    /// Endings of a base URL that are not part of it, because people copy it with more. Each is removed once, in this
    /// order.
    pub fn base_url_endings(&self) -> &'static [&'static str] {
        match self {
            Self::Chat(_) => &["/chat/completions"],
            Self::Anthropic(_) => &["/messages", "/v1"],
            Self::Gemini(_) => &["/models"],
            Self::Responses(_) => &["/responses"],
            Self::Ollama(_) => &["/chat", "/api", "/v1"],
            #[cfg(feature = "bedrock")]
            Self::Bedrock(_) => &["/model"],
        }
    }

    /// The query of the URL.
    pub fn query(&self) -> Option<&'static str> {
        matches!(self, Self::Gemini(_)).then_some("alt=sse")
    }

    /// The headers that a request has besides those of every JSON request.
    pub fn headers(&self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Chat(options) => options.headers(),
            Self::Anthropic(_) => &[("anthropic-version", "2023-06-01")],
            Self::Gemini(_) | Self::Responses(_) | Self::Ollama(_) => &[],
            #[cfg(feature = "bedrock")]
            Self::Bedrock(_) => &[],
        }
    }

    /// How the key is sent.
    pub fn key_header(&self) -> KeyHeader {
        match self {
            Self::Chat(_) | Self::Responses(_) | Self::Ollama(_) => KeyHeader::Bearer,
            Self::Anthropic(_) => KeyHeader::Named("x-api-key"),
            Self::Gemini(_) => KeyHeader::Named("x-goog-api-key"),
            #[cfg(feature = "bedrock")]
            Self::Bedrock(_) => KeyHeader::Bearer,
        }
    }

    /// The media type of a streamed answer.
    pub fn accept(&self) -> &'static str {
        match self.framing() {
            Framing::Lines => "application/x-ndjson",
            #[cfg(feature = "bedrock")]
            Framing::Messages => "application/vnd.amazon.eventstream",
            Framing::Events | Framing::Document => "text/event-stream",
        }
    }

    pub(crate) fn framing(&self) -> Framing {
        match self {
            Self::Ollama(_) => Framing::Lines,
            #[cfg(feature = "bedrock")]
            Self::Bedrock(_) => Framing::Messages,
            _ => Framing::Events,
        }
    }

    pub(crate) fn reader(&self) -> EventReader {
        match self {
            Self::Chat(_) => EventReader::Chat,
            Self::Anthropic(_) => EventReader::Anthropic(anthropic::Reader::default()),
            Self::Gemini(_) => EventReader::Gemini,
            Self::Responses(_) => EventReader::Responses(responses::Reader::default()),
            Self::Ollama(_) => EventReader::Ollama,
            #[cfg(feature = "bedrock")]
            Self::Bedrock(_) => EventReader::Bedrock,
        }
    }
}

/// Reads the JSON of one event of a format.
#[derive(Debug)]
pub(crate) enum EventReader {
    Chat,
    Anthropic(anthropic::Reader),
    Gemini,
    Responses(responses::Reader),
    Ollama,
    #[cfg(feature = "bedrock")]
    Bedrock,
}

impl EventReader {
    /// Whether an event belongs to the format, even if it is not needed. Of a list one such event is enough.
    pub(crate) fn knows(&self, event: &Value) -> bool {
        if let Value::Array(events) = event {
            return events.iter().any(|event| self.knows(event));
        }
        let has = |names: &[&str]| names.iter().any(|name| event.get(name).is_some());
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        match self {
            Self::Chat => {
                has(&["choices", "usage"])
                    || event.get("object").is_some_and(|o| o == "chat.completion.chunk")
            }
            Self::Anthropic(_) => {
                ["message_", "content_block_"].iter().any(|start| kind.starts_with(start))
                    || matches!(kind, "ping" | "error")
                    || kind == "message" && event.get("content").is_some()
            }
            Self::Gemini => has(&["candidates", "promptFeedback", "usageMetadata"]),
            Self::Responses(_) => {
                kind.starts_with("response.")
                    || kind == "error"
                    || event.get("object").is_some_and(|object| object == "response")
            }
            Self::Ollama => has(&["done"]) || event.get("message").is_some_and(Value::is_object),
            #[cfg(feature = "bedrock")]
            Self::Bedrock => has(&[
                "messageStart",
                "contentBlockStart",
                "contentBlockDelta",
                "contentBlockStop",
                "messageStop",
                "metadata",
            ]),
        }
    }

    pub(crate) fn read(&mut self, event: Value, answer: &mut AnswerBuilder) -> Result<(), EventError> {
        match self {
            Self::Chat => openai::read(event, answer),
            Self::Anthropic(reader) => reader.read(event, answer),
            Self::Gemini => gemini::read(event, answer),
            Self::Responses(reader) => reader.read(event, answer),
            Self::Ollama => ollama::read(event, answer),
            #[cfg(feature = "bedrock")]
            Self::Bedrock => bedrock::read(event, answer),
        }
    }
}

/// A name as one step of the path of a URL, whatever it contains.
pub(crate) fn encoded(name: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    // A URL takes such a step for one back even if it is encoded, so what is sent is the name of no model.
    let name = if matches!(name, "." | "..") { name.replace('.', "%2E") } else { name.to_owned() };
    name.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests;
