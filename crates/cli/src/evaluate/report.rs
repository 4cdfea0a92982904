use std::collections::BTreeMap;

use headstart_budget::ledger::Kind;
use headstart_followup_state::Suggestions;
use headstart_forked_query::{BackgroundModel, Usage};

use super::measure::Match;
use super::query::{EvaluationQuery, QueryResult};

/// A question and its answer.
#[derive(Debug)]
pub(crate) struct EvaluatedPrompt {
    pub(crate) question: EvaluationQuery,
    pub(crate) kind: Kind,
    /// The suggestions that would have been shown.
    pub(crate) suggestions: Option<Suggestions>,
    /// The code of the reason why no suggestion would have been shown.
    pub(crate) suppressed: Option<&'static str>,
    /// How close the closest suggestion is, and its index.
    pub(crate) best: (Match, usize),
    pub(crate) usage: Usage,
    pub(crate) in_chat: Usage,
    pub(crate) took_ms: u64,
    /// How much of the turn would have been over when the prompt was sent if the suggestion had run ahead; `None` if
    /// the file does not say.
    pub(crate) ahead_ms: Option<u64>,
}

/// The totals of several questions.
#[derive(Debug, Clone, Default)]
pub(crate) struct EvaluationTotals {
    pub(crate) prompts: u64,
    /// How many prompts had a suggestion that would have been shown.
    pub(crate) shown: u64,
    pub(crate) matches: BTreeMap<Match, u64>,
    /// The time saved in turns whose prompt was suggested exactly, and the time saved if similar suggestions count too:
    /// those that begin with the prompt or ask for the same.
    pub(crate) saved_ms: u64,
    pub(crate) saved_at_most_ms: u64,
    /// How long all turns took, and for how many of them the time that would have been over is known.
    pub(crate) turns_ms: u64,
    pub(crate) timed: u64,
    pub(crate) usage: Usage,
    pub(crate) in_chat: Usage,
    /// What turns cost whose prompts were not suggested although another suggestion was shown. This stands for the cost
    /// of a run for nothing. The number of turns for which it is known follows.
    pub(crate) in_vain: Usage,
    pub(crate) in_vain_known: u64,
    pub(crate) in_vain_runs: u64,
    /// How often no suggestion would have been shown, by the code of the reason.
    pub(crate) suppressed: BTreeMap<&'static str, u64>,
}

/// All answers, and what failed.
#[derive(Debug, Default)]
pub(crate) struct EvaluationReport {
    pub(crate) answered: Vec<EvaluatedPrompt>,
    /// The number of questions that got no answer, and what they cost nevertheless.
    pub(crate) failed: usize,
    pub(crate) failed_usage: Usage,
}

impl EvaluatedPrompt {
    pub(crate) fn new(question: EvaluationQuery, result: &QueryResult, background: &BackgroundModel) -> Self {
        let prompt = &question.prompt;
        let (suggestions, suppressed) = match &result.answer {
            Ok(generated) => (Some(generated.suggestions.clone()), None),
            Err(suppressed) => (None, Some(suppressed.reason.as_str())),
        };
        let matches = suggestions.iter().flat_map(|all| all.iter()).enumerate();
        let matches = matches.map(|(number, suggestion)| (Match::of(suggestion, &prompt.typed), number));
        // Of two suggestions that are equally close, the first one counts, because it is the one that is shown.
        let best = matches.fold((Match::None, 0), |best, next| if best.0 < next.0 { next } else { best });
        let run_for = prompt.waited_ms.map(|waited| waited.saturating_sub(result.took_ms));
        let usage = result.usage();
        Self {
            kind: Kind::of(&prompt.typed),
            ahead_ms: run_for.zip(prompt.turn_ms).map(|(run_for, turn)| run_for.min(turn)),
            in_chat: question.if_cached(background, usage),
            suggestions,
            suppressed,
            best,
            usage,
            took_ms: result.took_ms,
            question,
        }
    }
}

impl EvaluationReport {
    /// The totals for each kind of prompt.
    pub(crate) fn by_kind(&self) -> BTreeMap<Kind, EvaluationTotals> {
        self.answered.iter().fold(BTreeMap::new(), |mut kinds, answered| {
            kinds.entry(answered.kind).or_insert_with(EvaluationTotals::default).add(answered);
            kinds
        })
    }

    pub(crate) fn total(&self) -> EvaluationTotals {
        let mut total = EvaluationTotals::default();
        for answered in &self.answered {
            total.add(answered);
        }
        total
    }
}

impl EvaluationTotals {
    fn add(&mut self, answered: &EvaluatedPrompt) {
        let prompt = &answered.question.prompt;
        let (best, _) = answered.best;
        self.prompts += 1;
        self.shown += u64::from(answered.suggestions.is_some());
        *self.matches.entry(best).or_default() += 1;
        self.turns_ms += prompt.turn_ms.unwrap_or_default();
        self.timed += u64::from(answered.ahead_ms.is_some());
        let ahead = answered.ahead_ms.unwrap_or_default();
        self.saved_ms += if best.is_hit() { ahead } else { 0 };
        self.saved_at_most_ms += if best == Match::None { 0 } else { ahead };
        self.usage += answered.usage;
        self.in_chat += answered.in_chat;
        if let Some(code) = answered.suppressed {
            *self.suppressed.entry(code).or_default() += 1;
        }
        if answered.suggestions.is_some() && !best.is_hit() {
            self.in_vain_runs += 1;
            self.in_vain_known += u64::from(prompt.turn_usage.is_some());
            self.in_vain += prompt.turn_usage.unwrap_or_default();
        }
    }

    /// How many prompts had a suggestion that was at least this close.
    pub(crate) fn at_least(&self, least: Match) -> u64 {
        self.matches.range(least..).map(|(_, count)| count).sum()
    }

    pub(crate) fn of(&self, one: Match) -> u64 {
        self.matches.get(&one).copied().unwrap_or_default()
    }

    /// A number as a share of all prompts; `None` if there are no prompts.
    #[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
    pub(crate) fn share(&self, part: u64) -> Option<f64> {
        (self.prompts != 0).then(|| part as f64 / self.prompts as f64)
    }
}
