use std::time::Duration;

use headstart_forked_query::ModelError;

/// The most repetitions after a connection that was closed before any byte: a server that always does it does not stop.
const DROPPED_RETRIES: u32 = 4;

/// How often, and after how long, a failed request is repeated. Pure: the host waits and provides random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The most repetitions.
    pub retries: u32,
    /// The longest wait after the first failure. It doubles with each further one.
    pub initial_delay: Duration,
    /// The longest wait at any time.
    pub max_delay: Duration,
    /// The longest sum of all waits of one request, where the provider does not say how long to wait.
    pub max_total_wait: Duration,
    /// The same where the provider says how long to wait. If it asks for more, the request fails at once.
    pub max_asked_wait: Duration,
    /// Whether a request is repeated that was refused because the provider is overloaded or limits the rate.
    pub repeats_limited: bool,
}

/// Who waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// The user, in a turn of their own.
    Foreground,
    /// Nobody yet: a suggestion, a speculation. If the provider limits the rate, it waits until the user's own turn
    /// has succeeded.
    Background,
}

impl RetryPolicy {
    /// For the user's own turn.
    pub const FOREGROUND: Self = Self {
        retries: 20,
        initial_delay: Duration::from_millis(500),
        max_delay: Duration::from_secs(20),
        max_total_wait: Duration::from_secs(60),
        max_asked_wait: Duration::from_secs(60),
        repeats_limited: true,
    };

    /// For work that nobody waits for: fewer attempts, further apart, and none that would make a storm worse.
    pub const BACKGROUND: Self = Self {
        retries: 2,
        initial_delay: Duration::from_secs(2),
        max_delay: Duration::from_secs(20),
        max_total_wait: Duration::from_secs(30),
        max_asked_wait: Duration::from_secs(30),
        repeats_limited: false,
    };

    /// The policy for a priority.
    pub fn of(priority: Priority) -> Self {
        match priority {
            Priority::Foreground => Self::FOREGROUND,
            Priority::Background => Self::BACKGROUND,
        }
    }

    /// How long to wait before a request is repeated that failed for the `failures`th time, with this error, after it
    /// has `waited` this long in total; `None` if it is not repeated. `random` is a random number between 0 and 1.
    ///
    /// Rate limits and failures of a server pass, and so does a connection that was closed before the first byte of
    /// the answer, which happens if it was idle for long. Everything else would fail again. If the provider asks for
    /// a time, that is the wait; otherwise the wait is between half and all of a step that doubles, so that clients
    /// do not return at the same time; the last one ends with the longest sum.
    pub fn delay(
        &self,
        failures: u32,
        waited: Duration,
        error: &ModelError,
        random: f64,
    ) -> Option<Duration> {
        let asked_for = match error {
            // "Not implemented" and "version not supported" do not change.
            ModelError::Server { status: 501 | 505, .. } => return None,
            ModelError::RateLimited { retry_after, .. } | ModelError::Server { retry_after, .. } => {
                *retry_after
            }
            ModelError::Dropped { .. } if failures <= DROPPED_RETRIES => None,
            _ => return None,
        };
        let is_refused = error.is_limit() && !self.repeats_limited;
        if self.retries < failures || failures == 0 || is_refused {
            return None;
        }
        let random = if random.is_finite() { random.clamp(0.0, 1.0) } else { 1.0 };
        let Some(asked_for) = asked_for else {
            let left = self.max_total_wait.saturating_sub(waited);
            return (!left.is_zero()).then(|| self.step(failures).mul_f64(0.5 + random / 2.0).min(left));
        };
        let delay = asked_for.saturating_add(self.initial_delay.mul_f64(random / 10.0));
        (waited.saturating_add(delay) <= self.max_asked_wait).then_some(delay)
    }

    fn step(&self, failures: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
        self.initial_delay.saturating_mul(doubled).min(self.max_delay)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const POLICY: RetryPolicy = RetryPolicy {
        retries: 5,
        initial_delay: Duration::from_millis(100),
        max_delay: Duration::from_millis(500),
        max_total_wait: Duration::from_secs(10),
        max_asked_wait: Duration::from_secs(10),
        repeats_limited: true,
    };

    fn limited(retry_after: Option<u64>) -> ModelError {
        ModelError::RateLimited {
            provider: "x".into(),
            message: String::new(),
            retry_after: retry_after.map(Duration::from_millis),
        }
    }

    fn server(status: u16, retry_after: Option<u64>) -> ModelError {
        let retry_after = retry_after.map(Duration::from_millis);
        ModelError::Server { provider: "x".into(), status, message: String::new(), retry_after }
    }

    #[test]
    fn delays() {
        let cases = [
            // failures, waited ms, error, dice, delay in ms
            (1, 0, limited(None), 1.0, Some(100)),
            (1, 0, limited(None), 0.0, Some(50)),
            (2, 0, limited(None), 1.0, Some(200)),
            (3, 0, server(500, None), 0.5, Some(300)),
            (4, 0, server(503, None), 1.0, Some(500)),
            (5, 0, server(529, None), 0.0, Some(250)),
            (6, 0, limited(None), 0.0, None),
            (1, 0, limited(Some(7_000)), 0.0, Some(7_000)),
            (1, 0, limited(Some(7_000)), 1.0, Some(7_010)),
            (1, 0, server(503, Some(0)), 0.0, Some(0)),
            (1, 4_000, limited(Some(7_000)), 0.0, None),
            (1, 0, limited(Some(3_600_000)), 0.0, None),
            (1, 9_950, limited(None), 0.0, Some(50)),
            // The last wait ends with the sum, and nothing follows it.
            (1, 9_951, limited(None), 0.0, Some(49)),
            (1, 10_000, limited(None), 0.0, None),
            (1, 0, limited(None), f64::NAN, Some(100)),
            (1, 0, limited(None), 7.0, Some(100)),
            (0, 0, limited(None), 0.0, None),
            (1, 0, server(501, None), 0.0, None),
            (1, 0, ModelError::Cut { provider: "x".into(), source: None }, 0.0, None),
            (1, 0, ModelError::Dropped { provider: "x".into(), source: None }, 1.0, Some(100)),
            (6, 0, ModelError::Dropped { provider: "x".into(), source: None }, 1.0, None),
            (1, 0, ModelError::Timeout { provider: "x".into(), after: Duration::ZERO }, 0.0, None),
            (
                1,
                0,
                ModelError::Unreachable { url: "x".into(), message: "refused".into(), source: None },
                0.0,
                None,
            ),
            (
                1,
                0,
                ModelError::Rejected { provider: "x".into(), status: 400, message: String::new() },
                0.0,
                None,
            ),
            (
                1,
                0,
                ModelError::Unauthorized {
                    provider: "x".into(),
                    status: 401,
                    variable: "K".into(),
                    message: String::new(),
                },
                0.0,
                None,
            ),
        ];
        for (failures, waited, error, random, expected) in cases {
            let delay = POLICY.delay(failures, Duration::from_millis(waited), &error, random);
            assert_eq!(delay, expected.map(Duration::from_millis), "{failures} {waited} {error:?} {random}");
        }
    }

    /// The user's own turn goes on trying for the whole minute, whatever the dice say; work ahead makes no storm worse.
    #[test]
    fn a_storm_is_waited_out_for_a_minute_by_the_user_and_not_at_all_ahead() {
        for random in [0.0, 0.3, 1.0] {
            let (mut failures, mut waited) = (0, Duration::ZERO);
            loop {
                failures += 1;
                let delay = RetryPolicy::FOREGROUND.delay(failures, waited, &server(529, None), random);
                let Some(delay) = delay else { break };
                waited += delay;
            }
            assert_eq!(waited, Duration::from_secs(60), "{random}");
        }
        let asked = |seconds: u64| {
            RetryPolicy::FOREGROUND.delay(1, Duration::ZERO, &server(529, Some(seconds * 1_000)), 0.0)
        };
        assert_eq!(asked(60), Some(Duration::from_secs(60)));
        assert_eq!(asked(120), None, "it is told at once");
        for error in [limited(None), limited(Some(0)), server(503, None), server(529, Some(1_000))] {
            assert_eq!(RetryPolicy::BACKGROUND.delay(1, Duration::ZERO, &error, 0.5), None, "{error:?}");
        }
        assert!(RetryPolicy::BACKGROUND.delay(1, Duration::ZERO, &server(500, None), 0.5).is_some());
    }

    proptest! {
        /// A request always ends, because its retries and the sum of its waits are limited.
        #[test]
        fn a_request_ends(errors in proptest::collection::vec((any::<bool>(), proptest::option::of(0..100_000_u64), 0.0..1.0_f64), 100)) {
            for policy in [POLICY, RetryPolicy::FOREGROUND, RetryPolicy::BACKGROUND] {
                let (mut failures, mut waited) = (0, Duration::ZERO);
                for (is_limit, after, random) in &errors {
                    failures += 1;
                    let error = if *is_limit { limited(*after) } else { server(500, *after) };
                    let Some(delay) = policy.delay(failures, waited, &error, *random) else { break };
                    waited += delay;
                }
                prop_assert!(failures <= policy.retries + 1);
                prop_assert!(waited <= policy.max_total_wait.max(policy.max_asked_wait));
            }
        }
    }
}
