//! `headstart stats`: what was done ahead in a project, what it cost, and what it was good for.

mod page;

use headstart_speculation::ledger::{Book, Day, Figures, Kind, Outcome, Statistics};
use headstart_speculation::policy::{Experience, Hold, Policy, Tariff};
use serde::Serialize;

use crate::args::Stats;
use crate::config::{Flags, background_name};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::ledger::Ledger;
use crate::{clock, output, workspace};

/// With `--json`, one of these a line, in this order.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Line<'a> {
    Total {
        workspace: &'a str,
        #[serde(flatten)]
        figures: Shown<'a>,
    },
    Model {
        model: &'a str,
        shares_cache: bool,
        #[serde(flatten)]
        figures: Shown<'a>,
    },
    Day {
        day: Day,
        #[serde(flatten)]
        figures: Shown<'a>,
    },
    Policy {
        mode: &'static str,
        /// What may still be spent for nothing, in input tokens.
        left_of_share: u64,
        asks: bool,
        hold: Option<&'static str>,
        why: Option<String>,
    },
    Kind {
        kind: Kind,
        chance: f64,
        deviation: f64,
        saves_seconds: f64,
        costs_tokens: u64,
        runs: bool,
        hold: Option<&'static str>,
        why: Option<String>,
    },
    Damaged {
        line: usize,
        message: &'a str,
    },
}

/// Figures and what follows from them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    #[serde(flatten)]
    figures: &'a Figures,
    hit_rate: Option<f64>,
    seconds_saved_per_hit: Option<f64>,
    tokens_wasted_per_second_saved: Option<f64>,
}

/// Everything there is to show.
struct Report {
    workspace: String,
    book: Book,
    statistics: Statistics,
    policy: Policy,
    left_of_share: f64,
    asks: Result<(), Hold>,
    kinds: Vec<OfKind>,
}

/// What the policy makes of one kind of suggestion.
struct OfKind {
    kind: Kind,
    chance: f64,
    deviation: f64,
    saves_seconds: f64,
    costs: f64,
    runs: Result<(), Hold>,
}

/// Shows the ledger of a project.
pub(crate) fn run(args: &Stats, context: &Context) -> Result<ExitStatus, CliError> {
    let workspace = workspace::resolve(args.workspace.path.as_deref())?;
    let config = context.config(&Flags::default(), workspace.as_ref())?;
    let ledger = Ledger::of(&context.store()?, &workspace, config.ledger);
    let book = ledger.read()?;
    let report = Report::of(workspace, book, config.background, config.tariff(), clock::unix_ms());
    if let Some(damage) = report.damage() {
        output::note(&format!("{}: {damage}", ledger.file().display()));
    }
    if context.output.is_json() {
        report.lines().iter().try_for_each(output::print_json)?;
    } else {
        output::print(&page::page(&report, page::Look::of(context)))?;
    }
    Ok(ExitStatus::Done)
}

impl Report {
    fn of(workspace: String, book: Book, policy: Policy, tariff: Tariff, now: u64) -> Self {
        let experience = Experience::of(tariff, &book.entries);
        let of_kind = |kind| {
            let forecast = policy.forecast(&experience, kind);
            OfKind {
                kind,
                chance: forecast.chance.mean(),
                deviation: forecast.chance.deviation(),
                saves_seconds: forecast.saves_seconds,
                costs: forecast.costs,
                runs: policy.run_kind(&experience, kind, now).map(drop),
            }
        };
        Self {
            workspace,
            statistics: Statistics::of(&book.entries),
            book,
            policy,
            left_of_share: policy.left_of_share(&experience, now),
            asks: policy.ask(&experience, now),
            kinds: Kind::ALL.map(of_kind).into(),
        }
    }

    /// What could not be read, in words.
    fn damage(&self) -> Option<String> {
        let mut found = Vec::new();
        if let Some(first) = self.book.damaged.first() {
            let lines = self.book.damaged.len();
            found.push(format!(
                "{lines} of the lines left out, the first is line {}: {}",
                first.line, first.message
            ));
        }
        if self.book.torn {
            found.push("the last line has no end and is left out".to_owned());
        }
        (!found.is_empty()).then(|| found.join("; "))
    }

    fn lines(&self) -> Vec<Line<'_>> {
        let Statistics { total, by_model, by_day, without_shared_cache, .. } = &self.statistics;
        let mut lines = vec![Line::Total { workspace: &self.workspace, figures: shown(total) }];
        lines.extend(by_model.iter().map(|(model, figures)| Line::Model {
            model,
            shares_cache: !without_shared_cache.contains(model),
            figures: shown(figures),
        }));
        lines.extend(by_day.iter().map(|(day, figures)| Line::Day { day: *day, figures: shown(figures) }));
        lines.push(Line::Policy {
            mode: background_name(self.policy.mode),
            left_of_share: whole(self.left_of_share),
            asks: self.asks.is_ok(),
            hold: self.asks.err().map(|hold| hold.code()),
            why: self.asks.err().map(|hold| hold.to_string()),
        });
        lines.extend(self.kinds.iter().map(|of| Line::Kind {
            kind: of.kind,
            chance: rounded(of.chance),
            deviation: rounded(of.deviation),
            saves_seconds: rounded(of.saves_seconds),
            costs_tokens: whole(of.costs),
            runs: of.runs.is_ok(),
            hold: of.runs.err().map(|hold| hold.code()),
            why: of.runs.err().map(|hold| hold.to_string()),
        }));
        let damaged = &self.book.damaged;
        lines.extend(
            damaged.iter().map(|damage| Line::Damaged { line: damage.line, message: &damage.message }),
        );
        lines
    }
}

fn shown(figures: &Figures) -> Shown<'_> {
    Shown {
        figures,
        hit_rate: figures.hit_rate().map(rounded),
        seconds_saved_per_hit: figures.seconds_saved_per_hit().map(rounded),
        tokens_wasted_per_second_saved: figures.tokens_wasted_per_second_saved().map(rounded),
    }
}

/// Three decimals are more than these figures are worth.
fn rounded(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an amount is never negative")]
fn whole(amount: f64) -> u64 {
    amount.round() as u64
}

/// The outcomes in words, those that happened.
fn outcomes(figures: &Figures) -> String {
    let told = Outcome::ALL.into_iter().filter_map(|outcome| {
        let count = figures.outcomes.get(&outcome)?;
        Some(format!("{count} {}", outcome.name()))
    });
    told.collect::<Vec<_>>().join(", ")
}
