use std::collections::BTreeSet;

use headstart_forked_query::Usage;

use crate::ledger::WorkCost;
use headstart_forked_query::{Money, Price, Prices};
use headstart_speculation::CostLimit;

const MILLION: f64 = 1_000_000.0;
/// What a million input tokens cost if the price is not known: the price of a medium model, in dollars.
const USUAL_INPUT_PRICE: f64 = 3.0;

/// Makes the costs of different models comparable: everything is counted in input tokens of the conversation's own
/// model, by the price table, or by usual price ratios if the table lacks one of the models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tariff {
    prices: Prices,
    main: String,
    background: String,
    free: BTreeSet<String>,
}

impl Tariff {
    /// The tariff of a conversation with the model `main`, which also does the background work.
    pub fn new(main: impl Into<String>, prices: Prices) -> Self {
        let main = main.into();
        Self { background: main.clone(), main, prices, free: BTreeSet::new() }
    }

    /// Sets another model for the background work.
    #[must_use]
    pub fn with_background(self, model: impl Into<String>) -> Self {
        Self { background: model.into(), ..self }
    }

    /// Sets the models that cost nothing for a token.
    #[must_use]
    pub fn with_free(self, models: impl IntoIterator<Item = String>) -> Self {
        Self { free: models.into_iter().collect(), ..self }
    }

    /// The model of the conversation.
    pub fn main(&self) -> &str {
        &self.main
    }

    /// The model that does the background work.
    pub fn background(&self) -> &str {
        &self.background
    }

    /// What these tokens of a model cost, if its price is known.
    pub fn price_of(&self, model: &str, tokens: Usage) -> Option<Money> {
        self.prices.of(model, tokens)
    }

    /// Whether the background work costs nothing for a token.
    pub fn is_free(&self) -> bool {
        self.is_free_model(&self.background)
    }

    /// Whether a model costs nothing for a token.
    pub fn is_free_model(&self, model: &str) -> bool {
        self.free.contains(model)
    }

    /// What these tokens of a model cost, in input tokens of the conversation's model, or of the background model if
    /// the conversation costs nothing.
    pub fn weigh(&self, model: &str, tokens: Usage) -> f64 {
        if self.is_free_model(model) {
            return 0.0;
        }
        match self.priced(model) {
            Some((price, unit)) => price.of(tokens).units() / unit,
            None => usual_price().of(tokens).units() * MILLION / USUAL_INPUT_PRICE,
        }
    }

    /// What some work costs in the same measure. A request that was dropped half-way counts as a question, because it
    /// has read the conversation, and so does a request for which the server does not say what it cost.
    pub(crate) fn cost(&self, work: &WorkCost, question: f64) -> f64 {
        let was_free = work.money == Some(Money::ZERO);
        if was_free || self.is_free_model(&work.model) {
            return 0.0;
        }
        self.weigh(&work.model, work.tokens) + work.unknown_requests() * question
    }

    /// What this many input tokens cost, if the price is known.
    pub fn money(&self, tokens: f64) -> Option<Money> {
        self.unit().map(|unit| amount(tokens * unit))
    }

    /// What this many input tokens cost, by a usual price if the price is not known.
    pub(super) fn estimate(&self, tokens: f64) -> f64 {
        tokens * self.unit().unwrap_or(USUAL_INPUT_PRICE / MILLION)
    }

    /// The cost limit of a run that may cost this much, by usual prices if the price is not known.
    pub(super) fn limit(&self, most: f64) -> CostLimit {
        let price = self.prices.get(&self.background).unwrap_or_else(usual_price);
        CostLimit { price, most: amount(most) }
    }

    /// The price of a model, and the price of one token of the measure.
    fn priced(&self, model: &str) -> Option<(Price, f64)> {
        Some((self.prices.get(model)?, self.unit()?))
    }

    /// The price of one token of the measure. A model that costs nothing cannot be the measure for others.
    fn unit(&self) -> Option<f64> {
        let measure = [&self.main, &self.background].into_iter().find(|model| !self.is_free_model(model))?;
        let price = self.prices.get(measure)?.input;
        (price != Money::ZERO).then(|| price.units() / MILLION)
    }
}

/// A usual price: of tokens from the cache a tenth of the input's, of those written to the cache a quarter more, and of
/// those that the model writes four times as much.
fn usual_price() -> Price {
    let money = |ratio| Money::new(ratio * USUAL_INPUT_PRICE).expect("works because the amounts are small");
    Price { cache_write: money(1.25), ..Price::new(money(1.0), money(0.1), money(4.0)) }
}

fn amount(units: f64) -> Money {
    Money::new(units.max(0.0)).unwrap_or(Money::MAX)
}
