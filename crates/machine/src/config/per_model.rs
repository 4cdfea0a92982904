//! What the user's own file says about one model: `[models."NAME"]`.

use std::collections::BTreeMap;

use headstart_forked_query::{Money, Price, Prices};
use serde::Deserialize;
use toml::Spanned;

use super::dialect::Dialect;
use super::source::Source;
use crate::error::CliError;

/// What the user says about one model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ModelSettings {
    /// Whether the model's tokens cost nothing; `None` means that its address decides.
    pub(crate) free: Option<bool>,
    /// The price of a million tokens.
    pub(crate) price: Option<Price>,
    /// How the model is asked.
    pub(crate) dialect: Dialect,
}

/// The settings by the name of the model, which is either the whole one (`openai:NAME`) or the part behind the
/// provider.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SettingsByModel(BTreeMap<String, ModelSettings>);

impl SettingsByModel {
    /// The settings of a model, named as on the command line.
    pub(crate) fn get(&self, model: &str) -> ModelSettings {
        let plain = model.split_once(':').map(|(_, name)| name);
        self.0.get(model).or_else(|| self.0.get(plain?)).cloned().unwrap_or_default()
    }

    /// The models whose settings name their provider too.
    pub fn specs(&self) -> impl Iterator<Item = String> {
        self.0.keys().filter(|name| name.contains(':')).cloned()
    }

    /// The prices that the user gives.
    pub(crate) fn prices(&self) -> Prices {
        self.0.iter().filter_map(|(name, settings)| Some((name.clone(), settings.price?))).collect()
    }
}

/// The table as it is written in a file.
pub(super) type ModelTable = BTreeMap<String, Spanned<ModelFields>>;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ModelFields {
    free: Option<bool>,
    prices: Option<PriceFields>,
    pub(super) key_header: Option<Spanned<String>>,
    pub(super) headers: BTreeMap<String, Spanned<String>>,
    pub(super) output_limit: Option<Spanned<String>>,
    pub(super) prompt_cache_key: Option<Spanned<String>>,
    pub(super) context_tokens: Option<Spanned<u32>>,
    pub(super) thinking: Option<Spanned<toml::Value>>,
    pub(super) effort: Option<Spanned<String>>,
    pub(super) tools: Option<Spanned<String>>,
    pub(super) images: Option<bool>,
}

/// The price of a million tokens of a model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceFields {
    input: Spanned<f64>,
    cached: Option<Spanned<f64>>,
    cache_write: Option<Spanned<f64>>,
    storage: Option<Spanned<f64>>,
    output: Spanned<f64>,
}

/// Reads what the user's file says about models.
pub(super) fn of_user(table: &ModelTable, source: &Source) -> Result<SettingsByModel, CliError> {
    let settings = |(name, fields): (&String, &Spanned<ModelFields>)| {
        let ModelFields { free, prices, .. } = fields.get_ref();
        let price = prices.as_ref().map(|prices| prices.read(source, name)).transpose()?;
        if *free == Some(true) && price.is_some_and(|price| price != Price::default()) {
            let problem = "a model that is free has no prices; leave one of the two out";
            return Err(source.refuse(
                source.line(&fields.span()),
                &format!("models.{name:?}.free"),
                problem,
            ));
        }
        let dialect = Dialect::of_user(name, fields.get_ref(), source)?;
        Ok((name.clone(), ModelSettings { free: *free, price, dialect }))
    };
    table.iter().map(settings).collect::<Result<_, _>>().map(SettingsByModel)
}

/// Refuses such a table in a project's file, because prices decide what is spent, and a header could send a key
/// elsewhere.
pub(super) fn refuse_projects(table: &ModelTable, source: &Source) -> Result<(), CliError> {
    let Some((name, fields)) = table.first_key_value() else { return Ok(()) };
    let problem = "a project cannot say what models cost or how they are asked; set it in your own file";
    Err(source.refuse(source.line(&fields.span()), &format!("models.{name:?}"), problem))
}

/// Refuses the separate table in which earlier versions kept prices.
pub(super) fn refuse_old_prices(
    prices: &BTreeMap<String, Spanned<toml::Value>>,
    source: &Source,
) -> Result<(), CliError> {
    let Some((name, fields)) = prices.first_key_value() else { return Ok(()) };
    let problem = format!("gone since 0.2; write the same fields into [models.{name:?}.prices]");
    Err(source.refuse(source.line(&fields.span()), &format!("prices.{name:?}"), problem))
}

impl PriceFields {
    fn read(&self, source: &Source, model: &str) -> Result<Price, CliError> {
        let money = |name: &str, units: &Spanned<f64>| {
            Money::new(*units.get_ref()).ok_or_else(|| {
                let field = format!("models.{model:?}.prices.{name}");
                source.refuse(
                    source.line(&units.span()),
                    &field,
                    "a price is a number from 0 to 1,000,000,000",
                )
            })
        };
        let or = |name: &str, units: &Option<Spanned<f64>>, without: Money| {
            units.as_ref().map_or(Ok(without), |units| money(name, units))
        };
        let input = money("input", &self.input)?;
        Ok(Price {
            input,
            cached: or("cached", &self.cached, input)?,
            cache_write: or("cache_write", &self.cache_write, input)?,
            storage: or("storage", &self.storage, Money::ZERO)?,
            output: money("output", &self.output)?,
        })
    }
}
