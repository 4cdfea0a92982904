use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch; 0 before it.
pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The clock by which the system writes times at files, in nanoseconds since the Unix epoch.
pub(crate) fn of_files_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec)
}
