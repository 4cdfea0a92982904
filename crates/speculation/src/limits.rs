use std::time::Duration;

use headstart_overlay_fs::Quota;
use headstart_toolbox::Limits as ToolLimits;

/// How much a run may spend before it is stopped. Every limit has an ending of its own
/// ([`Limit`](crate::Limit)); none counts as completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Answers of the model.
    pub turns: u32,
    /// Entries of the transcript.
    pub messages: usize,
    /// Tokens read and written, all requests together; cached tokens count.
    pub tokens: u64,
    /// Wall time.
    pub time: Duration,
    /// Paths and bytes staged, in all and in one file, and how deep a path may go.
    pub staged: Quota,
    /// What one tool may return and search.
    pub tools: ToolLimits,
}

impl Default for Limits {
    /// 20 answers, 100 messages, 400,000 tokens, five minutes.
    fn default() -> Self {
        Self {
            turns: 20,
            messages: 100,
            tokens: 400_000,
            time: Duration::from_secs(300),
            staged: Quota::default(),
            tools: ToolLimits::default(),
        }
    }
}
