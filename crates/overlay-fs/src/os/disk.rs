//! System calls, each of which tests can stop or record, and what they say about a path.

pub(super) mod calls;
pub(super) mod clock;
#[cfg(feature = "failpoints")]
pub mod failpoints;
pub(super) mod file_lock;
pub(super) mod names;
pub(super) mod seen;
pub(super) mod system;
#[cfg(feature = "failpoints")]
pub(super) mod trace;
