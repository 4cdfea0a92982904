//! `headstart stats`: what was done ahead in a project, what it cost, and what it saved.

mod page;

use headstart_budget::ledger::{Day, Entry, Figures, Kind, LedgerContents, Outcome, Statistics};
use headstart_budget::policy::{Band, Beside, Experience, Guess, Habits, Mode, Policy, SkipReason};
use headstart_forked_query::Money;
use headstart_machine::config::{Config, Flags, background_name};
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::habits::HabitsFile;
use headstart_machine::ledger::Ledger;
use headstart_machine::machine::Machine;
use headstart_machine::{clock, output, workspace};
use serde::Serialize;

use crate::args::Stats;
use crate::hosts::hooks::record::{AnswerRecord, SavedQuestions};

/// The lines with `--json`, in this order.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum StatisticsLine<'a> {
    Total {
        workspace: &'a str,
        #[serde(flatten)]
        figures: FigureSet<'a>,
    },
    Model {
        model: &'a str,
        shares_cache: bool,
        free: bool,
        #[serde(flatten)]
        figures: FigureSet<'a>,
    },
    Day {
        day: Day,
        #[serde(flatten)]
        figures: FigureSet<'a>,
    },
    Kind {
        kind: Kind,
        shown: u64,
        taken: u64,
    },
    /// Guesses of which the model said that it is sure from `from` to below `below` percent, or did not say.
    Band {
        from: u8,
        below: Option<u8>,
        shown: u64,
        taken: u64,
        /// The chance that counts for such a guess now, over all projects.
        chance: f64,
    },
    Policy {
        mode: &'static str,
        /// Whether the background work is free of charge.
        free: bool,
        /// The number of consecutive suggestions that were seen and not taken.
        row: u32,
        /// Half of the user's pauses between two turns are shorter.
        pause_seconds: f64,
        /// What work ahead saves if it is taken: as long as it takes, and at most a pause.
        saves_seconds: f64,
        /// What questions and work that nobody takes may cost on a day.
        limit: Money,
        /// What of that is left; `null` if the model costs nothing.
        left_today: Option<f64>,
        asks: bool,
        hold: Option<&'static str>,
        why: Option<String>,
        runs: bool,
        run_hold: Option<&'static str>,
    },
    /// The answers to other products, in all projects.
    Hooks {
        #[serde(flatten)]
        unasked: &'a SavedQuestions,
    },
    Damaged {
        line: usize,
        message: &'a str,
    },
}

/// Figures, and numbers derived from them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FigureSet<'a> {
    #[serde(flatten)]
    figures: &'a Figures,
    hit_rate: Option<f64>,
    lost_share: Option<f64>,
    seconds_saved_per_hit: Option<f64>,
    tokens_wasted_per_second_saved: Option<f64>,
}

/// A guess of which nothing is known.
const GUESS: Guess<'_> = Guess { text: "go on", said: None };

/// The data of the report.
struct StatisticsReport {
    workspace: String,
    book: LedgerContents,
    statistics: Statistics,
    policy: Policy,
    experience: Experience,
    left_today: Option<f64>,
    asks: Result<(), SkipReason>,
    runs: Result<(), SkipReason>,
    /// What hooks answered to other products.
    unasked: SavedQuestions,
}

/// Shows the ledger of a project.
pub(crate) fn run(args: &Stats, context: &Context) -> Result<ExitStatus, CliError> {
    let workspace = workspace::resolve(args.workspace.path.as_deref())?;
    let mut config = context.config(&Flags::default(), workspace.as_ref())?;
    let store = context.store()?;
    let ledger = Ledger::of(&store, &workspace, config.ledger);
    let book = ledger.read()?;
    // If the configuration names no model, the next work is assumed to use the last one.
    let last = book.entries.iter().rev().find_map(|entry| match entry {
        Entry::Turn(work) => work.model.parse().ok(),
        _ => None,
    });
    config.model = config.model.or(last);
    let habits = HabitsFile::of(Some(&store)).read().unwrap_or_else(|error| {
        output::note(&format!("which suggestions you take is unknown: {error}"));
        Habits::default()
    });
    let machine = config.uses_local_model().then(|| Machine::of(&context.environment));
    let busy = machine.as_ref().and_then(Machine::trouble);
    let unasked = AnswerRecord::of(context).and_then(|records| records.saved_questions(clock::unix_ms()));
    let unasked = unasked.unwrap_or_else(|error| {
        output::note(&format!("what hooks answered is unknown: {error}"));
        SavedQuestions::default()
    });
    let report = StatisticsReport::of(workspace, book, habits, &config, busy, unasked);
    if let Some(damage) = report.damage() {
        output::note(&format!("{}: {damage}", ledger.file().display()));
    }
    if context.output.is_json() {
        report.lines().iter().try_for_each(output::print_json)?;
    } else {
        output::print(&page::page(&report, output::PageLayout::of(context)))?;
    }
    Ok(ExitStatus::Done)
}

impl StatisticsReport {
    fn of(
        workspace: String,
        book: LedgerContents,
        habits: Habits,
        config: &Config,
        busy: Option<SkipReason>,
        unasked: SavedQuestions,
    ) -> Self {
        let now = clock::unix_ms();
        let policy = config.background;
        let experience = Experience::of(config.tariff(), habits, &book.entries);
        // Whoever wants suggestions always gets them on a busy machine, too.
        let busy = busy.filter(|_| policy.mode != Mode::Always);
        let spared = |answer: Result<(), SkipReason>| answer.and(busy.map_or(Ok(()), Err));
        Self {
            workspace,
            statistics: Statistics::of(&book.entries, experience.tariff()),
            book,
            policy,
            left_today: policy.left_today(&experience, now),
            asks: spared(policy.allow_question(&experience, now)),
            runs: spared(policy.allow_run(&experience, GUESS, Beside::default(), now).map(drop)),
            experience,
            unasked,
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

    fn lines(&self) -> Vec<StatisticsLine<'_>> {
        let Statistics { total, by_model, by_day, by_kind, without_shared_cache, .. } = &self.statistics;
        let mut lines =
            vec![StatisticsLine::Total { workspace: &self.workspace, figures: figure_set(total) }];
        lines.extend(by_model.iter().map(|(model, figures)| StatisticsLine::Model {
            model,
            shares_cache: !without_shared_cache.contains(model),
            free: is_free(figures),
            figures: figure_set(figures),
        }));
        lines.extend(
            by_day
                .iter()
                .map(|(day, figures)| StatisticsLine::Day { day: *day, figures: figure_set(figures) }),
        );
        lines.extend(by_kind.iter().map(|(kind, of)| StatisticsLine::Kind {
            kind: *kind,
            shown: of.shown,
            taken: of.taken,
        }));
        lines.extend(self.bands().map(|(band, shown, taken)| {
            let (from, below) = band.bounds();
            let chance = rounded(self.experience.chance(Some(from)));
            StatisticsLine::Band { from, below, shown, taken, chance }
        }));
        let habits = self.experience.habits();
        lines.push(StatisticsLine::Policy {
            mode: background_name(self.policy.mode),
            free: self.experience.tariff().is_free(),
            row: habits.row,
            pause_seconds: rounded(habits.pause_seconds()),
            saves_seconds: rounded(self.experience.saves_seconds()),
            limit: self.policy.limit,
            left_today: self.left_today.map(rounded),
            asks: self.asks.is_ok(),
            hold: self.asks.err().map(|hold| hold.code()),
            why: self.asks.err().map(|hold| hold.to_string()),
            runs: self.runs.is_ok(),
            run_hold: self.runs.err().map(|hold| hold.code()),
        });
        if self.unasked.week != 0 {
            lines.push(StatisticsLine::Hooks { unasked: &self.unasked });
        }
        let damaged = &self.book.damaged;
        lines.extend(
            damaged
                .iter()
                .map(|damage| StatisticsLine::Damaged { line: damage.line, message: &damage.message }),
        );
        lines
    }
}

impl StatisticsReport {
    /// How many guesses of each band were shown and taken, where there were any.
    fn bands(&self) -> impl Iterator<Item = (Band, u64, u64)> + '_ {
        self.statistics.by_band.iter().map(|(band, of)| (*band, of.shown, of.taken))
    }
}

/// Whether a model's work cost nothing and its price is known.
fn is_free(figures: &Figures) -> bool {
    figures.money.amount() == Some(Money::ZERO) && figures.tokens != headstart_forked_query::Usage::default()
}

fn figure_set(figures: &Figures) -> FigureSet<'_> {
    FigureSet {
        figures,
        hit_rate: figures.hit_rate().map(rounded),
        lost_share: figures.lost_share().map(rounded),
        seconds_saved_per_hit: figures.seconds_saved_per_hit().map(rounded),
        tokens_wasted_per_second_saved: figures.tokens_wasted_per_second_saved().map(rounded),
    }
}

/// Rounds to three decimals, because the figures are not more precise than that.
fn rounded(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an amount is never negative")]
fn whole(amount: f64) -> u64 {
    amount.round() as u64
}

/// The outcomes that occurred, in words.
fn outcomes(figures: &Figures) -> String {
    let parts = Outcome::ALL.into_iter().filter_map(|outcome| {
        let count = figures.outcomes.get(&outcome)?;
        Some(format!("{count} {}", outcome.name()))
    });
    parts.collect::<Vec<_>>().join(", ")
}
