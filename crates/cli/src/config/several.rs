use std::ops::RangeInclusive;

use headstart_followup_state::MAX_CANDIDATES;

use super::Config;

/// A setting that is a number: how many suggestions there are at a time, and how much of a conversation a model reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SeveralField {
    /// How many are asked for.
    Candidates,
    /// How many of them run ahead.
    Parallel,
    /// How many entries of the conversation a model of its own for background work gets.
    ForkEntries,
    /// From how many hundredths of the model's window on a conversation is made shorter.
    CompactAt,
}

impl SeveralField {
    /// The name in a configuration file.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Candidates => "candidates",
            Self::Parallel => "parallel",
            Self::ForkEntries => "fork_entries",
            Self::CompactAt => "compact_at",
        }
    }

    pub(super) fn of(self, config: &mut Config) -> &mut usize {
        match self {
            Self::Candidates => &mut config.candidates,
            Self::Parallel => &mut config.parallel,
            Self::ForkEntries => &mut config.fork_entries,
            Self::CompactAt => &mut config.compact_at,
        }
    }

    /// What it may be.
    pub(super) const fn range(self) -> RangeInclusive<usize> {
        match self {
            Self::Candidates | Self::Parallel => 1..=MAX_CANDIDATES,
            Self::ForkEntries => 4..=10_000,
            // The rest is for the answer; and of less nothing would be left.
            Self::CompactAt => 40..=95,
        }
    }
}
