#[cfg(unix)]
pub use std::os::unix::fs::MetadataExt as FileNumbers;

/// What a file's metadata say on Unix and not on Windows. Only caches of views ask for it, and there are no views on
/// Windows, so every number is one that proves nothing there: a file is never taken for one that was seen before.
#[cfg(windows)]
pub trait FileNumbers {
    fn dev(&self) -> u64;
    fn ino(&self) -> u64;
    fn nlink(&self) -> u64;
    fn blocks(&self) -> u64;
    fn mode(&self) -> u32;
    fn mtime(&self) -> i64;
    fn mtime_nsec(&self) -> i64;
    fn ctime(&self) -> i64;
    fn ctime_nsec(&self) -> i64;
}

#[cfg(windows)]
impl FileNumbers for std::fs::Metadata {
    fn dev(&self) -> u64 {
        0
    }

    fn ino(&self) -> u64 {
        0
    }

    fn nlink(&self) -> u64 {
        1
    }

    fn blocks(&self) -> u64 {
        self.len().div_ceil(512)
    }

    fn mode(&self) -> u32 {
        0
    }

    fn mtime(&self) -> i64 {
        modified(self).0
    }

    fn mtime_nsec(&self) -> i64 {
        modified(self).1
    }

    /// The time of the last write, because there is no time of the last change of anything else.
    fn ctime(&self) -> i64 {
        modified(self).0
    }

    fn ctime_nsec(&self) -> i64 {
        modified(self).1
    }
}

/// Seconds and nanoseconds since the Unix epoch.
#[cfg(windows)]
fn modified(found: &std::fs::Metadata) -> (i64, i64) {
    /// Between the epoch of Windows, 1601, and that of Unix, in units of 100 ns.
    const EPOCH: i64 = 116_444_736_000_000_000;
    let ticks = std::os::windows::fs::MetadataExt::last_write_time(found).cast_signed() - EPOCH;
    (ticks.div_euclid(10_000_000), ticks.rem_euclid(10_000_000) * 100)
}
