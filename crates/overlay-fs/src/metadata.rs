//! What a look at a path shows, without its content.

use serde::{Deserialize, Serialize};

use crate::exact;

/// What a name in a folder stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// A symbolic link; what it leads to is another question.
    Symlink,
    /// A FIFO, socket or device: listed, never read or written.
    Other,
}

/// What identified the content of a path at one moment. Two equal fingerprints mean "not changed in between", unless
/// the first is [`racy`](Self::racy).
///
/// A tree fills in what it has: the one of the operating system device, inode, size, times and mode; the one in
/// memory a hash of the content in `inode` and a counter in `changed_ns`.
///
/// In JSON a number that exceeds what JavaScript holds exactly is a string.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fingerprint {
    /// File, folder, link or other.
    pub kind: EntryKind,
    /// Device number, 0 if there is none.
    #[serde(with = "exact")]
    pub device: u64,
    /// Inode number, 0 if there is none.
    #[serde(with = "exact")]
    pub inode: u64,
    /// Length in bytes; 0 for a folder.
    #[serde(with = "exact")]
    pub len: u64,
    /// Permission bits, as the tree has them.
    pub mode: u32,
    /// Last modification, nanoseconds since the Unix epoch (or a counter).
    #[serde(with = "exact")]
    pub modified_ns: i64,
    /// Last status change, nanoseconds since the Unix epoch (or a counter).
    #[serde(with = "exact")]
    pub changed_ns: i64,
    /// Whether the last change came so shortly before the look that another one right after it may show the same
    /// times, or whether the tree has no time that every change moves. A commit then compares the content. Git calls
    /// such an entry of its index racy.
    ///
    /// A tree with coarse times has to set this, because only it knows how coarse they are.
    #[serde(rename = "young", default, skip_serializing_if = "std::ops::Not::not")]
    pub racy: bool,
}

impl Fingerprint {
    /// Whether this proves that a later look saw the same content, so that it need not be read.
    pub fn proves_unchanged(&self, later: &Self) -> bool {
        !self.racy && self.shows_same(later)
    }

    /// Whether two looks showed the same, whatever happened in between.
    pub(crate) fn shows_same(&self, other: &Self) -> bool {
        let shown = |one: &Self| Self { racy: false, ..one.clone() };
        shown(self) == shown(other)
    }

    /// The permission bits, without those that mark a user, a group or the folder itself.
    pub fn bits(&self) -> u32 {
        self.mode & 0o777
    }

    /// Whether the permission bits let the owner execute the file.
    pub fn is_executable(&self) -> bool {
        self.kind == EntryKind::File && self.mode & 0o100 != 0
    }
}

/// The permission bits of a file that its user gave the bits `now`, after work that changed them from `before` to
/// `after`: what the work changed, and otherwise what the user has.
pub fn carried_bits(before: u32, after: u32, now: u32) -> u32 {
    if before & 0o777 == now & 0o777 {
        return after & 0o777;
    }
    let changed = (before ^ after) & 0o777;
    let carried = |changed: u32| now & 0o777 & !changed | after & changed;
    if changed & 0o100 == 0 {
        return carried(changed);
    }
    with_executable(carried(changed & 0o666), after & 0o100 != 0)
}

/// These bits, changed if they do not let the owner execute the file as they should: whoever may read may also
/// execute, or nobody may.
pub(crate) fn with_executable(bits: u32, executable: bool) -> u32 {
    match (bits & 0o100 != 0, executable) {
        (false, true) => bits | (bits & 0o444) >> 2,
        (true, false) => bits & !0o111,
        _ => bits,
    }
}

/// What a tree knows about a path without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// File, folder, link or other.
    pub kind: EntryKind,
    /// Length in bytes; 0 for a folder.
    pub len: u64,
    /// Whether the owner may execute the file.
    pub executable: bool,
    /// How many names the file has; 1 if the tree does not count. A file with more is never staged, because a change
    /// would separate it from its other names.
    pub links: u64,
    /// For optimistic concurrency.
    pub fingerprint: Fingerprint,
}
