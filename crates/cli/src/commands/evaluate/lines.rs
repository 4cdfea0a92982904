use headstart_budget::ledger::Kind;
use headstart_budget::policy::Tariff;
use headstart_followup_state::Suggestion;
use headstart_forked_query::{Money, Usage};
use headstart_machine::error::CliError;
use headstart_machine::output::print_json;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

use super::{EvaluationPlan, PlanCost};
use crate::evaluate::{EvaluationReport, EvaluationTotals, Match, Product, SessionScan};

/// The lines with `--json`, in this order.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum EvaluationLine<'a> {
    File {
        file: &'a Path,
        product: Product,
    },
    Skipped {
        file: &'a Path,
        reason: &'a str,
    },
    Damaged {
        file: &'a Path,
        line: usize,
        message: &'a str,
    },
    /// What was found in the files, and what is about to be asked.
    Found {
        files: usize,
        prompts: usize,
        after_a_turn: usize,
    },
    Plan {
        requests: usize,
        too_early: usize,
        model: &'a str,
        candidates: usize,
        most_input_tokens: u64,
        most_output_tokens: u64,
        /// `null` if the price is unknown.
        most_money: Option<Money>,
    },
    Prompt {
        file: &'a Path,
        place: usize,
        at: Option<u64>,
        kind: Kind,
        #[serde(rename = "match")]
        best: Match,
        candidate: Option<usize>,
        suppressed: Option<&'a str>,
        waited_ms: Option<u64>,
        turn_ms: Option<u64>,
        ahead_ms: Option<u64>,
        took_ms: u64,
        #[serde(flatten)]
        usage: Usage,
        #[serde(skip_serializing_if = "Option::is_none")]
        typed: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        suggestions: Option<&'a [Suggestion]>,
    },
    Kind {
        kind: Kind,
        #[serde(flatten)]
        figures: Figures<'a>,
    },
    Total {
        failed: usize,
        #[serde(flatten)]
        figures: Figures<'a>,
    },
}

/// The figures of several prompts.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Figures<'a> {
    prompts: u64,
    shown: u64,
    exact: u64,
    same: u64,
    start: u64,
    words: u64,
    hit_rate: Option<f64>,
    hit_rate_at_most: Option<f64>,
    saved_ms: u64,
    saved_at_most_ms: u64,
    turns_ms: u64,
    timed: u64,
    suppressed: &'a BTreeMap<&'static str, u64>,
    asking: RequestCost,
    asking_in_chat: RequestCost,
    runs_in_vain: u64,
    runs_in_vain_known: u64,
    in_vain: RequestCost,
}

/// Tokens and their cost.
#[derive(Serialize)]
struct RequestCost {
    #[serde(flatten)]
    usage: Usage,
    money: Option<Money>,
}

impl RequestCost {
    fn of(usage: Usage, tariff: &Tariff) -> Self {
        Self { usage, money: PlanCost::of(usage, tariff).amount() }
    }
}

impl PlanCost {
    fn amount(self) -> Option<Money> {
        match self {
            Self::Free => Some(Money::ZERO),
            Self::Money(money) => Some(money),
            Self::Unknown => None,
        }
    }
}

pub(super) fn print_scan(scan: &SessionScan) -> Result<(), CliError> {
    for file in &scan.files {
        print_json(&EvaluationLine::File { file: &file.path, product: file.product })?;
    }
    for skipped in &scan.skipped {
        print_json(&EvaluationLine::Skipped { file: &skipped.path, reason: &skipped.reason })?;
    }
    for damaged in &scan.damaged {
        print_json(&EvaluationLine::Damaged {
            file: &damaged.path,
            line: damaged.line,
            message: &damaged.problem,
        })?;
    }
    print_json(&EvaluationLine::Found {
        files: scan.files.len(),
        prompts: scan.sent,
        after_a_turn: scan.prompts.len(),
    })
}

pub(super) fn plan(plan: &EvaluationPlan) -> Result<(), CliError> {
    print_json(&EvaluationLine::Plan {
        requests: plan.questions.len(),
        too_early: plan.too_young,
        model: &plan.model,
        candidates: plan.candidates,
        most_input_tokens: plan.most.input_tokens,
        most_output_tokens: plan.most.output_tokens,
        most_money: plan.cost.amount(),
    })
}

pub(super) fn report(
    report: &EvaluationReport,
    scan: &SessionScan,
    tariff: &Tariff,
    shows: bool,
) -> Result<(), CliError> {
    for answered in &report.answered {
        let prompt = &answered.question.prompt;
        let (best, candidate) = answered.best;
        print_json(&EvaluationLine::Prompt {
            file: scan.files.get(answered.question.file).map_or(Path::new(""), |file| &file.path),
            place: prompt.place,
            at: prompt.at,
            kind: answered.kind,
            best,
            candidate: (best != Match::None).then_some(candidate),
            suppressed: answered.suppressed,
            waited_ms: prompt.waited_ms,
            turn_ms: prompt.turn_ms,
            ahead_ms: answered.ahead_ms,
            took_ms: answered.took_ms,
            usage: answered.usage,
            typed: shows.then_some(&prompt.typed),
            suggestions: answered.suggestions.as_deref().filter(|_| shows),
        })?;
    }
    for (kind, sums) in &report.by_kind() {
        print_json(&EvaluationLine::Kind { kind: *kind, figures: figures(sums, tariff) })?;
    }
    print_json(&EvaluationLine::Total { failed: report.failed, figures: figures(&report.total(), tariff) })
}

fn figures<'a>(sums: &'a EvaluationTotals, tariff: &Tariff) -> Figures<'a> {
    let rate = |least| sums.share(sums.at_least(least)).map(|share| (share * 1_000.0).round() / 1_000.0);
    Figures {
        prompts: sums.prompts,
        shown: sums.shown,
        exact: sums.of(Match::Exact),
        same: sums.of(Match::Same),
        start: sums.of(Match::Start),
        words: sums.of(Match::Words),
        hit_rate: rate(Match::Same),
        hit_rate_at_most: rate(Match::Words),
        saved_ms: sums.saved_ms,
        saved_at_most_ms: sums.saved_at_most_ms,
        turns_ms: sums.turns_ms,
        timed: sums.timed,
        suppressed: &sums.suppressed,
        asking: RequestCost::of(sums.usage, tariff),
        asking_in_chat: RequestCost::of(sums.in_chat, tariff),
        runs_in_vain: sums.in_vain_runs,
        runs_in_vain_known: sums.in_vain_known,
        in_vain: RequestCost::of(sums.in_vain, tariff),
    }
}
