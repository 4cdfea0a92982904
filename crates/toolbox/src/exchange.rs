//! Views on another machine: requests and answers as messages, and which answers can be trusted.
//!
//! Two sides exchange lines of JSON over any stream of bytes: [`ClientMessage`] one way, [`ServerMessage`] the other.
//! The first message of each side names the version of the exchange ([`VERSION`]). The side that asks has the
//! workspace; the other one keeps a copy of it, brought up to date by [`ClientMessage::Tree`] and the contents that it
//! says are [missing](ServerMessage::Missing), and runs commands in views over that copy. Two sides on one machine need
//! no copy: [`ClientMessage::RunLocal`] asks for a view over the workspace itself, and [`ClientMessage::Accept`] for
//! changes of it that the other side cannot make.
//!
//! Nothing here reads or writes a stream: [`LineBuffer`] splits one into messages, [`AnswerReceiver`] joins the pieces
//! of an answer and checks it.

mod accept;
mod answer_check;
mod content_assembler;
mod line_codec;
mod local;
mod message;
#[cfg(test)]
mod tests;
mod tree;

pub use accept::{AcceptRequest, PathChange, PathEntry};
pub use answer_check::{AnswerError, AnswerReceiver};
pub use content_assembler::{ContentAssembler, content_pieces};
pub use line_codec::{ExchangeError, LineBuffer, MAX_LINE_BYTES, decode_greeting, decode_line, encode_line};
pub use local::{LocalRunRequest, LocalRunResult};
pub use message::{
    BaseEntry, ClientHello, ClientMessage, Failure, Greeting, RunRequest, RunResult, ServerMessage,
    StagedChange, VERSION, ViewChange, ViewLimits, WarmRequest, WarmResult, with_base,
};
pub use tree::{Manifest, ManifestEntry, TreeEdit};
