//! What the files say about background work: whether it is done, what it may cost, and what the ledger keeps about it.

use std::collections::BTreeMap;
use std::time::Duration;

use headstart_budget::policy::{Cap, Mode, Policy};
use headstart_forked_query::Money;
use toml::Spanned;

use super::source::{Located, Source};
use crate::error::CliError;

/// What the ledger of a project keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum LedgerDetail {
    /// Nothing: there is no ledger.
    Nothing,
    /// Tokens, times, outcomes.
    #[default]
    Figures,
    /// The texts of suggestions and speculations as well.
    Prompts,
}

/// A field of `[budget]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    StartTokens,
    StartMoney,
    DayStarts,
    Share,
    Patience,
    SecondIsWorth,
    Tokens(BudgetPeriod),
    Money(BudgetPeriod),
    Seconds(BudgetPeriod),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BudgetPeriod {
    Turn,
    Session,
    Day,
}

/// Fields that earlier versions had and that no longer exist.
const GONE: [&str; 2] = ["show_from", "run_from"];

const FIELDS: [(&str, Field); 15] = [
    ("start_tokens", Field::StartTokens),
    ("start_money", Field::StartMoney),
    ("day_starts", Field::DayStarts),
    ("share", Field::Share),
    ("patience", Field::Patience),
    ("second_is_worth", Field::SecondIsWorth),
    ("turn_tokens", Field::Tokens(BudgetPeriod::Turn)),
    ("turn_money", Field::Money(BudgetPeriod::Turn)),
    ("turn_seconds", Field::Seconds(BudgetPeriod::Turn)),
    ("session_tokens", Field::Tokens(BudgetPeriod::Session)),
    ("session_money", Field::Money(BudgetPeriod::Session)),
    ("session_seconds", Field::Seconds(BudgetPeriod::Session)),
    ("day_tokens", Field::Tokens(BudgetPeriod::Day)),
    ("day_money", Field::Money(BudgetPeriod::Day)),
    ("day_seconds", Field::Seconds(BudgetPeriod::Day)),
];

/// Applies what the user's own file says.
pub(super) fn apply_users(policy: &mut Policy, table: &BudgetTable, source: &Source) -> Result<(), CliError> {
    for (name, field, value) in budget(table, source)? {
        field.set(policy, value.value).map_err(|problem| source.refuse(value.line, &name, problem))?;
    }
    Ok(())
}

/// Applies what the project's file says, as far as it makes background work more cautious.
pub(super) fn apply_projects(
    policy: &mut Policy,
    table: &BudgetTable,
    source: &Source,
) -> Result<(), CliError> {
    for (name, field, value) in budget(table, source)? {
        let refused = |problem: String| source.refuse(value.line, &name, problem);
        let users = field.get(policy);
        if users < value.value {
            return Err(refused(format!("a project can only lower this, and yours is {users}")));
        }
        field.set(policy, value.value).map_err(refused)?;
    }
    Ok(())
}

/// Reads a mode from its name.
pub(crate) fn parse_mode(name: &str) -> Result<Mode, String> {
    Ok(match name {
        "off" => Mode::Off,
        "auto" => Mode::Auto,
        "always" => Mode::Always,
        _ => return Err(format!("{name:?} is none of off, auto and always")),
    })
}

/// The name of a mode, as [`parse_mode`] reads it.
pub(crate) fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Off => "off",
        Mode::Auto => "auto",
        Mode::Always => "always",
    }
}

pub(super) fn parse_ledger_detail(name: &str) -> Result<LedgerDetail, String> {
    Ok(match name {
        "off" => LedgerDetail::Nothing,
        "figures" => LedgerDetail::Figures,
        "prompts" => LedgerDetail::Prompts,
        _ => return Err(format!("{name:?} is none of off, figures and prompts")),
    })
}

fn budget(table: &BudgetTable, source: &Source) -> Result<Vec<(String, Field, Located<f64>)>, CliError> {
    let read = |(name, value): (&String, &Spanned<f64>)| {
        let line = source.line(&value.span());
        let full = format!("budget.{name}");
        let field = FIELDS.iter().find(|(known, _)| known == name).map(|(_, field)| *field);
        if GONE.contains(&name.as_str()) {
            return Err(source.refuse(line, &full, "gone since 0.2; see share and patience"));
        }
        let Some(field) = field else {
            let known: Vec<_> = FIELDS.iter().map(|(name, _)| *name).collect();
            return Err(source.refuse(
                line,
                &full,
                format!("there is no such field; there are {}", known.join(", ")),
            ));
        };
        Ok((full, field, Located { value: *value.get_ref(), line }))
    };
    table.iter().map(read).collect()
}

impl Field {
    #[expect(clippy::cast_precision_loss, reason = "only compared and shown; caps are far below 2^52")]
    fn get(self, policy: &Policy) -> f64 {
        let cap = |span: BudgetPeriod| span.of(policy);
        match self {
            Self::StartTokens => policy.start_tokens,
            Self::StartMoney => policy.start_money.units(),
            Self::DayStarts => policy.day_starts,
            Self::Share => policy.share,
            Self::Patience => f64::from(policy.patience),
            Self::SecondIsWorth => policy.second_is_worth,
            Self::Tokens(span) => cap(span).tokens as f64,
            Self::Money(span) => cap(span).money.map_or(f64::INFINITY, Money::units),
            Self::Seconds(span) => cap(span).time.as_secs_f64(),
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "works because it is checked"
    )]
    fn set(self, policy: &mut Policy, value: f64) -> Result<(), String> {
        let most = match self {
            Self::Share => 1.0,
            _ => 1e9,
        };
        // More than a thousand million tokens would not limit anything, so refusing larger numbers takes nothing away.
        if !(0.0..=most).contains(&value) {
            return Err(format!("must be a number from 0 to {most}"));
        }
        if self == Self::Patience && value.fract() != 0.0 {
            return Err("must be a whole number".to_owned());
        }
        match self {
            Self::StartTokens => policy.start_tokens = value,
            Self::StartMoney => policy.start_money = Money::new(value).unwrap_or(Money::MAX),
            Self::DayStarts => policy.day_starts = value,
            Self::Share => policy.share = value,
            Self::Patience => policy.patience = value as u32,
            Self::SecondIsWorth => policy.second_is_worth = value,
            Self::Tokens(span) => span.of_mut(policy).tokens = value as u64,
            Self::Money(span) => span.of_mut(policy).money = Money::new(value),
            Self::Seconds(span) => span.of_mut(policy).time = Duration::from_secs_f64(value),
        }
        Ok(())
    }
}

impl BudgetPeriod {
    fn of(self, policy: &Policy) -> Cap {
        match self {
            Self::Turn => policy.turn,
            Self::Session => policy.session,
            Self::Day => policy.day,
        }
    }

    fn of_mut(self, policy: &mut Policy) -> &mut Cap {
        match self {
            Self::Turn => &mut policy.turn,
            Self::Session => &mut policy.session,
            Self::Day => &mut policy.day,
        }
    }
}

/// The table as it is written in a file.
pub(super) type BudgetTable = BTreeMap<String, Spanned<f64>>;
