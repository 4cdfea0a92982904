//! Conversations with a model, and forks of them whose beginning is in the provider's prefix cache.
//!
//! A conversation is a list of [`Message`]s in which every tool call has exactly one result ([`check_pairing`],
//! [`repair_pairing`]). After each successful turn the host keeps a snapshot of it, [`CacheSafeParams`]. A
//! [fork](CacheSafeParams::fork) of the snapshot is a request that begins with the same bytes as the conversation's own,
//! so whatever is appended to it (a single [question](forked_query), the [guess](generate_suggestion) of the user's next
//! prompt, a whole speculation) costs little more than its own tokens. Models are behind one port, [`Model`]. One value,
//! [`BackgroundModel`], says which of them does the background work. The crate `headstart-providers` has models behind
//! providers, and one that plays a recording.
//!
//! ```
//! use std::sync::Arc;
//! use headstart_forked_query::*;
//!
//! /// A model that always says the same.
//! struct Canned(&'static str);
//!
//! #[async_trait::async_trait]
//! impl Model for Canned {
//!     async fn stream(&self, _: &ModelRequest) -> Result<EventStream, ModelError> {
//!         let events = [ModelEvent::Text(self.0.into()), ModelEvent::Finished(FinishReason::Stop)];
//!         Ok(Box::pin(futures::stream::iter(events.map(Ok))))
//!     }
//! }
//!
//! let model = BackgroundModel::main(Arc::new(Canned(r#"{"suggestion": "run the tests"}"#)), "canned");
//! let history = parse_history(
//!     r#"[{"role": "user", "parts": [{"type": "text", "text": "fix the parser"}]},
//!         {"role": "model", "parts": [{"type": "toolCall", "name": "ls", "args": {}}]},
//!         {"role": "tool", "parts": [{"type": "toolResult", "name": "ls", "output": "parser.rs"}]},
//!         {"role": "model", "parts": [{"type": "text", "text": "It is fixed."}]}]"#,
//! ).unwrap();
//! let params = CacheSafeParams::new(Some("You are a coding agent.".into()), vec![], &history, "canned");
//! let guess = generate_suggestion(&model, &params, Guards::default());
//! let generated = futures::executor::block_on(guess).unwrap();
//! assert_eq!(generated.suggestions.best().as_str(), "run the tests");
//! ```
//!
//! # Limitations
//!
//! * Words, images and tool calls only: no documents, no audio.
//! * No request waits until another one's cache is written.
//! * For another model than the conversation's own, and if the window does not hold it, a long conversation is forked
//!   without its beginning ([`ForkLimits`]). Such forks share a prefix with each other, but only system instruction
//!   and tools with the conversation's own requests.
//! * The part of its thoughts that a model wants back is kept unchanged beside its words ([`Opaque`]), for that model
//!   only.
//! * Whether the cache is hit depends on the provider; [`Usage`] has what it reports.
//!
//! # Decisions that are not obvious
//!
//! - **A fork for the conversation's own model is the whole conversation** (`src/cache_safe.rs`): if its beginning
//!   were left out, the cache would know nothing of the rest. Another model has nothing cached and gets the end,
//!   which starts in coarse steps, so that consecutive forks share one prefix.

#[cfg(test)]
extern crate self as headstart_forked_query;

/// The target of `tracing` events that contain words of a user, a model or a file: prompts, answers, arguments and
/// results of calls, words of errors. All other events of these crates contain names, codes, sizes and times, so a
/// subscriber that leaves this target out keeps no content. No event contains a key.
pub const CONTENT: &str = "headstart::content";

mod background;
mod cache_safe;
mod cause;
mod cut;
mod history;
pub mod json;
mod message;
mod model;
mod pairing;
mod price;
mod query;
mod suggest;
#[cfg(test)]
mod testing;
mod token_estimate;

pub use background::{BackgroundModel, ForkLimits, ProviderRelation};
pub use cache_safe::CacheSafeParams;

pub use cause::Cause;
pub use history::{HistoryError, parse_history};
pub use message::{Image, ImageType, Message, Opaque, Part, Role, ToolCall, ToolOutcome, ToolResult};
pub use model::with_yields;
pub use model::{EventStream, FinishReason, Model, ModelError, ModelEvent, ModelRequest, ToolSchema, Usage};
pub use pairing::{PairingError, check_pairing, free_id, repair_pairing};
pub use price::{Money, Price, Prices};
pub use query::{Query, QueryAnswer, QueryError, forked_query};
pub use suggest::{
    GUESSES, Generated, Guards, LOCAL_DEADLINE, Suppressed, SuppressionReason, TurnEnd, generate_candidates,
    generate_suggestion, in_time, question, suggestion_in,
};
pub use token_estimate::TokenEstimate;
