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
    /// A tool with exactly these arguments: `properties` is a JSON object with a schema for each, and `required`
    /// names those that must be given.
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

/// Everything that is sent to a model.
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
    /// Whether the model may think first. Forks turn this off, because nobody reads it and it takes time.
    #[serde(default)]
    pub thinking: bool,
    /// JSON schema that the answer must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_schema: Option<Value>,
    /// The most tokens in the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
}

/// What a request cost, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Tokens that the model read, including those from its cache.
    pub input_tokens: u64,
    /// Those of them that were found in the provider's prefix cache.
    pub cached_input_tokens: u64,
    /// Those of them that were written into that cache for later requests, if the provider counts (and charges) them
    /// separately.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_creation_tokens: u64,
    /// Tokens that were kept for this request under a name (Gemini), multiplied by the seconds that were asked for,
    /// because storage is charged by the hour.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_token_seconds: u64,
    /// Tokens that the model wrote.
    pub output_tokens: u64,
    /// Requests that were at least partly answered, without the server saying what they cost. Their cost is unknown,
    /// and not zero. Their tokens are in no other field.
    #[serde(skip_serializing_if = "is_zero")]
    pub untold_requests: u64,
}

impl Usage {
    /// The usage of one request whose cost is unknown.
    pub const UNTOLD: Self = Self {
        input_tokens: 0,
        cached_input_tokens: 0,
        cache_creation_tokens: 0,
        cache_token_seconds: 0,
        output_tokens: 0,
        untold_requests: 1,
    };

    /// The usage of no request.
    pub const NOTHING: Self = Self { untold_requests: 0, ..Self::UNTOLD };

    /// The usage since the sum was `before`.
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
    /// The numbers come from a server, so a sum that is too large becomes the largest number, which exceeds every
    /// limit.
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
    /// The model had no more to say, or waits for the results of its calls.
    Stop,
    /// The output reached its limit.
    Length,
    /// The provider withheld the rest.
    ContentFilter,
    /// The model wrote a call as words, in a form that is not run.
    WrittenCall,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ModelEvent {
    /// Words to show.
    Text(String),
    /// The model's thinking, to show. What has to be sent back comes as [`Opaque`](Self::Opaque).
    Thought(String),
    /// The next characters of a call's arguments, for showing them while they come. The whole call follows.
    CallFragment {
        /// Which call of the answer, counted from 0.
        index: usize,
        /// Its name, as far as it is known.
        name: String,
        /// The characters, a piece of JSON.
        letters: String,
    },
    /// A whole call, put together from the provider's fragments.
    ToolCall(ToolCall),
    /// What the model wants to see again with this answer: part of the conversation, before everything else in the
    /// message. At most one.
    Opaque(Opaque),
    /// What the request cost so far; the last one counts.
    Usage(Usage),
    /// The answer is complete. A stream that ends without it was cut.
    Finished(FinishReason),
}

/// When to try again. A part of a second counts as a whole one, because before it is over the provider refuses.
fn when(retry_after: Option<Duration>) -> String {
    match retry_after {
        Some(wait) => format!("retry after {} s", wait.as_secs() + u64::from(0 < wait.subsec_nanos())),
        None => "try again later".to_owned(),
    }
}

fn it_says(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!("; it says: {message}") }
}

/// Why there is no answer, or not a whole one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// No request can be made with the host's configuration.
    #[error("{provider}: {message}")]
    Misconfigured {
        /// The provider.
        provider: String,
        /// What is wrong and what to do.
        message: String,
        /// The error that revealed it, if there was one.
        source: Option<Cause>,
    },
    /// HTTP 401, or a 403 that is about the key.
    #[error("{provider} refused the key ({status}); set {variable} to a valid key{}", it_says(message))]
    Unauthorized {
        /// The provider.
        provider: String,
        /// HTTP status.
        status: u16,
        /// The environment variable that holds the key.
        variable: String,
        /// The provider's words, shortened; empty if there are none.
        message: String,
    },
    /// HTTP 429, unless the quota is used up.
    #[error("{provider} limits the rate of requests; {}{}", when(*retry_after), it_says(message))]
    RateLimited {
        /// The provider.
        provider: String,
        /// The provider's words, shortened; empty if there are none.
        message: String,
        /// When to try again, if the provider said so.
        retry_after: Option<Duration>,
    },
    /// Another HTTP 4xx, or a quota or credit that is used up.
    #[error("{provider} rejected the request ({status}): {message}")]
    Rejected {
        /// The provider.
        provider: String,
        /// HTTP status.
        status: u16,
        /// The provider's words, shortened.
        message: String,
    },
    /// The conversation is longer than the model's window.
    #[error("{provider} rejected the request ({status}), which is longer than the model's window: {message}")]
    WindowExceeded {
        /// The provider.
        provider: String,
        /// HTTP status.
        status: u16,
        /// The provider's words, shortened; they often name both lengths.
        message: String,
    },
    /// The model does not support tools, or its server was not started with support for them.
    #[error("{provider} takes no tools for this model ({status}): {message}")]
    ToolsRefused {
        /// The provider.
        provider: String,
        /// HTTP status.
        status: u16,
        /// The provider's words, shortened.
        message: String,
    },
    /// HTTP 5xx.
    #[error("{provider} failed ({status}): {message}; {}", when(*retry_after))]
    Server {
        /// The provider.
        provider: String,
        /// HTTP status.
        status: u16,
        /// The provider's words, shortened.
        message: String,
        /// When to try again, if the provider said so.
        retry_after: Option<Duration>,
    },
    /// A request of background work that was not made, because the provider limits the rate and the user's own turn
    /// goes first.
    #[error("the provider limits the rate of requests, and your own turn goes first")]
    Yielded,
    /// No connection could be made.
    #[error("cannot reach {url}: {message}")]
    Unreachable {
        /// The address.
        url: String,
        /// The reason.
        message: String,
        /// The error of the connection, if it is known.
        source: Option<Cause>,
    },
    /// Nothing was received for too long.
    #[error("{provider} sent nothing for {} s; try again", after.as_secs_f32())]
    Timeout {
        /// The provider.
        provider: String,
        /// How long nothing was received.
        after: Duration,
    },
    /// The connection was closed before any byte of the answer came.
    #[error("{provider} closed the connection before it answered; try again")]
    Dropped {
        /// The provider.
        provider: String,
        /// The error of the connection, unless it was closed properly.
        source: Option<Cause>,
    },
    /// The stream ended before the answer was complete.
    #[error("{provider} cut the answer short; try again")]
    Cut {
        /// The provider.
        provider: String,
        /// The error of the connection, unless it was closed properly.
        source: Option<Cause>,
    },
    /// What was received does not follow the wire format.
    #[error("{provider} sent a malformed answer: {message}")]
    Malformed {
        /// The provider.
        provider: String,
        /// What is wrong with it.
        message: String,
        /// The parser's error, if there is one and its words contain no key.
        source: Option<Cause>,
    },
    /// A server answers, but not in the wire format of the request.
    #[error("{provider} does not speak {format} (it answered with {message}); check the base URL")]
    WrongServer {
        /// The provider that was meant, and the base URL.
        provider: String,
        /// The wire format.
        format: &'static str,
        /// The answer, shortened.
        message: String,
    },
    /// An error of a host's own model, in its own words.
    #[error("{message}")]
    Other {
        /// A stable code for programs: one of those of [`code`](ModelError::code), or `other`.
        code: String,
        /// A description.
        message: String,
        /// When to try again, if that is known.
        retry_after: Option<Duration>,
        /// The underlying error, if the host provides it.
        source: Option<Cause>,
    },
    /// A recording has no further turn.
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

    /// How many tokens the model sees at once, if the words of a refusal name it.
    ///
    /// ```
    /// use headstart_forked_query::ModelError;
    ///
    /// let words = "request (5034 tokens) exceeds the available context size (4096 tokens), try increasing it";
    /// assert_eq!(ModelError::window_in(words), Some(4_096));
    /// ```
    pub fn window_in(words: &str) -> Option<u64> {
        const BEFORE: [&str; 14] = [
            "n_ctx",
            "context size (",
            "context size of ",
            "maximum context length is ",
            "context length of only ",
            "context length of ",
            "context length is ",
            "context window of ",
            "tokens allowed (",
            "maximum prompt length is ",
            "should be [1, ",
            "limit of ",
            "cannot exceed ",
            "must be <= ",
        ];
        let words = words.to_lowercase();
        let behind = BEFORE.iter().find_map(|before| {
            let rest = &words[words.find(before)? + before.len()..];
            number(rest.trim_start_matches(|c: char| !c.is_ascii_digit() && !c.is_alphabetic()))
        });
        let before = || number(words[..words.find(" maximum")?].rsplit(' ').next()?);
        // Less or more than this is no window, but another number of the sentence.
        behind.or_else(before).filter(|tokens| (512..=100_000_000).contains(tokens))
    }

    /// A stable code for programs.
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

    /// Whether the provider limits requests, for this key or for everybody.
    pub fn is_limit(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Server { status: 503 | 529, .. })
    }

    /// The milliseconds after which to try again, if the provider said so.
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

/// The number with which the words begin; its digits may be grouped.
fn number(words: &str) -> Option<u64> {
    let end = words.find(|c: char| !c.is_ascii_digit() && !matches!(c, ',' | '_'));
    let digits: String = words[..end.unwrap_or(words.len())].chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// The events of one answer. Dropping it cancels the request.
pub type EventStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// After this many events that were all ready at once, other tasks get a turn.
const EVENTS_BETWEEN_YIELDS: u32 = 16;

/// The same events, with a yield after every few: otherwise a stream that is always ready would keep the clock and
/// the abort, which run in the same task, waiting until its end.
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
/// * A complete answer ends with [`ModelEvent::Finished`]; nothing follows an error.
/// * Tool calls come whole, in order, each with an id that is not empty.
///
/// # Not guaranteed
///
/// Usage may be missing. Whether a failed request is repeated is up to the implementation; once a piece of an answer
/// was given it never is.
#[async_trait]
pub trait Model: Send + Sync {
    /// Sends a request, and streams the answer.
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError>;
}
