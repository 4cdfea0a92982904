//! Watches how much build output lies on a disk while a command or a program runs.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::BuildRoom;
use crate::os::view::KillHandle;

const EVERY: Duration = Duration::from_secs(1);
/// Measuring takes at most this fraction of a command's time, and this of a program's, which is idle for most of it.
const PART: u32 = 20;
const PART_OF_PROGRAM: u32 = 100;
/// The percentage of a disk that stays free.
const FREE: u64 = 2;

/// Watches until it is asked for the result.
#[derive(Debug)]
pub(super) struct Watch {
    thread: JoinHandle<bool>,
    over: Sender<()>,
}

impl Watch {
    /// Ends the view of a command once there is too much. `clone` are the bytes and files that a clone may have.
    pub(super) fn start(build: &BuildRoom, kill_handle: KillHandle, clone: Option<(u64, u64)>) -> Self {
        Self::look(build, kill_handle, clone, PART)
    }

    /// As [`start`](Self::start), for a program that stays.
    pub(super) fn of_program(build: &BuildRoom, kill_handle: KillHandle, clone: Option<(u64, u64)>) -> Self {
        Self::look(build, kill_handle, clone, PART_OF_PROGRAM)
    }

    fn look(build: &BuildRoom, kill_handle: KillHandle, clone: Option<(u64, u64)>, part: u32) -> Self {
        let (over, is_over) = channel();
        let (folder, measured, bytes) = (build.folder.clone(), build.measured.clone(), build.bytes);
        // What a clone shares with the workspace counts as its own.
        let bytes = bytes.saturating_add(clone.map_or(0, |(bytes, _)| bytes));
        let is_over_clone = move |folder: &Path| {
            let Some((most, files)) = clone else { return false };
            let used = used_below(folder);
            most < used.0 || files < used.1
        };
        let thread = std::thread::spawn(move || {
            let mut pause = EVERY;
            while is_over.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let began = Instant::now();
                if !has_room(&folder) || bytes < used_below(&measured).0 || is_over_clone(&folder) {
                    kill_handle.kill();
                    return true;
                }
                pause = EVERY.max(began.elapsed() * part);
            }
            false
        });
        Self { thread, over }
    }

    /// Ends the watch; returns whether it ended the view.
    pub(super) fn end(self) -> bool {
        drop(self.over);
        self.thread.join().unwrap_or(true)
    }
}

/// Whether more of the disk is free than the two percent that stay free.
pub(super) fn has_room(folder: &Path) -> bool {
    let Ok(found) = rustix::fs::statvfs(folder) else { return false };
    found.f_blocks.saturating_mul(FREE) / 100 < found.f_bavail
}

/// The bytes on the disk, and the number of files, of everything below a folder. Links are not followed.
fn used_below(folder: &Path) -> (u64, u64) {
    let Ok(entries) = fs::read_dir(folder) else { return (0, 0) };
    let mut used = (0, 0);
    for entry in entries.flatten() {
        let Ok(found) = entry.metadata() else { continue };
        let inner = if found.is_dir() { used_below(&entry.path()) } else { (0, 0) };
        let own = if found.is_dir() { 0 } else { found.blocks() * 512 / found.nlink().max(1) };
        used = (used.0 + inner.0 + own, used.1 + inner.1 + 1);
    }
    used
}
