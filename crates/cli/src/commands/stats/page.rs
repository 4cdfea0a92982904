use std::fmt::Write;

use headstart_budget::ledger::{Bill, Figures};
use headstart_budget::policy::Mode;
use headstart_forked_query::Money;
use headstart_machine::config::background_name;
use headstart_machine::conversation::costs::WHEN_SUGGESTED;
use headstart_machine::output::{self, PageLayout, grouped, percent, seconds, table};
use unicode_width::UnicodeWidthStr;

use super::{StatisticsReport, is_free, outcomes, whole};

/// The number of days in the chart.
const DAYS: usize = 14;
/// The width of the chart if the output is not a terminal.
const CHART_WIDTH: usize = 80;
/// From so many suggestions in a row on that were not taken, that is worth a line.
const QUIET_ROW: u32 = 5;

/// The report for a person.
pub(super) fn page(report: &StatisticsReport, layout: PageLayout) -> String {
    let mut sections = vec![format!("{}\n", layout.style.bold(&output::one_line(&report.workspace)))];
    let statistics = &report.statistics;
    if report.book.entries.is_empty() {
        sections.push("nothing was done ahead in this project yet\n".to_owned());
    } else {
        sections.push(summary(&statistics.total));
        sections.push(models(report, layout));
        sections.push(days(report, layout));
    }
    sections.push(policy(report, layout));
    sections.extend(hooks(report));
    layout.fit(&sections.join("\n"))
}

fn summary(total: &Figures) -> String {
    let mut rows = Vec::new();
    let mut row = |name: &str, text: String| rows.push(format!("{name:<10}{text}"));
    let by =
        |count: u64, how: &str| if count == 0 { String::new() } else { format!(", {count} of them {how}") };
    row(
        "suggested",
        format!(
            "{} asked for, {} shown, {} taken{}{}",
            total.suggestions,
            total.shown,
            total.taken,
            by(total.typed, "typed"),
            by(total.extended, "with more")
        ),
    );
    let held =
        total.held.iter().map(|(code, count)| format!("{count} {code}")).collect::<Vec<_>>().join(", ");
    if !held.is_empty() {
        row("held back", held);
    }
    let rate = total.hit_rate().map_or("none yet".to_owned(), percent);
    row("hit rate", format!("{rate}  ({} of {} prompts that ran ahead)", total.hits(), total.decided()));
    if !total.outcomes.is_empty() {
        row("", outcomes(total));
    }
    let each =
        total.seconds_saved_per_hit().map(|each| format!(", {each:.1} s for each hit")).unwrap_or_default();
    row("saved", format!("{} of waiting{each}", seconds(total.saved_ms)));
    let tokens = total.tokens;
    row(
        "spent",
        format!(
            "{} tokens read ({} of them cached), {} written{}",
            grouped(tokens.input_tokens),
            grouped(tokens.cached_input_tokens),
            grouped(tokens.output_tokens),
            money(total.money)
        ),
    );
    let each = total.tokens_wasted_per_second_saved();
    let each =
        each.map(|each| format!(", {} for each second saved", grouped(whole(each)))).unwrap_or_default();
    row("wasted", format!("{} tokens{each}{}", grouped(total.wasted_tokens), money(total.wasted_money)));
    if let Some(share) = total.lost_share() {
        let lost = grouped(whole(total.lost));
        row("", format!("{:.1} % of what your own turns cost: as {lost} input tokens", share * 100.0));
    }
    if total.unmeasured != 0 {
        row(
            "",
            format!(
                "what {} more requests cost is not known: dropped half-way, or the server does not say",
                total.unmeasured
            ),
        );
    }
    row(
        "your own",
        format!(
            "{} tokens in {} {} and in hits",
            grouped(total.own_tokens),
            grouped(total.turns),
            if total.turns == 1 { "turn" } else { "turns" }
        ),
    );
    rows.join("\n") + "\n"
}

fn models(report: &StatisticsReport, layout: PageLayout) -> String {
    let head = ["MODEL", "RAN", "HITS", "SAVED", "WASTED", "MONEY", "CACHE"].map(str::to_owned);
    let by_model = report
        .statistics
        .by_model
        .iter()
        .filter(|(_, figures)| figures.speculations + figures.suggestions != 0);
    let rows: Vec<_> = by_model
        .map(|(model, figures)| {
            let shared = !report.statistics.without_shared_cache.contains(model);
            [
                output::one_line(model),
                figures.speculations.to_string(),
                figures.hits().to_string(),
                seconds(figures.saved_ms),
                grouped(figures.wasted_tokens),
                if is_free(figures) { "free".to_owned() } else { dollars(figures.wasted_money) },
                if shared { "shared" } else { "not shared" }.to_owned(),
            ]
        })
        .collect();
    table(&head, &rows, layout)
}

/// One bar per day for the seconds saved. A day without any has no bar.
fn days(report: &StatisticsReport, layout: PageLayout) -> String {
    let by_day = &report.statistics.by_day;
    let shown: Vec<_> = by_day.iter().skip(by_day.len().saturating_sub(DAYS)).collect();
    let most = shown.iter().map(|(_, figures)| figures.saved_ms).max().unwrap_or_default().max(1_000);
    let mut text = layout.style.dim("DAY         SAVED") + "\n";
    for (day, figures) in shown {
        let told = format!(
            " {}, {} of {} hit, {} wasted",
            seconds(figures.saved_ms),
            figures.hits(),
            figures.decided(),
            grouped(figures.wasted_tokens)
        );
        let room = layout.width.unwrap_or(CHART_WIDTH).saturating_sub(12 + told.width()).min(40);
        let room = u64::try_from(room).unwrap_or_default();
        // What is told as 0.0 s has no bar.
        let full = if figures.saved_ms < 50 { 0 } else { (room * figures.saved_ms).div_ceil(most) };
        let bar = "#".repeat(usize::try_from(full).unwrap_or_default());
        writeln!(text, "{day}  {}{told}", layout.style.green(&bar))
            .expect("works because writing to a String cannot fail");
    }
    text
}

/// What background work would do now, and why.
fn policy(report: &StatisticsReport, layout: PageLayout) -> String {
    let mode = background_name(report.policy.mode);
    let mut text = match report.asks {
        Ok(()) => format!("background work is on {mode}: {WHEN_SUGGESTED}\n"),
        Err(hold) => format!("background work is on {mode}: no suggestion now, for {hold}\n"),
    };
    if report.policy.mode == Mode::Off {
        return "background work is off\n".to_owned();
    }
    let experience = &report.experience;
    let habits = experience.habits();
    let mut rows = Vec::new();
    if let Some(left) = report.left_today {
        let limit = report.policy.limit;
        rows.push(format!(
            "${left:.2} of ${limit} a day are left for questions and for work that you do not take"
        ));
    }
    let (pause, saves) = (habits.pause_seconds(), experience.saves_seconds());
    let most = if habits.has_pauses() {
        format!("your pause of {pause:.0} s")
    } else {
        format!("a pause ({pause:.0} s until yours are known)")
    };
    rows.push(if pause < saves {
        format!("work that you take is expected to save {saves:.0} s, the time of typing its prompt")
    } else {
        format!(
            "work that you take is expected to save {saves:.0} s: as long as it takes, and at most {most}"
        )
    });
    if QUIET_ROW <= habits.row {
        rows.push(format!("over all projects, the last {} suggestions were not taken", habits.row));
    }
    rows.extend(report.runs.err().map(|hold| format!("nothing runs ahead now, for {hold}")));
    text += &rows.join("\n");
    text + "\n" + &bands(report, layout) + &kinds(report, layout)
}

/// What hooks answered to other products.
fn hooks(report: &StatisticsReport) -> Option<String> {
    let unasked = &report.unasked;
    let by_host: Vec<_> =
        unasked.by_host.iter().map(|(host, count)| format!("{host} {}", grouped(*count))).collect();
    let questions = if unasked.today == 1 { "question" } else { "questions" };
    (unasked.week != 0).then(|| {
        format!(
            "hooks of other products, in all projects: {} {questions} not asked today, {} in the last seven days ({})\n",
            grouped(unasked.today),
            grouped(unasked.week),
            by_host.join(", ")
        )
    })
}

/// What models said of their guesses, and what came true.
fn bands(report: &StatisticsReport, layout: PageLayout) -> String {
    let head = ["SURE", "SHOWN", "CAME TRUE", "COUNTS AS"].map(str::to_owned);
    let rows: Vec<_> = report
        .bands()
        .map(|(band, shown, taken)| {
            let (from, below) = band.bounds();
            let said =
                below.map_or_else(|| format!("{from} % and more"), |below| format!("{from} to {below} %"));
            let chance = percent(report.experience.chance(Some(from)));
            [said, shown.to_string(), taken.to_string(), chance]
        })
        .collect();
    if rows.is_empty() { String::new() } else { "\n".to_owned() + &table(&head, &rows, layout) }
}

fn kinds(report: &StatisticsReport, layout: PageLayout) -> String {
    let by_kind = &report.statistics.by_kind;
    if by_kind.is_empty() {
        return String::new();
    }
    let head = ["KIND", "SHOWN", "TAKEN", ""].map(str::to_owned);
    let rows: Vec<_> = by_kind
        .iter()
        .map(|(kind, of)| [kind.name().to_owned(), of.shown.to_string(), of.taken.to_string(), String::new()])
        .collect();
    "\n".to_owned() + &table(&head, &rows, layout)
}

fn money(bill: Bill) -> String {
    match bill.amount() {
        Some(Money::ZERO) => String::new(),
        Some(amount) => format!(", ${amount}"),
        None => ", price unknown".to_owned(),
    }
}

fn dollars(bill: Bill) -> String {
    bill.amount().map_or_else(|| "unknown".to_owned(), |amount| format!("${amount}"))
}
