//! The calls of the system, each of which the tests can stop or record, and what they say of a path.

pub(super) mod calls;
pub(super) mod clock;
#[cfg(feature = "failpoints")]
pub mod failpoints;
pub(super) mod file_lock;
pub(super) mod names;
pub(super) mod seen;
#[cfg(feature = "failpoints")]
pub(super) mod trace;
