//! Views on another machine: requests and answers as messages, and which answers can be trusted.
//!
//! Two sides exchange lines of JSON over any stream of bytes: [`Ask`] one way, [`Told`] the other. The first message of each side names the
//! version of the exchange ([`VERSION`]). The side that asks has the workspace; the other one keeps a copy of it, brought up to date by
//! [`Ask::Tree`] and the contents that it says are [missing](Told::Missing), and runs commands in views over that copy.
//!
//! Nothing here reads or writes a stream: [`Lines`] splits one into messages, [`Answer`] joins the pieces of an
//! answer and checks it.

mod answer;
mod lines;
mod message;
mod pieces;
#[cfg(test)]
mod tests;
mod tree;

pub use answer::{Answer, Untrusted};
pub use lines::{ExchangeError, Lines, MOST_LINE, line_of, read_greeting, read_line};
pub use message::{
    Ask, Changed, Failure, Greeting, Hello, Ran, Run, Seen, Shown, Told, VERSION, ViewLimits, Warm, Warmed,
    over,
};
pub use pieces::{Pieces, pieces_of};
pub use tree::{Manifest, Standing, TreeEdit};
