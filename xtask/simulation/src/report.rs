//! Runs every setting and writes a report of the results.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use headstart_budget::policy::{Mode, Tariff};
use headstart_forked_query::Prices;
use headstart_forked_query::Usage;

use crate::chart::{self, Line, Panel};
use crate::inputs::{self, SESSIONS, TRACE, TURNS_OF_A_SESSION};
use crate::script::Script;
use crate::world::{Scenario, Strategy, Tally, simulate};

const SEED: u64 = 1;
/// The simulated hit rates, beginning with a user who never takes a suggestion.
const HIT_RATES: [f64; 6] = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9];
/// Dollars for a million input tokens, for the sums beside the percentages.
const PRICE: f64 = 3.0;
const MODES: [Mode; 2] = [Mode::Auto, Mode::Always];
const STRATEGIES: [Strategy; 3] = [Strategy::Finished, Strategy::Joining, Strategy::TwoSteps];
const TEXT: &str = "simulation.md";
const CHART: &str = "simulation.svg";

/// A setting and its result.
struct Row {
    scenario: Scenario,
    tally: Tally,
}

/// Writes the report and its chart.
pub(crate) fn write(docs: &Path) -> Result<(), String> {
    for (name, content) in make()? {
        let path = docs.join(name);
        fs::write(&path, content).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// Checks that the files are the same as those that would be written now.
pub(crate) fn check(docs: &Path) -> Result<(), String> {
    for (name, content) in make()? {
        let path = docs.join(name);
        let found = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        if found != content {
            return Err(format!("{name} is not what the engine does now; run `cargo xtask simulate`"));
        }
    }
    Ok(())
}

fn make() -> Result<[(&'static str, String); 2], String> {
    let script = Arc::new(Script::new(SEED, SESSIONS * TURNS_OF_A_SESSION));
    let run = |strategy, mode, hit_rate| {
        let scenario = Scenario { strategy, mode, hit_rate };
        eprintln!("simulating {strategy:?}, {mode:?}, {:.0} %", hit_rate * 100.0);
        Row { scenario, tally: simulate(&script, scenario) }
    };
    let without = run(Strategy::Without, Mode::Off, 0.0);
    let mut rows = Vec::new();
    for mode in MODES {
        for hit_rate in HIT_RATES {
            rows.extend(STRATEGIES.map(|strategy| run(strategy, mode, hit_rate)));
        }
    }
    accept(&rows)?;
    Ok([(TEXT, text(&without, &rows)), (CHART, picture(&without, &rows))])
}

/// Checks what the default policy promises. A page that shows less is not written.
fn accept(rows: &[Row]) -> Result<(), String> {
    // The hit rate, the least parts that are shown and run, and the greatest part that is lost.
    let promises =
        [(0.1, 0.0, 0.0, 0.04), (0.3, 0.7, 0.4, 0.12), (0.5, 0.8, 0.8, 0.15), (0.7, 0.8, 0.85, 0.13)];
    for (hit_rate, shown, ran, lost) in promises {
        let is_checked = |row: &&Row| {
            let Scenario { strategy, mode, hit_rate: found } = row.scenario;
            strategy == Strategy::Joining && mode == Mode::Auto && (found - hit_rate).abs() < 1e-9
        };
        let row = rows.iter().find(is_checked).ok_or("a row is missing")?;
        if row.shown() < shown || row.ran() < ran || lost < row.share() {
            let found = [row.shown(), row.ran(), row.share()].map(|part| format!("{:.1} %", 100.0 * part));
            return Err(format!("at {hit_rate}: shown, run, lost are {}", found.join(", ")));
        }
    }
    Ok(())
}

fn name(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Without => "without",
        Strategy::Finished => "finished work only",
        Strategy::Joining => "joining",
        Strategy::TwoSteps => "two steps ahead",
    }
}

fn color(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Without => "#777777",
        Strategy::Finished => "#d95f02",
        Strategy::Joining => "#1f6fb4",
        Strategy::TwoSteps => "#1b9e77",
    }
}

fn mode_name(mode: Mode) -> &'static str {
    if mode == Mode::Always { "always" } else { "auto" }
}

impl Row {
    fn mean_wait(&self) -> f64 {
        mean(&self.tally.waits)
    }

    /// The mean wait of those turns that take less than a minute without work ahead.
    fn short_wait(&self, without: &Self) -> f64 {
        let waits = self.tally.waits.iter().zip(&without.tally.waits);
        let short: Vec<f64> = waits.filter(|(_, without)| **without < 60.0).map(|(wait, _)| *wait).collect();
        mean(&short)
    }

    /// The wait that this part of the turns does not exceed.
    fn wait_at(&self, part: f64) -> f64 {
        let mut waits = self.tally.waits.clone();
        waits.sort_by(f64::total_cmp);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a place in a list"
        )]
        let place = (part * (waits.len() - 1) as f64) as usize;
        waits.get(place).copied().unwrap_or_default()
    }

    /// The part of the turns for which the user waits less than a second.
    fn instant(&self) -> f64 {
        let instant = self.tally.waits.iter().filter(|wait| **wait < 1.0).count();
        part(instant, self.tally.waits.len())
    }

    /// The part of the turns before which a suggestion was shown. The first turn of each session does not count.
    fn shown(&self) -> f64 {
        part(self.tally.suggested, SESSIONS * (TURNS_OF_A_SESSION - 1))
    }

    /// The part of these turns before which a suggestion ran ahead.
    fn ran(&self) -> f64 {
        part(self.tally.ran, SESSIONS * (TURNS_OF_A_SESSION - 1))
    }

    fn wasted(&self) -> f64 {
        weigh(self.tally.wasted)
    }

    /// The cost of work that was not used, as a part of what the user's own turns cost.
    fn share(&self) -> f64 {
        self.wasted() / weigh(self.tally.own)
    }
}

/// The cost in input tokens: a token from the cache counts a tenth, a written one counts four.
fn weigh(tokens: Usage) -> f64 {
    Tariff::new("simulated", Prices::default()).weigh("simulated", tokens)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / f64::from(u32::try_from(values.len().max(1)).unwrap_or(u32::MAX))
}

fn part(some: usize, all: usize) -> f64 {
    let float = |count| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    float(some) / float(all.max(1))
}

/// The value of a row that a panel shows.
type Measure<'a> = &'a dyn Fn(&Row) -> f64;

fn picture(without: &Row, rows: &[Row]) -> String {
    let short = |row: &Row| row.short_wait(without);
    let instant = |row: &Row| 100.0 * row.instant();
    let share = |row: &Row| 100.0 * row.share();
    let measures: [(&str, &'static str, Measure<'_>); 3] = [
        ("mean wait, turns of under a minute", "s", &short),
        ("turns with a wait of under a second", "%", &instant),
        ("spent for nothing, of what turns cost", "%", &share),
    ];
    let mut panels = Vec::new();
    for (title, unit, measure) in measures {
        let most = chart::top(rows.iter().chain([without]).map(measure));
        for mode in MODES {
            let level = measure(without);
            let mut lines = vec![Line {
                name: name(Strategy::Without),
                color: color(Strategy::Without),
                dashed: true,
                points: vec![(0.1, level), (0.9, level)],
            }];
            lines.extend(STRATEGIES.map(|strategy| {
                Line {
                    name: name(strategy),
                    color: color(strategy),
                    dashed: false,
                    points: rows
                        .iter()
                        .filter(|row| {
                            row.scenario.strategy == strategy
                                && row.scenario.mode == mode
                                && 0.0 < row.scenario.hit_rate
                        })
                        .map(|row| (row.scenario.hit_rate, measure(row)))
                        .collect(),
                }
            }));
            panels.push(Panel { title: format!("{}: {title}", mode_name(mode)), unit, most, lines });
        }
    }
    chart::draw(&panels)
}

/// The part of all waiting that falls to the tenth of the turns with the longest waits.
fn in_the_longest_tenth(waits: &[f64]) -> f64 {
    let mut waits = waits.to_vec();
    waits.sort_by(|one, other| other.total_cmp(one));
    let longest: f64 = waits.iter().take(waits.len() / 10).sum();
    longest / waits.iter().sum::<f64>()
}

fn text(without: &Row, rows: &[Row]) -> String {
    let longest = format!("{:.0}", 100.0 * in_the_longest_tenth(&without.tally.waits));
    let mut text = include_str!("report/head.md").replace("LONGEST", &longest);
    for mode in MODES {
        let _ = writeln!(text, "\n### Policy `{}`\n", mode_name(mode));
        text.push_str(
            "| hit rate | way | shown | run ahead | taken | joined | mean wait | of turns under a minute | under 1 s | saved a turn | lost | of the own turns' cost |\n\
             |---|---|---|---|---|---|---|---|---|---|---|---|\n",
        );
        row(&mut text, without, without);
        for found in rows.iter().filter(|row| row.scenario.mode == mode) {
            row(&mut text, found, without);
        }
    }
    text.push_str(include_str!("report/inputs.md"));
    text.push_str("\n| input | 10 % | 50 % | 90 % | mean | source |\n|---|---|---|---|---|---|\n");
    for input in inputs::ALL {
        let at = |part| amount(input.quantiles.at(part), input.unit);
        let source = if input.source == TRACE { "the trace" } else { input.source };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {source} |",
            input.name,
            at(0.1),
            at(0.5),
            at(0.9),
            amount(input.quantiles.mean(), input.unit),
        );
    }
    let _ = writeln!(
        text,
        "\nA turn without work ahead takes {:.0} s at the median, {:.0} s at 90 % and {:.0} s in the mean; in the trace 38 s, 384 s and \
         258 s.",
        without.wait_at(0.5),
        without.wait_at(0.9),
        without.mean_wait(),
    );
    text.push_str(include_str!("report/limits.md"));
    text
}

fn row(text: &mut String, row: &Row, without: &Row) {
    let Tally { taken, joined, .. } = &row.tally;
    let hit_rate = match row.scenario.strategy {
        Strategy::Without => String::new(),
        _ => format!("{:.0} %", 100.0 * row.scenario.hit_rate),
    };
    let money = |tokens: f64| tokens * PRICE / 1e6;
    let _ = writeln!(
        text,
        "| {hit_rate} | {} | {:.0} % | {:.0} % | {taken} | {joined} | {:.1} s | {:.1} s | {:.0} % | {:.1} s | ${:.2} | {:.1} % of ${:.2} |",
        name(row.scenario.strategy),
        100.0 * row.shown(),
        100.0 * row.ran(),
        row.mean_wait(),
        row.short_wait(without),
        100.0 * row.instant(),
        without.mean_wait() - row.mean_wait(),
        money(row.wasted()),
        100.0 * row.share(),
        money(weigh(row.tally.own)),
    );
}

fn amount(value: f64, unit: &str) -> String {
    let number = if value < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") };
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(strategy: Strategy, hit_rate: f64) -> Tally {
        let script = Arc::new(Script::new(7, 2 * TURNS_OF_A_SESSION));
        simulate(&script, Scenario { strategy, mode: Mode::Always, hit_rate })
    }

    #[test]
    fn the_same_seed_is_the_same_life() {
        assert_eq!(tally(Strategy::Joining, 0.5), tally(Strategy::Joining, 0.5));
    }

    #[test]
    fn who_does_nothing_ahead_waits_for_everything_and_wastes_nothing() {
        let without = tally(Strategy::Without, 0.9);
        assert_eq!(without.wasted, Usage::default());
        assert!(without.waits.iter().all(|wait| 0.9 < *wait), "{:?}", without.waits);
        let joining = tally(Strategy::Joining, 1.0);
        // Nothing is taken after the first turns of a session, because they tell too little.
        assert!(TURNS_OF_A_SESSION < joining.taken, "{joining:?}");
        let pairs = || without.waits.iter().zip(&joining.waits);
        assert!(pairs().all(|(without, joining)| joining <= without));
        assert!(pairs().filter(|(without, joining)| joining < without).count() == joining.taken);
        // A turn that ran ahead sends less of a long conversation.
        let ratio = weigh(joining.own) / weigh(without.own);
        assert!((0.9..=1.0).contains(&ratio), "the work itself costs the same: {ratio}");
    }

    #[test]
    fn joining_waits_no_longer_than_beginning_anew() {
        let (finished, joining) = (tally(Strategy::Finished, 0.8), tally(Strategy::Joining, 0.8));
        assert!(mean(&joining.waits) < mean(&finished.waits));
        let two = tally(Strategy::TwoSteps, 0.8);
        assert!(mean(&two.waits) < mean(&joining.waits), "two steps have more time");
        assert!(
            weigh(joining.wasted) < weigh(two.wasted),
            "and cost more where the user does something else"
        );
    }
}
