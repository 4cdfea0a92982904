use std::future::pending;
use std::time::Duration;

use headstart_machine::error::CliError;
use headstart_providers::{PendingRetry, PendingRetrySender, WaitCause};
use headstart_terminal::Style;
use tokio::sync::watch::Receiver;
use tokio::time::Instant;

use super::Chat;

/// The requests that may have to wait for the provider while the user waits for them.
pub(super) struct RetryWaits {
    /// The user's own turn.
    turn: RetryWait,
    /// Work ahead that the user has joined.
    ahead: RetryWait,
}

impl RetryWaits {
    /// `counts_down` says whether the remaining seconds are shown.
    pub(super) fn of((turn, ahead): &(PendingRetrySender, PendingRetrySender), counts_down: bool) -> Self {
        Self { turn: RetryWait::of(turn, counts_down), ahead: RetryWait::of(ahead, counts_down) }
    }

    pub(super) fn of_request(&mut self, joins: bool) -> &mut RetryWait {
        if joins { &mut self.ahead } else { &mut self.turn }
    }
}

impl Chat {
    /// A line for the status while the provider makes the user wait. `joins` says that the user waits for work that ran
    /// ahead.
    pub(super) fn waits(&mut self, joins: bool) -> Option<String> {
        Some(format!("{} (Ctrl-C interrupts)", self.retry_waits.of_request(joins).words()?))
    }

    /// Says on a pipe once that there is a wait. In a terminal the status counts down instead.
    pub(super) fn on_wait(&mut self, news: WaitEvent, joins: bool) -> Result<(), CliError> {
        match self.retry_waits.of_request(joins).words() {
            Some(words) if news == WaitEvent::Changed && !self.display.has_keys() => {
                self.display.say(&words, Style::Dim)
            }
            _ => Ok(()),
        }
    }
}

/// Reports waits for the provider.
pub(super) struct RetryWait {
    waits: Receiver<Option<PendingRetry>>,
    counts_down: bool,
}

/// What has changed about a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitEvent {
    /// The wait has begun or ended.
    Changed,
    /// One more second of the wait has passed.
    Second,
}

impl RetryWait {
    fn of(waits: &PendingRetrySender, counts_down: bool) -> Self {
        Self { waits: waits.subscribe(), counts_down }
    }

    /// Ends when there is something new to say. Nothing is lost if the future is dropped early.
    pub(super) async fn next_event(&mut self) -> WaitEvent {
        let left = self.left().filter(|_| self.counts_down);
        let second = async {
            match left {
                // Sleeps until a whole number of seconds is left.
                Some(left) if !left.is_zero() => {
                    let part = left.subsec_nanos().max(1_000_000);
                    tokio::time::sleep(Duration::from_nanos(u64::from(part))).await;
                }
                _ => pending().await,
            }
        };
        tokio::select! {
            biased;
            changed = self.waits.changed() => match changed {
                Ok(()) => WaitEvent::Changed,
                // The sender is gone, so there can be no more waits.
                Err(_) => pending().await,
            },
            () = second => WaitEvent::Second,
        }
    }

    /// What is waited for, and for how much longer.
    pub(super) fn words(&self) -> Option<String> {
        let waiting = (*self.waits.borrow())?;
        let when = match self.left()?.as_secs_f64().ceil() {
            seconds if self.counts_down => format!("in {seconds} s"),
            _ => "…".to_owned(),
        };
        let why = match waiting.cause {
            WaitCause::RateLimit => "the provider limits requests",
            WaitCause::ServerError => "the provider is in trouble",
        };
        Some(format!("{why}: trying again {when}"))
    }

    fn left(&self) -> Option<Duration> {
        let waiting = (*self.waits.borrow())?;
        Some(waiting.until.saturating_duration_since(Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wait_is_counted_down_by_the_second() {
        let waits = PendingRetrySender::default();
        let mut hold = RetryWait::of(&waits, true);
        assert_eq!(hold.words(), None);
        let until = Instant::now() + Duration::from_millis(1_300);
        waits.send_replace(Some(PendingRetry { until, cause: WaitCause::RateLimit }));
        let mut events = Vec::new();
        while events
            .last()
            .is_none_or(|(_, words)| words != "the provider limits requests: trying again in 0 s")
        {
            events.push((hold.next_event().await, hold.words().unwrap()));
        }
        assert_eq!(
            events[0],
            (WaitEvent::Changed, "the provider limits requests: trying again in 2 s".to_owned())
        );
        // On a busy machine the second between may be skipped.
        assert!((2..=3).contains(&events.len()), "{events:?}");
        assert!(events[1..].iter().all(|(news, _)| *news == WaitEvent::Second), "{events:?}");

        waits.send_replace(Some(PendingRetry { until: Instant::now(), cause: WaitCause::ServerError }));
        assert_eq!(hold.next_event().await, WaitEvent::Changed);
        assert_eq!(hold.words().unwrap(), "the provider is in trouble: trying again in 0 s");
        waits.send_replace(None);
        assert_eq!((hold.next_event().await, hold.words()), (WaitEvent::Changed, None));
        drop(waits);
        assert!(tokio::time::timeout(Duration::from_millis(50), hold.next_event()).await.is_err());
    }
    #[tokio::test]
    async fn a_wait_that_is_not_counted_down_tells_nothing_while_it_lasts() {
        let waits = PendingRetrySender::default();
        let mut wait = RetryWait::of(&waits, false);
        let until = Instant::now() + Duration::from_millis(1_300);
        waits.send_replace(Some(PendingRetry { until, cause: WaitCause::RateLimit }));
        assert_eq!(wait.next_event().await, WaitEvent::Changed);
        assert_eq!(wait.words().unwrap(), "the provider limits requests: trying again …");
        assert!(tokio::time::timeout(Duration::from_millis(700), wait.next_event()).await.is_err());
    }
}
