use std::time::{SystemTime, UNIX_EPOCH};

use headstart_overlay_fs::file_times;

/// Milliseconds since the Unix epoch; 0 before it.
pub fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Like [`file_times::since_now_ns`], in milliseconds.
pub(crate) fn since_now_ms() -> u64 {
    u64::try_from(file_times::since_now_ns() / 1_000_000).unwrap_or_default()
}
