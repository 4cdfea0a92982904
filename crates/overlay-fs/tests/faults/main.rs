//! What is left if something goes wrong in the middle of a commit, an undo or a sweep: an error, the death of the
//! process, or a user who saves at the worst moment.
#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the tests are the workspace's user, who edits it directly, and start processes that die"
)]
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap as tests do")]

mod attacks;
mod child;
mod errors;
mod found;
mod hard_links;
mod killed;
mod known;
mod large;
mod last_moment;
mod place;
mod power;
mod recovery;
mod reserved;
mod room;
mod together;
