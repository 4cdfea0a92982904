use std::time::Duration;

use headstart_providers::{Priority, RetryPolicy, Timeouts};

/// How requests to a provider are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Requests {
    pub(crate) timeouts: Timeouts,
    /// How often a request that fails for a moment is tried again at most; `None` means as often as its priority
    /// allows.
    pub(crate) retries: Option<u32>,
    /// Whether somebody sits at a terminal, sees how long a provider asks to wait, and can end the wait.
    pub is_attended: bool,
    /// For how long Gemini caches the beginning of a conversation under a name; zero means not at all.
    pub(crate) cache_lifetime: Duration,
}

impl Requests {
    pub(crate) fn retry_policy(self, priority: Priority) -> RetryPolicy {
        /// A wait that a user ends before the policy does.
        const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);
        let mut policy = RetryPolicy::of(priority);
        policy.retries = self.retries.unwrap_or(policy.retries);
        if self.is_attended && priority == Priority::Foreground {
            policy.max_asked_wait = A_DAY;
        }
        policy
    }
}

/// A setting of requests that a configuration file can contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestField {
    Retries,
    ConnectSeconds,
    FirstByteSeconds,
    IdleSeconds,
    StalledSeconds,
    CacheSeconds,
}

impl RequestField {
    /// The name in a configuration file.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Retries => "requests.retries",
            Self::ConnectSeconds => "requests.connect_seconds",
            Self::FirstByteSeconds => "requests.first_byte_seconds",
            Self::IdleSeconds => "requests.idle_seconds",
            Self::StalledSeconds => "requests.stalled_seconds",
            Self::CacheSeconds => "requests.cache_seconds",
        }
    }

    /// The smallest allowed value: zero retries are possible, but no request succeeds without time.
    pub(super) const fn least(self) -> u32 {
        match self {
            Self::Retries | Self::CacheSeconds => 0,
            _ => 1,
        }
    }

    pub(super) fn set(self, requests: &mut Requests, value: u32) {
        let time = Duration::from_secs(u64::from(value));
        match self {
            Self::Retries => requests.retries = Some(value),
            Self::ConnectSeconds => requests.timeouts.connect = time,
            Self::FirstByteSeconds => requests.timeouts.first_byte = time,
            Self::IdleSeconds => requests.timeouts.idle = time,
            Self::StalledSeconds => requests.timeouts.stalled = time,
            Self::CacheSeconds => requests.cache_lifetime = time,
        }
    }
}
