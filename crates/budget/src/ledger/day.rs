use std::fmt;

use serde::{Serialize, Serializer};

const MS: u64 = 24 * 60 * 60 * 1_000;

/// A day in universal time. Its text, also in JSON, is like `2026-03-01`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(u64);

impl Day {
    /// The day of a moment in milliseconds since the Unix epoch.
    pub fn of(unix_ms: u64) -> Self {
        Self(unix_ms / MS)
    }

    /// Days since the Unix epoch.
    pub(crate) fn number(self) -> u64 {
        self.0
    }

    /// Year, month, day in the Gregorian calendar, counted in eras of 400 years that begin in March.
    fn civil(self) -> (u64, u64, u64) {
        let days = self.0 + 719_468;
        let (era, of_era) = (days / 146_097, days % 146_097);
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        (era * 400 + year + u64::from(month <= 2), month, day)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let cases = [
            (0, "1970-01-01"),
            (MS - 1, "1970-01-01"),
            (951_782_399_999, "2000-02-28"),
            (951_782_400_000, "2000-02-29"),
            (951_868_800_000, "2000-03-01"),
            (1_767_225_599_999, "2025-12-31"),
            (1_767_225_600_000, "2026-01-01"),
            (4_107_542_400_000, "2100-03-01"),
        ];
        for (ms, expected) in cases {
            assert_eq!(Day::of(ms).to_string(), expected);
        }
        // The conversion must not panic for any moment.
        assert!(!Day::of(u64::MAX).to_string().is_empty());
    }
}
