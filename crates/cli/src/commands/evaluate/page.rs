use std::fmt::Write as _;

use headstart_budget::ledger::Kind;
use headstart_budget::policy::Tariff;
use headstart_forked_query::{Money, Usage};
use headstart_machine::conversation::costs::duration_words;
use headstart_machine::conversation::words::counted;
use headstart_machine::output::{PageLayout, grouped, one_line, percent, shortened, table};

use super::{EvaluationPlan, PlanCost};
use crate::evaluate::{EvaluationReport, EvaluationTotals, Match, SessionScan};

/// The most unreadable files, and the most damaged lines, that are named.
const NAMED: usize = 5;
/// The most characters of a prompt that are shown.
const MAX_LENGTH: usize = 300;

/// What the files contain.
pub(super) fn scan_summary(scan: &SessionScan) -> String {
    let products: Vec<_> = scan
        .products()
        .into_iter()
        .map(|(product, files)| format!("{files} of {}", product.name()))
        .collect();
    let products = if products.is_empty() { String::new() } else { format!(" ({})", products.join(", ")) };
    format!(
        "{}{products}: {}, {} of them after a finished turn\n",
        counted(scan.files.len(), "session file"),
        counted(scan.sent, "prompt"),
        scan.prompts.len()
    )
}

/// The files and lines that cannot be read.
pub(super) fn troubles(scan: &SessionScan) -> Vec<String> {
    let skipped = scan.skipped.iter().map(|skipped| {
        format!("skipped: {}: {}", one_line(&skipped.path.display().to_string()), skipped.reason)
    });
    let damaged = scan.damaged.iter().map(|damaged| {
        let path = damaged.path.display().to_string();
        format!("left out: {}:{}: {}", one_line(&path), damaged.line, damaged.problem)
    });
    let first = |all: Vec<String>, noun: &str| {
        let more = all.len().saturating_sub(NAMED);
        let more = (0 < more).then(|| format!("and {} more; --json names all", counted(more, noun)));
        all.into_iter().take(NAMED).chain(more).collect::<Vec<_>>()
    };
    [first(skipped.collect(), "file"), first(damaged.collect(), "line")].concat()
}

/// The questions that are about to be asked, and their cost.
pub(super) fn plan(plan: &EvaluationPlan) -> String {
    let mut text = String::new();
    if plan.too_young != 0 {
        let _ = writeln!(
            text,
            "{} too early in a conversation for a suggestion",
            counted(plan.too_young, "prompt")
        );
    }
    if plan.questions.is_empty() {
        return text + "there is nothing to ask about\n";
    }
    let each = match plan.candidates {
        1 => String::new(),
        candidates => format!(", up to {candidates} suggestions each"),
    };
    let money = match plan.cost {
        PlanCost::Free => "which cost nothing".to_owned(),
        PlanCost::Money(money) => format!("at most about ${money}"),
        PlanCost::Unknown => "of a price that is not known".to_owned(),
    };
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{} to {}{each}:\nat most about {} tokens read and {} written, {money}",
        counted(plan.questions.len(), "request"),
        one_line(&plan.model),
        grouped(plan.most.input_tokens),
        grouped(plan.most.output_tokens),
    );
    text
}

/// The prompts and their suggestions. The suggestion that is nearest to the prompt is marked.
pub(super) fn result_page(report: &EvaluationReport) -> String {
    let mut text = String::new();
    for answered in &report.answered {
        let _ = writeln!(text, "> {}", shortened(&one_line(&answered.question.prompt.typed), MAX_LENGTH));
        let (best, nearest) = answered.best;
        for (number, suggestion) in answered.suggestions.iter().flat_map(|all| all.iter()).enumerate() {
            let mark = if number == nearest { word(best) } else { "" };
            let _ = writeln!(text, "  {mark:<5}  {}", one_line(suggestion.as_str()));
        }
        if let Some(code) = answered.suppressed {
            let _ = writeln!(text, "  nothing: {code}");
        }
    }
    text
}

/// The table of the kinds, and the totals.
pub(super) fn page(report: &EvaluationReport, tariff: &Tariff, layout: PageLayout) -> String {
    let total = report.total();
    let head =
        ["KIND", "PROMPTS", "SHOWN", "EXACT", "SAME", "START", "WORDS", "HITS", "SAVED"].map(str::to_owned);
    let kinds = report.by_kind();
    let mut rows: Vec<_> = kinds.iter().map(|(kind, sums)| row(kind_name(*kind), sums)).collect();
    if 1 < rows.len() {
        rows.push(row("all", &total));
    }
    let mut text = "\n".to_owned() + &table(&head, &rows, layout) + "\n";
    let mut line = |name: &str, what: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<9}{what}");
    };
    let hits = total.at_least(Match::Same);
    let at_most = total.at_least(Match::Words);
    let share = |part| total.share(part).map(percent).unwrap_or_default();
    line("hits", format!("{hits} of {} suggested as they were typed ({}),", total.prompts, share(hits)));
    line("", format!("{at_most} with those that began so or asked for the same ({})", share(at_most)));
    let nothing: Vec<_> = total.suppressed.iter().map(|(code, count)| format!("{count} {code}")).collect();
    if !nothing.is_empty() {
        line("no guess", nothing.join(", "));
    }
    line("saved", saved(&total));
    let requests = usize::try_from(total.prompts).unwrap_or(usize::MAX).saturating_add(report.failed);
    let mut asking = total.usage;
    asking += report.failed_usage;
    line("asking", format!("{}: {}", counted(requests, "request"), spent(asking, tariff)));
    if report.failed != 0 {
        line("", format!("{} failed", report.failed));
    }
    if total.in_chat != total.usage {
        line("", "in a chat, where the provider has the conversation in its cache:".to_owned());
        line("", spent(total.in_chat, tariff));
    }
    line("in vain", wasted_cost(&total, tariff));
    text
}

fn row(name: &str, sums: &EvaluationTotals) -> [String; 9] {
    let of = |one| sums.of(one).to_string();
    let rates = [Match::Same, Match::Words].map(|least| sums.share(sums.at_least(least)).unwrap_or_default());
    let hits = if rates[0] < rates[1] {
        format!("{:.0}–{}", rates[0] * 100.0, percent(rates[1]))
    } else {
        percent(rates[0])
    };
    let saved = match (sums.saved_ms / 1_000, sums.saved_at_most_ms / 1_000) {
        (least, most) if least == most => duration_words(least),
        (least, most) if most < 600 => format!("{least}–{most} s"),
        (least, most) => format!("{}–{} min", least / 60, most / 60),
    };
    [
        name.to_owned(),
        sums.prompts.to_string(),
        sums.shown.to_string(),
        of(Match::Exact),
        of(Match::Same),
        of(Match::Start),
        of(Match::Words),
        hits,
        saved,
    ]
}

fn saved(total: &EvaluationTotals) -> String {
    if total.timed == 0 {
        return "not known: these files have no times of turns".to_owned();
    }
    let most = match (total.saved_ms, total.saved_at_most_ms) {
        (least, most) if least == most => String::new(),
        (_, most) => format!(" to {}", duration_words(most / 1_000)),
    };
    let known =
        if total.timed == total.prompts { String::new() } else { format!("; known of {}", total.timed) };
    format!(
        "{}{most} of waiting; these turns took {}{known}",
        duration_words(total.saved_ms / 1_000),
        duration_words(total.turns_ms / 1_000)
    )
}

/// What the suggestions that were not taken would have cost if each had run ahead.
fn wasted_cost(total: &EvaluationTotals, tariff: &Tariff) -> String {
    let runs = total.in_vain_runs;
    if runs == 0 {
        return "nothing would have run for nothing".to_owned();
    }
    let runs_words = counted(usize::try_from(runs).unwrap_or(usize::MAX), "run");
    match total.in_vain_known {
        0 => format!(
            "{runs_words} for nothing, if every suggestion ran; at a cost that these files do not tell"
        ),
        known if known == runs => {
            format!(
                "{runs_words} for nothing, if every suggestion ran and cost as that turn did:\n         {}",
                spent(total.in_vain, tariff)
            )
        }
        known => format!(
            "{runs_words} for nothing, if every suggestion ran; the turns of {known} cost\n         {}",
            spent(total.in_vain, tariff)
        ),
    }
}

fn spent(usage: Usage, tariff: &Tariff) -> String {
    let money = match PlanCost::of(usage, tariff) {
        PlanCost::Money(Money::ZERO) | PlanCost::Free => String::new(),
        PlanCost::Money(money) => format!(", ${money}"),
        PlanCost::Unknown => ", price unknown".to_owned(),
    };
    #[expect(clippy::cast_precision_loss, reason = "shown in hundredths")]
    let cached = usage.cached_input_tokens as f64 / usage.input_tokens.max(1) as f64;
    let untold = match usage.untold_requests {
        0 => String::new(),
        untold => format!("; of {untold} the server does not say"),
    };
    format!(
        "{} tokens read ({} cached), {} written{money}{untold}",
        grouped(usage.input_tokens),
        percent(cached),
        grouped(usage.output_tokens)
    )
}

fn word(one: Match) -> &'static str {
    match one {
        Match::None => "",
        Match::Words => "words",
        Match::Start => "start",
        Match::Same => "same",
        Match::Exact => "exact",
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Verify => "run, test",
        Kind::Commit => "commit",
        Kind::Fix => "fix",
        Kind::Change => "change",
        Kind::Explain => "question",
        Kind::GoOn => "go on",
        _ => "other",
    }
}
