//! A record of what a commit did to the disk, for tests that ask what a loss of power would leave of it.

use std::cell::RefCell;

use super::calls::{Location, look_at};
use super::system::Result;

/// A name in a folder. The folder is identified by its inode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// The folder.
    pub folder: u64,
    /// The name in it.
    pub name: Vec<u8>,
}

/// A successful system call that changed something, or wrote changes to the medium.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields say what the call was given, and what the file is since")]
#[non_exhaustive]
pub enum RecordedCall {
    MakeFile { at: Slot, inode: u64, mode: u32 },
    MakeLink { at: Slot, inode: u64, target: Vec<u8> },
    MakeFolder { at: Slot, inode: u64, mode: u32 },
    RemoveFile { at: Slot },
    RemoveFolder { at: Slot },
    Move { from: Slot, to: Slot },
    Exchange { one: Slot, other: Slot },
    Link { from: Slot, to: Slot },
    Append { inode: u64, content: Vec<u8>, modified: (i64, i64) },
    SetMode { inode: u64, mode: u32 },
    SetModified { inode: u64, modified: (i64, i64) },
    Sync { inode: u64 },
    SyncFolder { inode: u64 },
    SyncFileSystem,
}

thread_local! {
    static TRACE: RefCell<Option<Vec<RecordedCall>>> = const { RefCell::new(None) };
}

/// Starts recording what this thread does.
pub fn record() {
    TRACE.set(Some(Vec::new()));
}

/// Ends recording, and returns what was done since [`record`].
pub fn recorded() -> Vec<RecordedCall> {
    TRACE.take().unwrap_or_default()
}

pub(in crate::os) fn note(done: impl FnOnce() -> Result<RecordedCall>) {
    if TRACE.with_borrow(Option::is_none) {
        return;
    }
    let done = done().expect("works because what was just made or changed can be looked at");
    TRACE.with_borrow_mut(|trace| trace.get_or_insert_default().push(done));
}

pub(in crate::os) fn slot(at: Location<'_>) -> Result<Slot> {
    Ok(Slot { folder: look_at(at.folder)?.inode, name: at.name.as_encoded_bytes().to_vec() })
}
