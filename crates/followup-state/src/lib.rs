//! The suggestion on screen: when it shows, what a key does to it, and which texts may be one.
//!
//! [`filter`] turns the text a model proposed into a [`Suggestion`] or says which rule refused it.
//! [`FollowupController`] is a sans-IO state machine that keeps one suggestion on screen, out of up to
//! [`MAX_CANDIDATES`]: the user goes on to the next one, or narrows them by typing. The host hands it the time and an
//! [`Event`], it answers with a short list of [`Effect`]s (show, hide, insert, wake me at, record an outcome, start
//! or abandon a speculation), and the host carries them out. It owns no clock, timer, thread or callback, so a
//! recorded log of events gives the same effects in a terminal, in wasm and in a browser. [`OutcomeLedger`] counts
//! what became of the suggestions. [`Meaning`] is what a model said of a guess besides its text, and tells whether the
//! words that a user sends ask for the same work.
//!
//! ```
//! use headstart_followup_state::{AcceptMethod, Config, Effect, Event, FollowupController, RequestId, filter};
//!
//! let mut controller = FollowupController::new(Config::default());
//! let suggestion = filter("run the tests")?;
//! controller.handle(1_000, Event::suggested(RequestId(1), [suggestion]));
//! assert!(controller.visible().is_none(), "it waits 300 ms, so that it does not flicker");
//! controller.handle(1_300, Event::Wake);
//! assert_eq!(controller.visible().map(|shown| shown.as_str()), Some("run the tests"));
//!
//! let effects = controller.handle(2_000, Event::accept(AcceptMethod::Tab));
//! assert!(effects.iter().any(|effect| *effect == Effect::Insert { text: "run the tests".into() }));
//! # Ok::<(), headstart_followup_state::FilterReason>(())
//! ```
//!
//! # Limitations
//!
//! - One suggestion on screen at a time, of at most three.
//! - The filter knows nine languages by word lists (see the table at [`filter`]), of German, French, Spanish,
//!   Portuguese and Russian only destruction, praise and the assistant's voice. A text in another language is judged
//!   by its script, its length and the marks it uses. It refuses destructive texts it recognises, and it is not what
//!   keeps a workspace safe: the tool gate is.
//! - Whether words ask for the same work is decided by rules and word lists of the same languages; what they do not
//!   know is something else.
//! - Times are whole milliseconds on one clock of the host's choice. A clock that jumps back shortens or repeats a
//!   wait and has no other effect.
//!
//! # Features
//!
//! None. The crate builds for `wasm32-unknown-unknown`.
//!
//! # Decisions that are not obvious
//!
//! - **A slip is not a decision.** One key after which no suggestion matches hides them and keeps their work for two
//!   seconds, because it is often taken back. The controller does this, so that every front end behaves alike.
//! - **The candidates are kept here and nowhere else.** What a host keeps for each (an id, work that runs ahead for
//!   it) it keeps in the order in which [`FollowupController::offered`] has them, and asks there which of them was
//!   seen. A list of its own would have to follow each key that narrows, changes or hides them.

mod candidates;
mod config;
mod controller;
mod effect;
mod event;
mod filter;
mod lexicon;
mod matching;
mod outcome;
mod reason;
mod suggestion;
mod suggestions;
#[cfg(test)]
mod tables;

pub use candidates::{CandidatePosition, Candidates, MAX_CANDIDATES};
pub use config::{Config, Millis};
pub use controller::FollowupController;
pub use effect::{Effect, Effects};
pub use event::{AcceptMethod, Event, RequestId};
pub use filter::{MAX_BYTES, MAX_CHARACTERS, MAX_WORDS, filter, filter_guess};
pub use matching::{GuessKind, MAX_ALSO, MAX_ALSO_BYTES, Match, MatchRule, Meaning};
pub use outcome::{Outcome, OutcomeLedger, Source};
pub use reason::FilterReason;
pub use suggestion::Suggestion;
pub use suggestions::Suggestions;
