use std::time::Duration;

use headstart_forked_query::{ModelRequest, Money, Price, TokenEstimate};
use headstart_overlay_fs::Quota;
use headstart_toolbox::ToolLimits;

use crate::{Cost, Limit};

/// How much a run may spend before it is stopped. Every limit has its own ending ([`Limit`](crate::Limit)); none counts
/// as completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most answers of the model.
    pub turns: u32,
    /// The most entries of the transcript.
    pub messages: usize,
    /// The most tokens read and written, in all requests together; cached tokens count.
    pub tokens: u64,
    /// What the tokens may cost; `None` for no limit.
    pub cost: Option<CostLimit>,
    /// How long a request may be; `None` for no limit.
    pub window: Option<RequestLimit>,
    /// Wall time, without the time in which the user is asked for consent. A commit that has begun is completed.
    pub time: Duration,
    /// How many candidates the query for what comes after the work asks for, from 1 to
    /// [`MAX_CANDIDATES`](headstart_followup_state::MAX_CANDIDATES).
    pub candidates: usize,
    /// Paths and bytes staged, in all and in one file, and how deep a path may go.
    pub staged: Quota,
    /// How many calls of one answer run at the same time; only calls that only read ever do.
    pub calls_at_once: usize,
    /// How much one tool may return and search.
    pub tools: ToolLimits,
    /// What one sub-task may spend ([`task_tool`](crate::task_tool)), as far as the run has it left.
    pub task: TaskLimits,
}

/// How much a sub-task may spend before it is stopped. What it has done by then stays, and the run that began it reads
/// that it was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskLimits {
    /// The most answers of the model.
    pub turns: u32,
    /// The most tokens read and written, in all requests together; cached tokens count.
    pub tokens: u64,
    /// Wall time in seconds, without the time in which the user is asked for consent.
    pub seconds: u32,
}

impl Default for TaskLimits {
    /// 40 answers, a million tokens, ten minutes.
    fn default() -> Self {
        Self { turns: 40, tokens: 1_000_000, seconds: 600 }
    }
}

/// A limit on what the tokens of a run cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostLimit {
    /// The price of a million tokens.
    pub price: Price,
    /// The most that a run may cost.
    pub most: Money,
}

/// A limit on the tokens of a request, so that it is not longer than what the model sees at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestLimit {
    /// The most tokens that a request may have.
    pub tokens: u64,
    /// What is known of the conversation's tokens before the run.
    pub token_estimate: TokenEstimate,
}

impl RequestLimit {
    /// Whether a request is longer than the limit; `learned` is what its run has learned of its tokens since.
    pub(crate) fn is_exceeded(self, request: &ModelRequest, learned: Option<TokenEstimate>) -> bool {
        self.tokens < learned.unwrap_or(self.token_estimate).tokens(request)
    }
}

impl Limits {
    /// The limits for a sub-task of a run that has spent this much.
    pub(crate) fn for_task(&self, spent: &Cost) -> Self {
        let price =
            |limit: CostLimit| CostLimit { most: limit.most.less(limit.price.of(spent.tokens)), ..limit };
        Self {
            turns: self.task.turns.min(self.turns.saturating_sub(spent.turns)),
            messages: usize::MAX,
            tokens: self.task.tokens.min(self.tokens.saturating_sub(spent.spent_tokens())),
            cost: self.cost.map(price),
            // Nothing is known of the sub-task's tokens yet.
            window: self
                .window
                .map(|window| RequestLimit { token_estimate: TokenEstimate::default(), ..window }),
            time: Duration::from_secs(self.task.seconds.into()),
            ..*self
        }
    }

    /// The limit that is reached by what was spent.
    pub fn spent(&self, cost: &Cost) -> Option<Limit> {
        if self.tokens <= cost.spent_tokens() {
            return Some(Limit::Tokens);
        }
        let dear = self.cost.is_some_and(|limit| limit.most < limit.price.of(cost.tokens));
        dear.then_some(Limit::Cost)
    }
}

impl Default for Limits {
    /// 20 answers, 100 messages, 400,000 tokens, five minutes, eight calls at once.
    fn default() -> Self {
        Self {
            turns: 20,
            messages: 100,
            tokens: 400_000,
            cost: None,
            window: None,
            time: Duration::from_secs(300),
            candidates: 1,
            staged: Quota::default(),
            calls_at_once: 8,
            tools: ToolLimits::default(),
            task: TaskLimits::default(),
        }
    }
}
