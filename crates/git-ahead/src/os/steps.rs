//! Points between the steps of an accept at which tests let a process die.

use crate::GitError;

/// Called before each step.
#[cfg(feature = "failpoints")]
pub(super) fn reach(step: &'static str) -> Result<(), GitError> {
    headstart_overlay_fs::failpoints::reach("git", step)
        .map_err(|source| GitError::Io { path: step.to_owned(), source })
}

/// Called before each step.
#[cfg(not(feature = "failpoints"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature failpoints it fails where a test says so")]
pub(super) fn reach(_step: &'static str) -> Result<(), GitError> {
    Ok(())
}
