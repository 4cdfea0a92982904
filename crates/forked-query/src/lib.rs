//! Conversations with a model, and forks of them that the provider's prefix cache already knows.
//!
//! A conversation is a list of [`Message`]s in which every tool call has exactly one result ([`check_pairing`],
//! [`repair_pairing`]). After each successful turn the host saves a snapshot of it, [`CacheSafeParams`], into the slot of
//! its session ([`CacheSlots`]). A [fork](CacheSafeParams::fork) of the snapshot is a request that begins with the same bytes
//! as the conversation's own, so what comes after it (a single [question](forked_query), the
//! [guess](generate_suggestion) of the user's next prompt, a whole speculation) costs little more than its own tokens.
//! Models are behind one port, [`Model`]. Which of them does the background work is one value, [`BackgroundModel`].
//! [`Replay`] is the model that needs no key: it plays a [`Recording`], which a [`Recorder`] makes.
//!
//! ```
//! use std::sync::Arc;
//! use headstart_forked_query::*;
//!
//! let recording = Recording::parse(r#"{"suggestions": ["run the tests"]}"#).unwrap();
//! let model = BackgroundModel::main(Arc::new(Replay::instant(recording)), "replay");
//! let history = parse_history(
//!     r#"[{"role": "user", "parts": [{"type": "text", "text": "fix the parser"}]},
//!         {"role": "model", "parts": [{"type": "toolCall", "name": "ls", "args": {}}]},
//!         {"role": "tool", "parts": [{"type": "toolResult", "name": "ls", "output": "parser.rs"}]},
//!         {"role": "model", "parts": [{"type": "text", "text": "It is fixed."}]}]"#,
//! ).unwrap();
//! let params = CacheSafeParams::new(Some("You are a coding agent.".into()), vec![], &history, "replay");
//! let guess = generate_suggestion(&model, &params, Guards::default());
//! let generated = futures::executor::block_on(guess).unwrap();
//! assert_eq!(generated.suggestions.best().as_str(), "run the tests");
//! ```
//!
//! # Limitations
//!
//! * Words and tool calls only: no images, no documents, no audio.
//! * No request waits for another one's cache to be written.
//! * For another model than the conversation's own, and where the window does not hold it, a long conversation is forked without
//!   its beginning ([`ForkLimits`]). Such forks share a prefix with each other, but with the conversation's own requests only
//!   system instruction and tools.
//! * The length of an answer is bounded by the request's own limit; the client reads no more than
//!   [`MAX_ANSWER_BYTES`] of it, [`MAX_EVENT_BYTES`] at a time.
//! * What a model wants back of its thoughts is kept beside its words ([`Opaque`]) as it came, for that model alone; one that is
//!   longer than [`MAX_OPAQUE_BYTES`] is left out.
//! * Whether the cache is hit is the provider's affair; [`Usage`] says what it says.
//!
//! # Features
//!
//! * `http`: `HttpModel`, the client for every [`Provider`]: Anthropic, Gemini, OpenAI, DashScope, Ollama, and everything
//!   that speaks OpenAI's chat completions (vLLM, llama.cpp, gateways). `Patient` retries for it by a [`RetryPolicy`],
//!   background work behind the user's own; `PrefixKeeper` has Gemini keep the beginning of a conversation by name. They
//!   need a tokio runtime. Without the feature the crate is pure, and the wire
//!   formats are there all the same ([`Wire`], [`Decoder`]).

/// The target of `tracing` events that hold what a user, a model or a file says: prompts, answers, arguments and results of calls, words of
/// errors. All other events of these crates hold names, codes, sizes and times, so a subscriber that leaves this target out keeps no
/// content. No event holds a key.
pub const CONTENT: &str = "headstart::content";

pub mod anthropic;
mod background;
mod cache_safe;
mod cache_slots;
mod cut;
mod gauge;
pub mod gemini;
mod history;
#[cfg(feature = "http")]
mod http;
mod message;
mod model;
pub mod ollama;
pub mod openai;
mod pairing;
mod price;
mod provider;
mod provider_error;
mod query;
mod recorder;
mod recording;
mod redact;
mod replay;
pub mod responses;
mod retry;
mod scrub;
mod suggest;
#[cfg(test)]
mod testing;
mod wire;

pub use background::{BackgroundModel, ForkLimits, ProviderRelation};
pub use cache_safe::CacheSafeParams;
pub use cache_slots::CacheSlots;
pub use gauge::Gauge;
pub use history::{HistoryError, parse_history};
#[cfg(feature = "http")]
pub use http::{
    ApiKey, FieldScope, HttpModel, KeptPrefixes, Limiter, MoreFields, Patient, PrefixKeeper, Timeouts,
    WaitCause, Waiting, Waits, choose_tls,
};
pub use message::{Message, Opaque, Part, Role, ToolCall, ToolOutcome, ToolResult};
pub use model::with_yields;
pub use model::{EventStream, FinishReason, Model, ModelError, ModelEvent, ModelRequest, ToolSchema, Usage};
pub use pairing::{PairingError, check_pairing, repair_pairing};
pub use price::{Money, Price, Prices};
pub use provider::{Header, KeyNeed, Provider};
pub use query::{Query, QueryAnswer, QueryError, forked_query};
pub use recorder::{Clock, Recorder};
pub use recording::{RecordedCall, RecordedSuggestion, RecordedTurn, Recording, RecordingError, json_path};
pub use replay::{Replay, Sleep};
pub use retry::{Priority, RetryPolicy};
pub use scrub::{SCRUBBED, Scrubber};
pub use suggest::{
    Generated, Guards, Suppressed, SuppressionReason, TurnEnd, generate_candidates,
    generate_pipelined_suggestion, generate_suggestion,
};
pub use wire::{
    Decoder, KeyHeader, MALFORMED_ARGUMENTS, MAX_ANSWER_BYTES, MAX_EVENT_BYTES, MAX_OPAQUE_BYTES, Wire,
};
