//! What a file has besides its content, and keeps when the content is replaced.

#[cfg(unix)]
pub(super) mod inherit;
#[cfg(unix)]
mod owner;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use self::owner::{copy_attributes, keep_attributes, keep_owner};
#[cfg(windows)]
pub(super) use self::windows::{copy_attributes, inherit, keep_attributes, keep_owner};
use super::disk::calls::Stat;
use crate::Change;

/// The bits that the user's file has now, with the executable ones changed only if the change set changes them.
/// Set-user-id and similar bits are not carried over to new content.
pub(super) fn permission_bits(old: &Stat, base: &Change, executable: bool) -> u32 {
    let now = old.mode & 0o777;
    let was_executable = base.base.as_ref().is_some_and(crate::Fingerprint::is_executable);
    match (was_executable, executable) {
        (false, true) => now | (now & 0o444) >> 2,
        (true, false) => now & !0o111,
        _ => now,
    }
}
