//! Tests with real repositories: work in a view, changes of the user meanwhile, accepts, undos, attacks, and processes
//! that are killed at every step.
#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the tests are the workspace's user, who runs git and edits files, and start processes that die"
)]
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap as tests do")]

mod accepts;
mod around;
mod attacks;
mod full;
mod killed;
mod kinds;
mod laid;
mod large;
mod meanwhile;
mod programs;
mod world;
