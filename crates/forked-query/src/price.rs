use std::collections::BTreeMap;
use std::fmt;
use std::iter::Sum;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::Usage;

const NANOS: f64 = 1_000_000_000.0;
/// The largest amount: far more than anybody pays, and small enough that no sum overflows.
const MOST: f64 = 1_000_000_000.0;

/// An amount of money in the currency of the price table, exact to a billionth. In JSON a plain number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Money(u64);

/// The prices of a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Price {
    /// For tokens that the model reads.
    pub input: Money,
    /// For tokens that it reads from the provider's prefix cache.
    pub cached: Money,
    /// For tokens that it reads and the provider writes into that cache.
    pub cache_write: Money,
    /// For tokens that are kept under a name, for an hour.
    pub storage: Money,
    /// For tokens that it writes.
    pub output: Money,
}

/// Prices by the model's name, as the host writes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prices(BTreeMap<String, Price>);

impl Money {
    /// No money.
    pub const ZERO: Self = Self(0);
    /// The largest amount.
    pub const MAX: Self = Self(u64::MAX);

    /// This many units of the currency; `None` for a number that is not an amount: negative, infinite, beyond a
    /// billion.
    pub fn new(units: f64) -> Option<Self> {
        if !(0.0..=MOST).contains(&units) {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "works because the range is checked"
        )]
        let nanos = (units * NANOS).round() as u64;
        Some(Self(nanos))
    }

    /// The amount in units of the currency.
    #[expect(clippy::cast_precision_loss, reason = "exact up to a million units; a display beyond")]
    pub fn units(self) -> f64 {
        self.0 as f64 / NANOS
    }

    /// The sum, or the largest amount if it would overflow.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, or zero if `other` is more.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The product, or the largest amount if it would overflow.
    #[must_use]
    pub fn times(self, many: u32) -> Self {
        Self(self.0.saturating_mul(u64::from(many)))
    }

    /// The amount divided by this number, rounded down; divided by 0, the whole amount.
    #[must_use]
    pub fn part(self, many: u32) -> Self {
        Self(self.0 / u64::from(many.max(1)))
    }

    fn of_tokens(self, tokens: u64) -> u128 {
        u128::from(self.0) * u128::from(tokens)
    }
}

impl Price {
    /// Prices where writing into the cache costs the same as reading, and nothing is kept under a name.
    pub fn new(input: Money, cached: Money, output: Money) -> Self {
        Self { input, cached, cache_write: input, storage: Money::ZERO, output }
    }

    /// What a request cost, rounded up.
    pub fn of(&self, usage: Usage) -> Money {
        let cached = usage.cached_input_tokens.min(usage.input_tokens);
        let written = usage.cache_creation_tokens.min(usage.input_tokens - cached);
        let sum = self.input.of_tokens(usage.input_tokens - cached - written)
            + self.cached.of_tokens(cached)
            + self.cache_write.of_tokens(written)
            + self.storage.of_tokens(usage.cache_token_seconds) / 3_600
            + self.output.of_tokens(usage.output_tokens);
        Money(u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }
}

impl Prices {
    /// The price of a model, if it is known: under its whole name, or under the part behind the provider.
    pub fn get(&self, model: &str) -> Option<Price> {
        let plain = model.split_once(':').map(|(_, name)| name);
        self.0.get(model).or_else(|| self.0.get(plain?)).copied()
    }

    /// What a request to this model cost, if its price is known.
    pub fn of(&self, model: &str, usage: Usage) -> Option<Money> {
        self.get(model).map(|price| price.of(usage))
    }

    /// Adds other prices, which replace those with the same name.
    #[must_use]
    pub fn with(mut self, others: impl IntoIterator<Item = (String, Price)>) -> Self {
        self.0.extend(others);
        self
    }

    /// Whether no price is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, Price)> for Prices {
    fn from_iter<I: IntoIterator<Item = (String, Price)>>(prices: I) -> Self {
        Self(prices.into_iter().collect())
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Self::plus)
    }
}

impl fmt::Display for Money {
    /// With two decimals, or more for a small amount.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = if self.0 == 0 || 100_000_000 <= self.0 { 2 } else { 5 };
        write!(f, "{:.decimals$}", self.units())
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.units())
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let units = f64::deserialize(deserializer)?;
        Self::new(units).ok_or_else(|| D::Error::custom(format!("{units} is no amount of money")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price() -> Price {
        let money = |units| Money::new(units).unwrap();
        Price::new(money(1.25), money(0.125), money(10.0))
    }

    #[test]
    fn tokens_cost_what_the_table_says() {
        let cases = [
            ((0, 0, 0), 0.0),
            ((1_000_000, 0, 0), 1.25),
            ((1_000_000, 1_000_000, 0), 0.125),
            ((1_000_000, 600_000, 1_000), 0.585),
            // A provider that reports more cached tokens than tokens read.
            ((1, 5, 0), 0.000_000_125),
            ((1, 0, 0), 0.000_001_25),
        ];
        for ((input_tokens, cached_input_tokens, output_tokens), expected) in cases {
            let usage = Usage { input_tokens, cached_input_tokens, output_tokens, ..Usage::default() };
            assert_eq!(price().of(usage), Money::new(expected).unwrap(), "{usage:?}");
        }
        let endless = Usage {
            input_tokens: u64::MAX,
            cached_input_tokens: 0,
            output_tokens: u64::MAX,
            ..Usage::default()
        };
        assert_eq!(price().of(endless), Money(u64::MAX));
    }

    #[test]
    fn what_is_written_into_the_cache_and_kept_there_has_prices_of_its_own() {
        let money = |units| Money::new(units).unwrap();
        let price = Price { cache_write: money(2.0), storage: money(4.5), ..price() };
        let cases = [
            // Tokens read, cached, written into the cache, and tokens kept times seconds.
            ((1_000_000, 0, 1_000_000, 0), 2.0),
            ((1_000_000, 600_000, 400_000, 0), 0.875),
            ((1_000_000, 500_000, 100_000, 0), 0.7625),
            // Not more tokens can have been written than were read.
            ((10, 4, 100, 0), 0.000_012_5),
            ((0, 0, 0, 1_000_000 * 3_600), 4.5),
            ((1_000_000, 0, 1_000_000, 1_000_000 * 300), 2.375),
        ];
        for ((input_tokens, cached_input_tokens, cache_creation_tokens, cache_token_seconds), expected) in
            cases
        {
            let usage = Usage {
                input_tokens,
                cached_input_tokens,
                cache_creation_tokens,
                cache_token_seconds,
                output_tokens: 0,
                ..Usage::default()
            };
            assert_eq!(price.of(usage), money(expected), "{usage:?}");
        }
        let endless =
            Usage { cache_token_seconds: u64::MAX, cache_creation_tokens: u64::MAX, ..Usage::default() };
        assert_eq!(Price { storage: Money::MAX, ..price }.of(endless), Money::MAX);
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for units in [-0.01, f64::NAN, f64::INFINITY, 1.1e9] {
            assert_eq!(Money::new(units), None, "{units}");
        }
        assert!(serde_json::from_str::<Money>("-1").is_err());
    }

    #[test]
    fn an_amount_survives_the_way_through_json() {
        for nanos in [0, 1, 585_000_000, 1_000_000_000_000_001] {
            let text = serde_json::to_string(&Money(nanos)).unwrap();
            assert_eq!(serde_json::from_str::<Money>(&text).unwrap(), Money(nanos), "{text}");
        }
    }

    #[test]
    fn a_price_is_found_under_the_whole_name_or_the_model_alone() {
        let prices = Prices::from_iter([("openai:a".to_owned(), price()), ("b".to_owned(), price())]);
        let found = ["openai:a", "a", "openai:b", "b", "ollama:a", "replay:openai:a"];
        assert_eq!(found.map(|model| prices.get(model).is_some()), [true, false, true, true, false, true]);
    }
}
