//! What this crate asks of the operating system about names in open folders, with one meaning on every system. Each call
//! does all or nothing, and none follows a link.

#[cfg(any(windows, test))]
mod names;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
#[expect(
    clippy::disallowed_types,
    reason = "the handles of cap-std lack locks, times and bits, which its files have"
)]
mod windows;

use crate::EntryKind;

#[cfg(unix)]
pub(in crate::os) use self::unix::*;
#[cfg(windows)]
pub(in crate::os) use self::windows::*;

/// Seconds and nanoseconds since the Unix epoch.
pub(in crate::os) type Time = (i64, i64);

/// What the system says about a name.
#[derive(Debug, Clone, Copy)]
pub(in crate::os) struct Stat {
    pub(in crate::os) kind: EntryKind,
    pub(in crate::os) inode: u64,
    pub(in crate::os) device: u64,
    pub(in crate::os) len: u64,
    /// Permission bits, including set-user-id and similar ones. Windows has only one of them: what is read-only.
    pub(in crate::os) mode: u32,
    pub(in crate::os) owner: (u32, u32),
    pub(in crate::os) links: u64,
    pub(in crate::os) modified: Time,
    /// The time of the last change to content, bits, owner or names. No program can set it. On Windows it is the
    /// modification time, which a program can set, so there it proves nothing (`clock.rs`).
    pub(in crate::os) changed: Time,
}

/// How a rename treats what is at its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::os) enum Rename {
    /// It fails if something is there.
    ToFree,
    /// What is there comes to the other place.
    Exchange,
}

fn kind_of_type(found: cap_std::fs::FileType) -> EntryKind {
    if found.is_file() {
        EntryKind::File
    } else if found.is_dir() {
        EntryKind::Directory
    } else if found.is_symlink() {
        EntryKind::Symlink
    } else {
        EntryKind::Other
    }
}
