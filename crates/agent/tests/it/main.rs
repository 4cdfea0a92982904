//! A whole conversation over the public API: a model that does what the prompt says, a clock that stands still, and nothing else made up.

mod ahead;
mod choices;
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
mod world;
