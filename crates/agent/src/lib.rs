//! The conversation of a coding agent as a front end shows it: turns, the queue, questions, suggestions, work ahead, undo notices and what all of it
//! cost, once for every front end.
//!
//! [`agent`] gives three things. The [`AgentHandle`] is what the user does: it sends a prompt, edits the line, takes a suggestion, answers a
//! question, interrupts. Each of its methods returns at once. The [`Driver`] is one future that does what follows from it: it runs turns and work
//! ahead, asks for suggestions, accepts. [`Updates`] is a stream of what has changed, for whoever draws; [`AgentHandle::view`] is all that there is
//! to draw. The program around it gives an [`Engine`](headstart_speculation::Engine), whose host has the clock and the rules, and two ports: a
//! [`Runtime`] and a [`LedgerStore`].

mod conversation;
mod core;
mod driver;
mod handle;
mod item;
mod log;
mod options;
mod ports;
mod view;
mod work;

pub use conversation::Conversation;
pub use driver::Driver;
pub use handle::{AgentHandle, Updates, agent};
pub use item::{Applied, CallItem, Item, NoSuggestion, NotTaken};
pub use log::ItemChange;
pub use options::{AgentOptions, Ports};
pub use ports::{LedgerStore, NoLedger, Runtime, StoreError};
pub use view::{Ahead, Answer, Draft, Edit, Phase, Question, QuestionId, Refused, Subject, Suggested, Update, View};
pub use work::WorkProgress;
