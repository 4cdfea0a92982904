use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch; 0 before it.
pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The earliest time of a file that changes from now on, in nanoseconds since the Unix epoch, by the clock with which
/// the system stamps files. On Linux that clock is some milliseconds behind the exact one.
pub(crate) fn since_now_ns() -> i64 {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::RealtimeCoarse;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Realtime;
    nanoseconds(clock)
}

/// The latest time of a file that has changed until now, in nanoseconds since the Unix epoch. It is read from the exact
/// clock, because some files are stamped by that.
pub(crate) fn until_now_ns() -> i64 {
    nanoseconds(rustix::time::ClockId::Realtime)
}

/// Like [`since_now_ns`], in milliseconds.
pub(crate) fn since_now_ms() -> u64 {
    u64::try_from(since_now_ns() / 1_000_000).unwrap_or_default()
}

fn nanoseconds(clock: rustix::time::ClockId) -> i64 {
    let now = rustix::time::clock_gettime(clock);
    now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec)
}
