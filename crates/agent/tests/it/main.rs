//! Whole conversations over the public API. Only the outside world is replaced: by a model that does what the prompt
//! says and a clock that only the test moves.

mod ahead;
mod choices;
mod harness;
mod known_files;
mod local_model;
mod matching;
#[cfg(feature = "native")]
mod native;
mod ports;
mod prefix;
mod random;
mod sessions;
mod stories;
mod summary_ahead;
mod titles;
mod turns;
mod window;
mod words;
