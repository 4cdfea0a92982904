//! What the files say about background work: whether it is done, what it may cost, and what the ledger keeps about it.

use std::collections::BTreeMap;

use headstart_budget::policy::{Mode, Policy};
use headstart_forked_query::Money;
use toml::Spanned;

use super::source::{Located, Source};
use crate::error::CliError;

/// What the ledger of a project keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum LedgerDetail {
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
    Limit,
    HourIsWorth,
    ShowFrom,
}

const FIELDS: [(&str, Field); 3] =
    [("limit", Field::Limit), ("hour_is_worth", Field::HourIsWorth), ("show_from", Field::ShowFrom)];

/// Applies what the user's own file says.
pub(super) fn apply_users(policy: &mut Policy, table: &BudgetTable, source: &Source) -> Result<(), CliError> {
    for (_, field, value) in budget(table, source)? {
        field.set(policy, value.value);
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
        let users = field.get(policy);
        let (is_bolder, only) = match field {
            Field::ShowFrom => (value.value < users, "raise"),
            Field::Limit | Field::HourIsWorth => (users < value.value, "lower"),
        };
        if is_bolder {
            let yours = field.words(users);
            return Err(source.refuse(
                value.line,
                &name,
                format!("a project can only {only} this, and yours is {yours}"),
            ));
        }
        field.set(policy, value.value);
    }
    Ok(())
}

/// Reads a mode from its name.
pub fn parse_mode(name: &str) -> Result<Mode, String> {
    Ok(match name {
        "off" => Mode::Off,
        "auto" => Mode::Auto,
        "always" => Mode::Always,
        _ => return Err(format!("{name:?} is none of off, auto and always")),
    })
}

/// The name of a mode, as [`parse_mode`] reads it.
pub fn mode_name(mode: Mode) -> &'static str {
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
    let read = |(name, value): (&String, &Spanned<toml::Value>)| {
        let line = source.line(&value.span());
        let full = format!("budget.{name}");
        let Some((_, field)) = FIELDS.iter().find(|(known, _)| known == name) else {
            let known: Vec<_> = FIELDS.iter().map(|(name, _)| *name).collect();
            return Err(source.refuse(
                line,
                &full,
                format!("there is no such field; there are {}", known.join(", ")),
            ));
        };
        let value = field.parse(value.get_ref()).map_err(|problem| source.refuse(line, &full, problem))?;
        Ok((full, *field, Located { value, line }))
    };
    table.iter().map(read).collect()
}

impl Field {
    fn get(self, policy: &Policy) -> f64 {
        match self {
            Self::Limit => policy.limit.units(),
            Self::HourIsWorth => policy.hour_is_worth.units(),
            Self::ShowFrom => policy.show_from,
        }
    }

    fn set(self, policy: &mut Policy, value: f64) {
        match self {
            Self::Limit => policy.limit = Money::new(value).unwrap_or(Money::MAX),
            Self::HourIsWorth => policy.hour_is_worth = Money::new(value).unwrap_or(Money::MAX),
            Self::ShowFrom => policy.show_from = value,
        }
    }

    /// The value in dollars, or from 0 to 1.
    fn parse(self, value: &toml::Value) -> Result<f64, String> {
        let dollars = |text: &str| {
            let amount: f64 = text.strip_prefix('$')?.trim().parse().ok()?;
            // More would not limit anything, so refusing it takes nothing away.
            (0.0..=1e6).contains(&amount).then_some(amount)
        };
        let text = value.as_str();
        match self {
            Self::Limit => text.and_then(|text| dollars(text.trim().strip_suffix("a day")?.trim())),
            Self::HourIsWorth => text.and_then(|text| dollars(text.trim())),
            #[expect(clippy::cast_precision_loss, reason = "0 and 1 are all that pass")]
            Self::ShowFrom => {
                let number = value.as_float().or_else(|| value.as_integer().map(|number| number as f64));
                number.filter(|number| (0.0..=1.0).contains(number))
            }
        }
        .ok_or_else(|| format!("must be {}", self.form()))
    }

    fn form(self) -> &'static str {
        match self {
            Self::Limit => "an amount a day, as \"$1 a day\"",
            Self::HourIsWorth => "an amount, as \"$30\"",
            Self::ShowFrom => "a number from 0 to 1",
        }
    }

    /// A value, as it is written.
    fn words(self, value: f64) -> String {
        match self {
            Self::Limit => format!("${value} a day"),
            Self::HourIsWorth => format!("${value}"),
            Self::ShowFrom => value.to_string(),
        }
    }
}

/// The table as it is written in a file.
pub(super) type BudgetTable = BTreeMap<String, Spanned<toml::Value>>;
