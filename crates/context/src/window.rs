//! Plans for a conversation that is about to exceed its model's window.

mod fewer_tools;
mod outputs;
mod summary_plan;

use headstart_forked_query::{Message, ModelRequest, Role, TokenEstimate};

use self::outputs::{remove_old_outputs, shorten_outputs};
use self::summary_plan::LEAST_SUMMARY_TOKENS;
pub use self::summary_plan::{SUMMARY_TOKENS, SummaryPlan};

/// A model's window, and the size from which a conversation is shortened.
///
/// ```
/// use headstart_context::{CompactionPlan, Window};
/// use headstart_forked_query::{TokenEstimate, Message, ModelRequest, Role};
///
/// let said = |role, words: usize| Message::text(role, "word ".repeat(words));
/// let talk = (0..20).flat_map(|_| [said(Role::User, 100), said(Role::Model, 100)]).collect();
/// let request = ModelRequest {
///     model: "m".into(), system: None, tools: vec![], messages: talk,
///     thinking: true, response_schema: None, max_output_tokens: None,
/// };
/// let window = Window { tokens: 6_000, ..Window::default() };
/// let CompactionPlan::Summarise(plan) = window.plan(&request, &[], TokenEstimate::default()) else { panic!("it is longer than 85 %") };
/// // The model is asked for the summary (`plan.messages()`); its words take the place of all but the last turns.
/// let shorter = plan.with_summary("We talked.");
/// assert_eq!(shorter.len(), 8);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The window: the most tokens of question and answer together.
    pub tokens: u64,
    /// The percentage of the window above which a request is not sent as it is.
    pub compact_at: u8,
}

impl Default for Window {
    /// 128,000 tokens, and 85 %: the rest is for the answer.
    fn default() -> Self {
        Self { tokens: 128_000, compact_at: 85 }
    }
}

/// What to do with a conversation before its next request.
#[derive(Debug, Clone, PartialEq)]
pub enum CompactionPlan {
    /// Nothing: it fits.
    Keep,
    /// It fits once old outputs of tools are removed.
    Cut {
        /// The conversation with a remark in their place.
        history: Vec<Message>,
        /// How many were removed.
        outputs: usize,
    },
    /// Its beginning is summarised.
    Summarise(SummaryPlan),
    /// What has to stay exceeds the window.
    TooLong {
        /// The estimated number of its tokens.
        tokens: u64,
    },
}

impl Window {
    /// The most tokens that a request may have.
    pub fn max_request_tokens(&self) -> u64 {
        percent_of(self.tokens, u64::from(self.compact_at.clamp(1, 100)))
    }

    /// The most tokens of a summary: an eighth of a small window.
    pub fn summary_tokens(&self) -> u64 {
        (self.tokens / 8).clamp(LEAST_SUMMARY_TOKENS, SUMMARY_TOKENS)
    }

    /// What to do before `request`, which contains the conversation so far, is sent with the messages `next` behind
    /// it.
    ///
    /// What is removed is removed at once and far below the limit, so that the provider's prefix cache is rarely
    /// lost. The system instruction, the tools, the user's last text and the last answer with its results always
    /// stay.
    pub fn plan(&self, request: &ModelRequest, next: &[Message], estimate: TokenEstimate) -> CompactionPlan {
        let count = TokenCount { request, next, estimate };
        let history = &request.messages;
        if count.tokens(history) <= self.max_request_tokens() {
            return CompactionPlan::Keep;
        }
        let (cut, outputs) = remove_old_outputs(history, last_answer(history));
        if 0 < outputs && count.tokens(&cut) <= percent_of(self.max_request_tokens(), 60) {
            return CompactionPlan::Cut { history: cut, outputs };
        }
        self.shortest_plan(&count)
    }

    /// The summary that will probably be needed before the next request of a conversation, because it has more than
    /// nine tenths of the limit, and removing old outputs would not be enough.
    pub fn plan_ahead(&self, request: &ModelRequest, estimate: TokenEstimate) -> Option<SummaryPlan> {
        let count = TokenCount { request, next: &[], estimate };
        let history = &request.messages;
        if count.tokens(history) <= percent_of(self.max_request_tokens(), 90) {
            return None;
        }
        let (cut, outputs) = remove_old_outputs(history, last_answer(history));
        if 0 < outputs && count.tokens(&cut) <= percent_of(self.max_request_tokens(), 60) {
            return None;
        }
        match self.shortest_plan(&count) {
            CompactionPlan::Summarise(plan) => Some(plan),
            _ => None,
        }
    }

    /// The plan if the user wants a summary, however long the conversation is.
    pub fn plan_summary(&self, request: &ModelRequest, estimate: TokenEstimate) -> CompactionPlan {
        let count = TokenCount { request, next: &[], estimate };
        self.summary_plan(&count).map_or(CompactionPlan::Keep, CompactionPlan::Summarise)
    }

    fn shortest_plan(&self, count: &TokenCount<'_>) -> CompactionPlan {
        let history = &count.request.messages;
        let Some(plan) = self.summary_plan(count) else {
            return match shorten_outputs(history, |shorter| {
                count.tokens(shorter) <= self.max_request_tokens()
            }) {
                Some(history) => CompactionPlan::Cut { history, outputs: 1 },
                None => CompactionPlan::TooLong { tokens: count.tokens(history) },
            };
        };
        // A shorter summary is better than none.
        for tokens in [self.summary_tokens(), LEAST_SUMMARY_TOKENS] {
            let plan = plan.clone().with_tokens(tokens);
            let fits = |kept: &[Message]| {
                count.tokens(&plan.clone().with_kept(kept.to_vec()).with_longest_summary())
                    <= self.max_request_tokens()
            };
            if fits(plan.kept()) {
                return CompactionPlan::Summarise(plan);
            }
            if let Some(kept) = shorten_outputs(plan.kept(), fits) {
                return CompactionPlan::Summarise(plan.with_kept(kept));
            }
        }
        let shortest = plan.with_tokens(LEAST_SUMMARY_TOKENS);
        CompactionPlan::TooLong { tokens: count.tokens(&shortest.with_longest_summary()) }
    }

    /// What is summarised and what stays: the last turns, as many as take half of the room. If the last turn alone
    /// takes more, its beginning and its last answer stay.
    fn summary_plan(&self, count: &TokenCount<'_>) -> Option<SummaryPlan> {
        /// The most turns that stay as they are.
        const TURNS: usize = 4;
        let history = &count.request.messages;
        let plan = |start: usize, kept: Vec<Message>| {
            SummaryPlan::new(self.messages_to_summarise(count, start), kept, self.summary_tokens())
        };
        let turns: Vec<_> = (0..history.len()).filter(|at| history[*at].role == Role::User).collect();
        let first = turns.len().saturating_sub(TURNS);
        let fits = |start: &usize| count.tokens(&history[*start..]) <= self.max_request_tokens() / 2;
        let mut starts = turns[first..].iter().copied().filter(|start| 0 < *start);
        if let Some(start) = starts.clone().find(fits) {
            return Some(plan(start, history[start..].to_vec()));
        }
        let (opening, last) = (turns.last().copied()?, last_answer(history));
        if opening + 1 < last {
            let kept = std::iter::once(&history[opening]).chain(&history[last..]).cloned().collect();
            return Some(plan(last, kept));
        }
        let start = starts.next_back()?;
        Some(plan(start, history[start..].to_vec()))
    }

    /// What the model reads to summarise it: the conversation as far as the window holds it, because its provider has
    /// that in its cache. If the window does not hold all that will be removed, its end without old outputs.
    fn messages_to_summarise(&self, count: &TokenCount<'_>, start: usize) -> Vec<Message> {
        /// The question for the summary.
        const QUESTION_TOKENS: u64 = 300;
        let history = &count.request.messages;
        let room = self.tokens.saturating_sub(self.summary_tokens() + QUESTION_TOKENS);
        let fits = |messages: &[Message]| count.tokens_of(messages) <= room;
        let mut ends = step_ends(history).rev().take_while(|end| start <= *end);
        if let Some(end) = ends.find(|end| fits(&history[..*end])) {
            return history[..end].to_vec();
        }
        let (cut, _) = remove_old_outputs(history, start);
        let from = (0..start).find(|from| cut[*from].role == Role::User && fits(&cut[*from..start]));
        from.map_or_else(Vec::new, |from| cut[from..start].to_vec())
    }
}

/// Counts the tokens of a request with another conversation in it.
struct TokenCount<'a> {
    request: &'a ModelRequest,
    next: &'a [Message],
    estimate: TokenEstimate,
}

impl TokenCount<'_> {
    fn tokens(&self, history: &[Message]) -> u64 {
        self.tokens_of(&[history, self.next].concat())
    }

    fn tokens_of(&self, messages: &[Message]) -> u64 {
        self.estimate.tokens(&ModelRequest { messages: messages.to_vec(), ..without_messages(self.request) })
    }
}

/// A request without its messages.
fn without_messages(request: &ModelRequest) -> ModelRequest {
    ModelRequest {
        model: request.model.clone(),
        system: request.system.clone(),
        tools: request.tools.clone(),
        messages: Vec::new(),
        thinking: request.thinking,
        response_schema: None,
        max_output_tokens: None,
    }
}

/// The index of the last answer; its results follow it.
fn last_answer(history: &[Message]) -> usize {
    history.iter().rposition(|message| message.role == Role::Model).unwrap_or(history.len())
}

/// The indices before which a conversation may end, because no call before them lacks its result.
fn step_ends(history: &[Message]) -> impl DoubleEndedIterator<Item = usize> {
    (1..=history.len()).filter(|end| {
        history.get(*end).is_none_or(|next| next.role != Role::Tool)
            && (history[*end - 1].role != Role::Model || history[*end - 1].tool_calls().next().is_none())
    })
}

/// A percentage of a number of tokens.
fn percent_of(tokens: u64, hundredths: u64) -> u64 {
    u64::try_from(u128::from(tokens) * u128::from(hundredths) / 100).unwrap_or(u64::MAX)
}
