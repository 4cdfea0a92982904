//! The binary from the first prompt to the last accept: against recordings, and against a server on the loopback.

#[path = "../support/mod.rs"]
mod support;

mod accept;
mod ends;
mod killed;
