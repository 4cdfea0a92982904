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
use crate::metadata::{carried_bits, with_executable};

/// The bits that the user's file has now, with those changed that the change set changes: `mode`, if it names any, or
/// else the executable ones. Set-user-id and similar bits are not carried over to new content.
pub(super) fn permission_bits(old: &Stat, base: &Change, executable: bool, mode: Option<u32>) -> u32 {
    let now = old.mode & 0o777;
    if let (Some(base), Some(mode)) = (&base.base, mode) {
        return carried_bits(base.mode, mode, now);
    }
    let was_executable = base.base.as_ref().is_some_and(crate::Fingerprint::is_executable);
    if was_executable == executable { now } else { with_executable(now, executable) }
}
