//! Models behind providers, for the port [`Model`](headstart_forked_query::Model).
//!
//! A [`Provider`] is an address, a [wire format](Wire) and a way to send a key. [`Wire::encode`] makes the bytes of a request, and a
//! [`Decoder`] reads the bytes of the answer, however they are cut. With the feature `http`, `HttpModel` sends the one and reads the
//! other, and `RetryingModel` repeats what failed by a [`RetryPolicy`]. [`Replay`] is the model that needs no key: it plays a
//! [`Recording`], which a [`Recorder`] makes, without the secrets that a [`Scrubber`] knows.
//!
//! ```
//! use std::sync::Arc;
//! use headstart_forked_query::{BackgroundModel, CacheSafeParams, Guards, Message, Role, generate_suggestion};
//! use headstart_providers::{Recording, Replay};
//!
//! let recording = Recording::parse(r#"{"suggestions": ["run the tests"]}"#).unwrap();
//! let model = BackgroundModel::main(Arc::new(Replay::instant(recording)), "replay");
//! let history = [
//!     Message::text(Role::User, "fix the parser"),
//!     Message::text(Role::Model, "Which of the two?"),
//!     Message::text(Role::User, "the one for dates"),
//!     Message::text(Role::Model, "It is fixed."),
//! ];
//! let params = CacheSafeParams::new(Some("You are a coding agent.".into()), vec![], &history, "replay");
//! let guess = generate_suggestion(&model, &params, Guards::default());
//! let generated = futures::executor::block_on(guess).unwrap();
//! assert_eq!(generated.suggestions.best().as_str(), "run the tests");
//! ```
//!
//! [`TextTools`] describes tools in words to a model whose server does not accept any, and finds the calls in its
//! answer.
//!
//! # Limitations
//!
//! * Words, images and tool calls only: no documents, no audio.
//! * The length of an answer is limited by the request's own limit; the client reads no more than
//!   [`MAX_ANSWER_BYTES`] of it, [`MAX_EVENT_BYTES`] for one event.
//! * What a model wants back of its thoughts ([`Opaque`](headstart_forked_query::Opaque)) is left out if it is longer
//!   than [`MAX_OPAQUE_BYTES`].
//!
//! # Features
//!
//! * `http`: `HttpModel`, the client for every [`Provider`]: Anthropic, Gemini, OpenAI, DashScope, Ollama, and every
//!   server with OpenAI's chat completions (vLLM, llama.cpp, gateways). `RetryingModel` makes background work wait for
//!   the user's own; `PrefixCachingModel` has Gemini store the beginning of a conversation. They need a tokio runtime.
//!   Without the feature the crate is pure.
//! * `bedrock`: models of Amazon Bedrock, whose requests are signed (`AwsKeys`) and whose answers are binary messages.
//!
//! # Decisions that are not obvious
//!
//! - **One decoder, several readers.** A wire format is an encoder and a function that reads the JSON of one event
//!   (`src/wire.rs`). Splitting bytes into events, limits, ids of calls and the end of an answer are the same for all
//!   formats and written once, so a test of one property covers every format.
//! - **What a model wants back travels with its answer.** `Part::Opaque` is one part before the words and calls of an
//!   answer, marked with the format and the model that wrote it (`src/wire/layout.rs`). It holds signed or encrypted
//!   thoughts, signatures and phases, and where in the answer they stood, because the words and calls themselves are
//!   kept only once. Only that format reads it, for that model; every other request leaves it out. It is never shown
//!   and does not count as content: an answer with nothing else is empty.
//! - **A model without tools gets them in words** (`src/text_tools`). The conversation has the same messages as with
//!   tools; only what is sent differs, below the port `Model`, so nothing above is affected. Which models refused
//!   tools is shared by all that send requests for one conversation, because its requests would otherwise have two
//!   different prefixes.

pub mod anthropic;
#[cfg(feature = "bedrock")]
pub mod bedrock;
pub mod gemini;
#[cfg(feature = "http")]
mod http;
pub mod ollama;
pub mod openai;
mod parameter;
mod provider;
mod provider_error;
mod recorder;
mod recording;
mod redact;
mod replay;
pub mod responses;
mod retry;
mod scrub;
#[cfg(test)]
#[expect(dead_code, reason = "the tests of forked-query, whose file it is, use the rest")]
#[path = "../../forked-query/src/testing.rs"]
mod testing;
mod text_only_model;
mod text_tools;
mod wire;

#[cfg(feature = "bedrock")]
pub use http::AwsKeys;
#[cfg(feature = "http")]
pub use http::{
    ApiKey, ExtraFields, FieldScope, HttpModel, PendingRetry, PendingRetrySender, PrefixCacheReader,
    PrefixCachingModel, RateLimiter, RetryingModel, Timeouts, WaitCause, install_tls_provider, proxy_problem,
};
pub use provider::{Header, KeyRequirement, Provider};
pub use recorder::{Clock, Recorder};
pub use recording::{RecordedCall, RecordedSuggestion, RecordedTurn, Recording, RecordingError, json_path};
pub use replay::{Replay, Sleep};
pub use retry::{Priority, RetryPolicy};
pub use scrub::Scrubber;
pub use text_only_model::TextOnlyModel;
pub use text_tools::{TextTools, ToolRefusal, ToolRefusals, ToolSupport};
pub use wire::{Decoder, KeyHeader, MAX_ANSWER_BYTES, MAX_EVENT_BYTES, MAX_OPAQUE_BYTES, Wire};
