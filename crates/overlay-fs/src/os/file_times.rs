//! Times before and after a change of a file, by the clocks with which the system stamps files: nanoseconds since the
//! Unix epoch.
//!
//! Linux stamps most files by a clock that advances every few milliseconds. Since Linux 6.13 a file whose times somebody
//! has just read gets its next time from the exact clock, which is ahead of the other. So "changed since" is asked with
//! the first clock, and "changed until now" with the second.

#[cfg(unix)]
use rustix::time::{ClockId, clock_gettime};

/// Whatever is changed from now on shows this time or a later one.
#[cfg(unix)]
pub fn since_now_ns() -> i64 {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let clock = ClockId::RealtimeCoarse;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let clock = ClockId::Realtime;
    nanoseconds(clock)
}

/// Whatever was changed until now shows this time or an earlier one.
#[cfg(unix)]
pub fn until_now_ns() -> i64 {
    nanoseconds(ClockId::Realtime)
}

/// Whatever is changed from now on shows this time or a later one: Windows stamps files by a clock that advances every
/// 15.6 ms.
#[cfg(windows)]
pub fn since_now_ns() -> i64 {
    until_now_ns().saturating_sub(16_000_000)
}

/// Whatever was changed until now shows this time or an earlier one.
#[cfg(windows)]
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the time of files can only be asked of the system"
)]
pub fn until_now_ns() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

#[cfg(unix)]
fn nanoseconds(clock: ClockId) -> i64 {
    let now = clock_gettime(clock);
    now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec)
}
