use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Cause, Message, Opaque, ToolCall};

/// A tool as it is offered to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSchema {
    /// The name the model calls it by.
    pub name: String,
    /// What it does and when to use it, for the model.
    pub description: String,
    /// JSON schema of the arguments (an object).
    pub parameters: Value,
}

impl ToolSchema {
    /// A tool whose arguments are exactly `properties`, a JSON object of a schema each; of these `required` must be given.
    pub fn of(name: &str, description: &str, properties: &Value, required: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            }),
        }
    }
}

/// All that a model is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelRequest {
    /// The provider's name of the model.
    pub model: String,
    /// The system instruction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The tools on offer.
    #[serde(default)]
    pub tools: Vec<ToolSchema>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// Whether the model may think first. Forks say no: nobody reads it and it costs time.
    #[serde(default)]
    pub thinking: bool,
    /// JSON schema that the answer must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_schema: Option<Value>,
    /// At most so many tokens in the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
}

/// What a request cost, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Read by the model, those from its cache included.
    pub input_tokens: u64,
    /// Of these, found in the provider's prefix cache.
    pub cached_input_tokens: u64,
    /// Of these, put into that cache for later requests, where the provider counts (and charges) them apart.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_creation_tokens: u64,
    /// Kept for this request under a name (Gemini), times the seconds that were asked for: storage is charged by the hour.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_token_seconds: u64,
    /// Written by the model.
    pub output_tokens: u64,
    /// Requests that were answered, in part at least, and of which the server did not say what they cost: it is not known, and not
    /// nothing. Their tokens are in no other field.
    #[serde(skip_serializing_if = "is_zero")]
    pub untold_requests: u64,
}

impl Usage {
    /// The cost of one request of which it is not known.
    pub const UNTOLD: Self = Self {
        input_tokens: 0,
        cached_input_tokens: 0,
        cache_creation_tokens: 0,
        cache_token_seconds: 0,
        output_tokens: 0,
        untold_requests: 1,
    };

    /// No request.
    pub const NOTHING: Self = Self { untold_requests: 0, ..Self::UNTOLD };

    /// What was added since the sum was `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_sub(before.input_tokens),
            cached_input_tokens: self.cached_input_tokens.saturating_sub(before.cached_input_tokens),
            cache_creation_tokens: self.cache_creation_tokens.saturating_sub(before.cache_creation_tokens),
            cache_token_seconds: self.cache_token_seconds.saturating_sub(before.cache_token_seconds),
            output_tokens: self.output_tokens.saturating_sub(before.output_tokens),
            untold_requests: self.untold_requests.saturating_sub(before.untold_requests),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl std::ops::AddAssign for Usage {
    /// The numbers are a server's own: a sum that is too large stays the largest there is, and so above every limit.
    fn add_assign(&mut self, other: Self) {
        let add = |sum: &mut u64, more| *sum = sum.saturating_add(more);
        add(&mut self.input_tokens, other.input_tokens);
        add(&mut self.cached_input_tokens, other.cached_input_tokens);
        add(&mut self.cache_creation_tokens, other.cache_creation_tokens);
        add(&mut self.cache_token_seconds, other.cache_token_seconds);
        add(&mut self.output_tokens, other.output_tokens);
        add(&mut self.untold_requests, other.untold_requests);
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum FinishReason {
    /// The model had no more to say, or waits for its tools.
    Stop,
    /// The output limit cut it.
    Length,
    /// The provider withheld it.
    ContentFilter,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ModelEvent {
    /// Words to show.
    Text(String),
    /// The model's thinking, to show. What of it has to go back comes as [`Opaque`](Self::Opaque).
    Thought(String),
    /// The next letters of the arguments of a call, for whoever shows them while they come. The call follows whole.
    CallFragment {
        /// Which call of the answer, counted from 0.
        index: usize,
        /// Its name, as far as it is known.
        name: String,
        /// The letters, of JSON.
        letters: String,
    },
    /// A call, whole: providers' fragments are put together before.
    ToolCall(ToolCall),
    /// What the model wants back with this answer: part of the conversation, before everything else in the message. At most one.
    Opaque(Opaque),
    /// What the request cost; the last one counts.
    Usage(Usage),
    /// The answer is complete. A stream that ends without it was cut.
    Finished(FinishReason),
}

fn it_says(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!("; it says: {message}") }
}

/// Why there is no (whole) answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The host set it up so that no request can be made.
    #[error("{provider}: {message}")]
    Misconfigured {
        /// Whose client.
        provider: String,
        /// What is wrong and what to do.
        message: String,
        /// What found it, where something did.
        source: Option<Cause>,
    },
    /// 401, or a 403 that is about the key.
    #[error("{provider} refused the key ({status}); set {variable} to a valid key{}", it_says(message))]
    Unauthorized {
        /// Who refused.
        provider: String,
        /// HTTP status.
        status: u16,
        /// The environment variable that holds the key.
        variable: String,
        /// The provider's words, shortened; empty where it has none.
        message: String,
    },
    /// 429, where the quota is not used up.
    #[error("{provider} limits the rate of requests{}{}", retry_after.map_or("; try again later".into(), |wait| format!("; retry after {} s", wait.as_secs())), it_says(message))]
    RateLimited {
        /// Who limits.
        provider: String,
        /// The provider's words, shortened; empty where it has none.
        message: String,
        /// When to come back, if the provider said.
        retry_after: Option<Duration>,
    },
    /// Another 4xx, and a quota or credit that is used up.
    #[error("{provider} rejected the request ({status}): {message}")]
    Rejected {
        /// Who rejected.
        provider: String,
        /// HTTP status.
        status: u16,
        /// The provider's words, shortened.
        message: String,
    },
    /// The conversation is longer than what the model sees at once.
    #[error("{provider} rejected the request ({status}), which is longer than the model's window: {message}")]
    WindowExceeded {
        /// Who rejected.
        provider: String,
        /// HTTP status.
        status: u16,
        /// The provider's words, shortened; they often have both numbers.
        message: String,
    },
    /// The model takes no tools, or its server was not started so that it does.
    #[error("{provider} takes no tools for this model ({status}): {message}")]
    ToolsRefused {
        /// Who rejected.
        provider: String,
        /// HTTP status.
        status: u16,
        /// The provider's words, shortened.
        message: String,
    },
    /// 5xx.
    #[error("{provider} failed ({status}): {message}; try again later")]
    Server {
        /// Who failed.
        provider: String,
        /// HTTP status.
        status: u16,
        /// The provider's words, shortened.
        message: String,
        /// When to come back, if the provider said.
        retry_after: Option<Duration>,
    },
    /// Background work that stayed behind, for the provider limits the rate and the user's own turn goes first.
    #[error("the provider limits the rate of requests, and your own turn goes first")]
    Yielded,
    /// No connection.
    #[error("cannot reach {url}: {message}")]
    Unreachable {
        /// Where.
        url: String,
        /// Why.
        message: String,
        /// What the connection failed with, where that is known.
        source: Option<Cause>,
    },
    /// Nothing came for too long.
    #[error("{provider} sent nothing for {} s; try again", after.as_secs_f32())]
    Timeout {
        /// Who was silent.
        provider: String,
        /// For how long.
        after: Duration,
    },
    /// The connection was closed before any byte of the answer came.
    #[error("{provider} closed the connection before it answered; try again")]
    Dropped {
        /// Who closed it.
        provider: String,
        /// What the connection failed with, unless it was closed as it should be.
        source: Option<Cause>,
    },
    /// The stream ended before the answer did.
    #[error("{provider} cut the answer short; try again")]
    Cut {
        /// Who cut.
        provider: String,
        /// What the connection failed with, unless it was closed as it should be.
        source: Option<Cause>,
    },
    /// What came is not the wire format.
    #[error("{provider} sent a malformed answer: {message}")]
    Malformed {
        /// Who sent it.
        provider: String,
        /// What is wrong with it.
        message: String,
        /// What the reader of the format found, where it did and its words hold no key.
        source: Option<Cause>,
    },
    /// Somebody answers, and not in the format that was spoken to them.
    #[error("{provider} does not speak {format} (it answered with {message}); check the base URL")]
    WrongServer {
        /// Who was meant, and the base URL.
        provider: String,
        /// The wire format.
        format: &'static str,
        /// What was answered, shortened.
        message: String,
    },
    /// A model of the host's own, in its own words.
    #[error("{message}")]
    Other {
        /// A stable word for programs: one of those of [`code`](ModelError::code), or `other`.
        code: String,
        /// What it said.
        message: String,
        /// When to come back, if it said.
        retry_after: Option<Duration>,
        /// What is below it, if the host says.
        source: Option<Cause>,
    },
    /// A recording has no turn left.
    #[error("the recording has no {what} left after {played}")]
    RecordingExhausted {
        /// `turn` or `suggestion`.
        what: &'static str,
        /// How many were played.
        played: usize,
    },
}

impl ModelError {
    /// The [code](Self::code) of a request that is longer than the window.
    pub const WINDOW_EXCEEDED: &'static str = "window_exceeded";

    /// A stable word for programs.
    pub fn code(&self) -> &str {
        match self {
            Self::Misconfigured { .. } => "misconfigured",
            Self::Unauthorized { .. } => "unauthorized",
            Self::RateLimited { .. } | Self::Yielded => "rate_limited",
            Self::Rejected { .. } => "rejected",
            Self::WindowExceeded { .. } => Self::WINDOW_EXCEEDED,
            Self::ToolsRefused { .. } => "tools_refused",
            Self::Server { .. } => "server",
            Self::Unreachable { .. } => "unreachable",
            Self::Timeout { .. } => "timeout",
            Self::Dropped { .. } | Self::Cut { .. } => "cut",
            Self::Malformed { .. } => "malformed",
            Self::WrongServer { .. } => "wrong_server",
            Self::RecordingExhausted { .. } => "recording_exhausted",
            Self::Other { code, .. } => code,
        }
    }

    /// Milliseconds after which to come back, if the provider said.
    pub fn retry_after_ms(&self) -> Option<u64> {
        match self {
            Self::RateLimited { retry_after, .. }
            | Self::Server { retry_after, .. }
            | Self::Other { retry_after, .. } => {
                retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
            }
            _ => None,
        }
    }
}

/// The events of one answer. Dropping it cancels the request.
pub type EventStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// After so many events that were all ready, others may go on.
const EVENTS_BETWEEN_YIELDS: u32 = 16;

/// The same events, with a pause after every few: a stream that is always ready does not keep a clock or an abort, which
/// the same task looks after, waiting until its end.
pub fn with_yields(mut events: EventStream) -> EventStream {
    let mut ready = 0;
    let considerate = stream::poll_fn(move |context| {
        if ready == EVENTS_BETWEEN_YIELDS {
            ready = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let polled = events.poll_next_unpin(context);
        ready = if polled.is_ready() { ready + 1 } else { 0 };
        polled
    });
    considerate.boxed()
}

/// The port to a language model.
///
/// # Guarantees
///
/// * Dropping the future or the stream cancels the request.
/// * A complete answer ends with [`ModelEvent::Finished`]; after an error nothing follows.
/// * Tool calls come whole, in order, each with an id that is not empty.
///
/// # Not guaranteed
///
/// Usage may be missing. Whether a request that fails is made again is the implementation's affair; once a piece of an
/// answer was given it never is.
#[async_trait]
pub trait Model: Send + Sync {
    /// Asks, and streams the answer.
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError>;
}
