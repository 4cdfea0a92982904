//! The conversation of a coding agent as its front ends show it.
//!
//! [`Conversation`] is its history: what a turn asks the model, what stays of a turn that has ended, and what the model has to be told of what the
//! user did to its work. The fork from which questions for a suggestion and work ahead begin comes from it as well.
//!
//! The crate reads no clock, file or environment. What runs a turn is an [`Engine`](headstart_speculation::Engine), over
//! [`Conversation::workspace`].

mod conversation;

pub use conversation::Conversation;
