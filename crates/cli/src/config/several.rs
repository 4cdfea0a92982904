use super::Config;

/// A setting of how many suggestions there are at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SeveralField {
    /// How many are asked for.
    Candidates,
    /// How many of them run ahead.
    Parallel,
}

impl SeveralField {
    /// The name in a configuration file.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Candidates => "candidates",
            Self::Parallel => "parallel",
        }
    }

    pub(super) fn of(self, config: &mut Config) -> &mut usize {
        match self {
            Self::Candidates => &mut config.candidates,
            Self::Parallel => &mut config.parallel,
        }
    }
}
