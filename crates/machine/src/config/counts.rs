use std::ops::RangeInclusive;

use headstart_followup_state::MAX_CANDIDATES;

use super::Config;

/// A setting that is a number: how many suggestions there are at a time, and how much of a conversation a model reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CountField {
    /// How many suggestions are requested at a time.
    Candidates,
    /// How many entries of the conversation are sent to a separate model for background work.
    ForkEntries,
    /// How full the model's window must be, in percent, before a conversation is compacted.
    CompactAt,
}

impl CountField {
    /// The name in a configuration file.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Candidates => "candidates",
            Self::ForkEntries => "fork_entries",
            Self::CompactAt => "compact_at",
        }
    }

    pub(super) fn of(self, config: &mut Config) -> &mut usize {
        match self {
            Self::Candidates => &mut config.candidates,
            Self::ForkEntries => &mut config.fork_entries,
            Self::CompactAt => &mut config.compact_at,
        }
    }

    /// The allowed values.
    pub(super) const fn range(self) -> RangeInclusive<usize> {
        match self {
            Self::Candidates => 1..=MAX_CANDIDATES,
            Self::ForkEntries => 4..=10_000,
            // Above the range no room would be left for the answer, and below it nothing of the conversation.
            Self::CompactAt => 40..=95,
        }
    }
}
