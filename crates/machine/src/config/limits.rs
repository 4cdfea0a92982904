use std::time::Duration;

use headstart_speculation::Limits;

/// A limit that a configuration file can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitField {
    Turns,
    Messages,
    Tokens,
    StagedFiles,
    StagedBytes,
    StagedFileBytes,
    StagedDepth,
    TimeSeconds,
    CommandSeconds,
}

impl LimitField {
    /// The name in a configuration file.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Turns => "limits.turns",
            Self::Messages => "limits.messages",
            Self::Tokens => "limits.tokens",
            Self::StagedFiles => "limits.staged_files",
            Self::StagedBytes => "limits.staged_bytes",
            Self::StagedFileBytes => "limits.staged_file_bytes",
            Self::StagedDepth => "limits.staged_depth",
            Self::TimeSeconds => "limits.time_seconds",
            Self::CommandSeconds => "limits.command_seconds",
        }
    }

    pub(super) fn get(self, limits: &Limits) -> u64 {
        match self {
            Self::Turns => u64::from(limits.turns),
            Self::Messages => limits.messages as u64,
            Self::Tokens => limits.tokens,
            Self::StagedFiles => limits.staged.files,
            Self::StagedBytes => limits.staged.bytes,
            Self::StagedFileBytes => limits.staged.file_bytes,
            Self::StagedDepth => limits.staged.depth,
            Self::TimeSeconds => limits.time.as_secs(),
            Self::CommandSeconds => limits.tools.command_time.as_secs(),
        }
    }

    /// Sets the limit. A value that is too large for its type sets the largest possible one.
    pub(super) fn set(self, limits: &mut Limits, value: u64) {
        match self {
            Self::Turns => limits.turns = u32::try_from(value).unwrap_or(u32::MAX),
            Self::Messages => limits.messages = usize::try_from(value).unwrap_or(usize::MAX),
            Self::Tokens => limits.tokens = value,
            Self::StagedFiles => limits.staged.files = value,
            Self::StagedBytes => limits.staged.bytes = value,
            Self::StagedFileBytes => limits.staged.file_bytes = value,
            Self::StagedDepth => limits.staged.depth = value,
            Self::TimeSeconds => limits.time = Duration::from_secs(value),
            Self::CommandSeconds => limits.tools.command_time = Duration::from_secs(value),
        }
    }
}
