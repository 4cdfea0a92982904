//! The conversation and its cache-safe fork; the model port.

mod background;
mod cache_safe;
mod cache_slots;
mod cut;
mod history;
#[cfg(feature = "http")]
mod http;
mod message;
mod model;
pub mod openai;
mod pairing;
mod provider;
mod provider_error;
mod query;
mod recorder;
mod recording;
mod replay;
mod suggest;
#[cfg(test)]
mod testing;

pub use background::{BackgroundModel, ProviderRelation};
pub use cache_safe::CacheSafeParams;
pub use cache_slots::CacheSlots;
pub use cut::MAX_HISTORY_ENTRIES;
pub use history::{HistoryError, parse_history};
#[cfg(feature = "http")]
pub use http::{ApiKey, OpenAiCompatible, Timeouts};
pub use message::{Message, Part, Role, ToolCall, ToolOutcome, ToolResult};
pub use model::{EventStream, FinishReason, Model, ModelError, ModelEvent, ModelRequest, ToolSchema, Usage};
pub use pairing::{PairingError, check_pairing, repair_pairing};
pub use provider::{KeyNeed, Provider};
pub use query::{Query, QueryAnswer, QueryError, forked_query};
pub use recorder::{Clock, Recorder};
pub use recording::{RecordedCall, RecordedTurn, Recording, RecordingError};
pub use replay::{Replay, Sleep};
pub use suggest::{
    Generated, Guards, Suppressed, SuppressionReason, TurnEnd, generate_pipelined_suggestion,
    generate_suggestion,
};
