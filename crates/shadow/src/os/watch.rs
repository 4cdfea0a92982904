//! Watches how much build output lies on a disk while a command runs.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::BuildRoom;
use crate::os::view::Ender;

const EVERY: Duration = Duration::from_secs(1);
/// A look takes at most this part of the time.
const PART: u32 = 20;
/// Of a disk so many hundredths stay free.
const FREE: u64 = 2;

/// Watches until it is asked what came of it.
pub(super) struct Watch {
    thread: JoinHandle<bool>,
    over: Sender<()>,
}

impl Watch {
    /// Ends the view as soon as there is too much.
    pub(super) fn start(build: &BuildRoom, ender: Ender) -> Self {
        let (over, is_over) = channel();
        let (folder, measured, bytes) = (build.folder.clone(), build.measured.clone(), build.bytes);
        let thread = std::thread::spawn(move || {
            let mut pause = EVERY;
            while is_over.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let began = Instant::now();
                if !has_room(&folder) || bytes < bytes_below(&measured) {
                    ender.end();
                    return true;
                }
                pause = EVERY.max(began.elapsed() * PART);
            }
            false
        });
        Self { thread, over }
    }

    /// Whether it ended the view.
    pub(super) fn end(self) -> bool {
        drop(self.over);
        self.thread.join().unwrap_or(true)
    }
}

/// Whether the disk has more than its last two percent.
pub(super) fn has_room(folder: &Path) -> bool {
    let Ok(found) = rustix::fs::statvfs(folder) else { return false };
    found.f_blocks.saturating_mul(FREE) / 100 < found.f_bavail
}

/// Bytes on the disk of all that is below a folder; links are not followed.
fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_below(&entry.path()),
        Ok(found) => found.blocks() * 512 / found.nlink().max(1),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}
