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
//! [`TextTools`] tells a model of its tools in words where its server takes none, and finds the calls in its answer.
//!
//! # Limitations
//!
//! * Words, images and tool calls only: no documents, no audio.
//! * The length of an answer is bounded by the request's own limit; the client reads no more than
//!   [`MAX_ANSWER_BYTES`] of it, [`MAX_EVENT_BYTES`] at a time.
//! * What a model wants back of its thoughts ([`Opaque`](headstart_forked_query::Opaque)) is left out where it is longer than
//!   [`MAX_OPAQUE_BYTES`].
//!
//! # Features
//!
//! * `http`: `HttpModel`, the client for every [`Provider`]: Anthropic, Gemini, OpenAI, DashScope, Ollama, and everything
//!   that speaks OpenAI's chat completions (vLLM, llama.cpp, gateways). `RetryingModel` has background work wait
//!   behind the user's own; `PrefixKeeper` has Gemini keep the beginning of a conversation by name. They
//!   need a tokio runtime. Without the feature the crate is pure.
//! * `bedrock`: models of Amazon Bedrock, whose requests are signed (`AwsKeys`) and whose answers are binary messages.
//!
//! # Decisions that are not obvious
//!
//! - **One decoder, five readers.** A wire format is an encoder and a function that reads the JSON of one event (`src/wire.rs`). Cutting bytes
//!   into events, limits, ids of calls and the end of an answer are the same for all and stand once, so a test of one property runs over every
//!   format.
//! - **What a model wants back travels with its answer.** `Part::Opaque` is one part before the words and calls of an answer, with the format
//!   and the model that wrote it (`src/wire/layout.rs`): signed or encrypted thoughts, signatures, phases, and where in the answer they stood,
//!   for the words and calls themselves are kept once. Only that format reads it, for that model; every other request leaves it out. It is
//!   never shown and is no content of its own: an answer of nothing else is empty.
//! - **A model without tools has them in words** (`src/text_tools`). The conversation is the same messages as with tools; only what is sent
//!   differs, below the port `Model`, so nothing above knows. Which models refused tools is shared by all that ask for one conversation, or its
//!   prefix would be two.

pub mod anthropic;
#[cfg(feature = "bedrock")]
pub mod bedrock;
pub mod gemini;
#[cfg(feature = "http")]
mod http;
pub mod ollama;
pub mod openai;
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
mod text_tools;
mod wire;
mod without_images;

#[cfg(feature = "bedrock")]
pub use http::AwsKeys;
#[cfg(feature = "http")]
pub use http::{
    ApiKey, FieldScope, HttpModel, KeptPrefixes, Limiter, MoreFields, PrefixKeeper, RetryingModel, Timeouts,
    WaitCause, Waiting, Waits, choose_tls,
};
pub use provider::{Header, KeyNeed, Provider};
pub use recorder::{Clock, Recorder};
pub use recording::{RecordedCall, RecordedSuggestion, RecordedTurn, Recording, RecordingError, json_path};
pub use replay::{Replay, Sleep};
pub use retry::{Priority, RetryPolicy};
pub use scrub::Scrubber;
pub use text_tools::{RefusedTools, TextTools, ToolRefusals, ToolSupport};
pub use wire::{Decoder, KeyHeader, MAX_ANSWER_BYTES, MAX_EVENT_BYTES, MAX_OPAQUE_BYTES, Wire};
pub use without_images::WithoutImages;
