//! Runs every setting and writes a report of the results.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use headstart_budget::policy::Mode;
use headstart_forked_query::Usage;

use crate::inputs::{GROUPS, Group, SESSIONS, SESSIONS_OF_A_DAY, TURNS_OF_A_SESSION};
use crate::script::Script;
use crate::world::{Scenario, Tally, price, simulate};

const SEED: u64 = 1;
const TEXT: &str = "simulation.md";
const AUTO: Scenario = Scenario { mode: Mode::Auto, limit: 1.0, hour_is_worth: 30.0 };

/// The rows of each table, with their names.
const ROWS: [(&str, Scenario); 5] = [
    ("nothing ahead", Scenario { mode: Mode::Off, ..AUTO }),
    ("as it is set", AUTO),
    ("an hour is worth $3", Scenario { hour_is_worth: 3.0, ..AUTO }),
    ("`limit` is $5 a day", Scenario { limit: 5.0, ..AUTO }),
    ("`always`, `limit` is $20 a day", Scenario { mode: Mode::Always, limit: 20.0, ..AUTO }),
];

/// Writes the report.
pub(crate) fn write(docs: &Path) -> Result<(), String> {
    let path = docs.join(TEXT);
    fs::write(&path, text()).map_err(|error| format!("{}: {error}", path.display()))
}

/// Checks that the file is the same as the one that would be written now.
pub(crate) fn check(docs: &Path) -> Result<(), String> {
    let path = docs.join(TEXT);
    let found = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    if found == text() {
        Ok(())
    } else {
        Err(format!("{TEXT} is not what the engine does now; run `cargo xtask simulate`"))
    }
}

fn text() -> String {
    let mut told = String::new();
    let mut tables = String::new();
    for group in &GROUPS {
        let (made, right) = group.totals();
        let script = Arc::new(Script::new(SEED, group, SESSIONS * TURNS_OF_A_SESSION));
        let rows = ROWS.map(|(name, scenario)| {
            eprintln!("simulating {}: {name}", group.name);
            (name, simulate(&script, scenario))
        });
        let (without, with) = (&rows[0].1, &rows[1].1);
        let _ = writeln!(told, "{}", in_short(group, without, with));
        let _ = writeln!(
            tables,
            "\n### {}: a guess was made for {made} turns, and right in {right}\n",
            group.name
        );
        tables.push_str(
            "| | guesses shown | ran ahead | taken | of these still at work | wait of a turn | saved a turn | own turns cost | lost | lost a minute saved |\n\
             |---|---|---|---|---|---|---|---|---|---|\n",
        );
        for (name, tally) in &rows {
            tables.push_str(&row(name, tally, without));
        }
    }
    let days = SESSIONS / SESSIONS_OF_A_DAY;
    include_str!("report/page.md")
        .replace("IN_SHORT", &told)
        .replace("TABLES\n", &tables)
        .replace("TURNS", &(SESSIONS * TURNS_OF_A_SESSION).to_string())
        .replace("DAYS", &days.to_string())
}

/// What a user of the group saves and pays by default.
fn in_short(group: &Group, without: &Tally, with: &Tally) -> String {
    let saved = mean(&without.waits) - mean(&with.waits);
    format!(
        "- {}: **{:.0} s of waiting saved a turn** ({:.0} % of all waiting), **for ${:.3} a turn** ({:.0} % of what the turns cost).",
        group.name,
        saved,
        100.0 * saved / mean(&without.waits),
        dollars(with.wasted) / count(with.waits.len()),
        100.0 * dollars(with.wasted) / dollars(with.own),
    )
}

fn row(name: &str, tally: &Tally, without: &Tally) -> String {
    let turns = tally.waits.len();
    let saved = mean(&without.waits) - mean(&tally.waits);
    let minutes = saved * count(turns) / 60.0;
    let each =
        if minutes < 1.0 { "–".to_owned() } else { format!("${:.3}", dollars(tally.wasted) / minutes) };
    format!(
        "| {name} | {} | {} | {} | {} | {:.0} s | {saved:.0} s | ${:.2} | ${:.2} | {each} |\n",
        tally.shown,
        tally.ran,
        tally.taken,
        tally.joined,
        mean(&tally.waits),
        dollars(tally.own),
        dollars(tally.wasted),
    )
}

fn dollars(usage: Usage) -> f64 {
    price().of(usage).units()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / count(values.len().max(1))
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(mode: Mode) -> Tally {
        let script = Arc::new(Script::new(7, &GROUPS[1], 2 * TURNS_OF_A_SESSION));
        simulate(&script, Scenario { mode, ..AUTO })
    }

    #[test]
    fn the_same_seed_is_the_same_life() {
        assert_eq!(tally(Mode::Auto), tally(Mode::Auto));
    }

    #[test]
    fn who_does_nothing_ahead_waits_for_everything_and_wastes_nothing() {
        let (without, always) = (tally(Mode::Off), tally(Mode::Always));
        assert_eq!(without.wasted, Usage::default());
        assert!(0 < always.taken, "{always:?}");
        let pairs = || without.waits.iter().zip(&always.waits);
        assert!(pairs().all(|(without, always)| *always <= without + 0.001), "{without:?} {always:?}");
        assert!(pairs().filter(|(without, always)| **always + 0.001 < **without).count() <= always.taken);
        let ratio = dollars(always.own) / dollars(without.own);
        assert!((0.8..=1.05).contains(&ratio), "the work itself costs the same: {ratio}");
    }
}
