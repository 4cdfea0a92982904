//! What models cost. The user's own prices come first, then whether a model runs on this machine, then the table that
//! is built into the program.

use std::collections::BTreeMap;

use headstart_budget::policy::Tariff;
use headstart_forked_query::{Money, Price, Prices};
use serde::Deserialize;
use url::{Host, Url};

use super::Config;
use crate::model_spec::{ModelSpec, Provider};
use crate::models;

const TABLE: &str = include_str!("prices.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceTable {
    provider: Vec<ProviderPrices>,
}

/// The models of one provider.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderPrices {
    /// The hosts at which the models are asked.
    hosts: Vec<String>,
    /// The day on which the prices were read.
    #[cfg_attr(not(test), expect(dead_code, reason = "for whoever reads the table, and its test"))]
    read: String,
    models: BTreeMap<String, PriceRow>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceRow {
    input: f64,
    cached: Option<f64>,
    cache_write: Option<f64>,
    storage: Option<f64>,
    output: f64,
    /// The most tokens of input.
    window: u32,
}

impl Config {
    /// How costs are compared in a conversation with the models of this configuration.
    pub fn tariff(&self) -> Tariff {
        Tariff::new(self.main_model(), self.prices())
            .with_background(self.background_model())
            .with_free(self.free_models())
    }

    /// The models in use whose tokens are free.
    pub(crate) fn free_models(&self) -> Vec<String> {
        let in_use = [&self.model, &self.fast_model].into_iter().flatten();
        in_use.filter(|spec| self.is_free(spec)).map(ToString::to_string).collect()
    }

    /// The known prices: those that the user gives, and those of the models in use from the built-in table.
    pub(crate) fn prices(&self) -> Prices {
        let users = self.per_model.prices();
        let in_use = [&self.model, &self.fast_model].into_iter().flatten();
        let unknown = in_use.filter(|spec| users.get(&spec.to_string()).is_none());
        let listed = unknown.filter_map(|spec| Some((spec.to_string(), self.listed(spec)?)));
        let listed: Vec<_> = listed.collect();
        users.with(listed)
    }

    /// Whether the tokens of this model are free. Those of a model on this machine are, unless the user gives a price
    /// for it or its name is one that only its provider serves: then what runs here is a gateway to it.
    pub(crate) fn is_free(&self, spec: &ModelSpec) -> bool {
        let settings = self.per_model.get(&spec.to_string());
        if let Some(free) = settings.free {
            return free;
        }
        if let Some(price) = settings.price {
            return price == Price::default();
        }
        match spec {
            ModelSpec::Remote { name, .. } if runs_in_cloud(name) => false,
            ModelSpec::Replay(_) | ModelSpec::Demo | ModelSpec::Remote { provider: Provider::Ollama, .. } => {
                true
            }
            ModelSpec::Remote { name, .. } => {
                !is_served_elsewhere(name) && self.address(spec).is_some_and(|url| is_this_machine(&url))
            }
        }
    }

    /// Whether the background work is done on this machine for free.
    pub fn uses_local_model(&self) -> bool {
        let spec = self.fast_model.as_ref().or(self.model.as_ref());
        spec.is_some_and(|spec| self.runs_here(spec))
    }

    /// Whether this machine runs a model, so that nobody else charges for it.
    pub(crate) fn runs_here(&self, spec: &ModelSpec) -> bool {
        self.is_free(spec) && self.address(spec).is_some_and(|url| is_this_machine(&url))
    }

    /// Host and port of the conversation's model, if its server runs on this machine.
    pub fn local_server(&self) -> Option<(String, u16)> {
        let url = self.address(self.model.as_ref()?).filter(is_this_machine)?;
        Some((url.host_str()?.trim_matches(['[', ']']).to_owned(), url.port_or_known_default()?))
    }

    /// How many tokens a model sees at once, as the table says.
    pub(crate) fn listed_window(&self, spec: &ModelSpec) -> Option<u32> {
        Some(self.row(spec)?.window)
    }

    fn listed(&self, spec: &ModelSpec) -> Option<Price> {
        self.row(spec)?.price()
    }

    /// The row of the table: of a model at its provider's own address, or behind a gateway. A gateway on this machine
    /// passes on what the provider charges. One elsewhere does so for the models that nobody else can serve; what it
    /// charges for open weights is its own affair.
    fn row(&self, spec: &ModelSpec) -> Option<PriceRow> {
        let ModelSpec::Remote { name, provider } = spec else { return None };
        let url = self.address(spec)?;
        let host = url.host_str()?;
        let services = table();
        let is_at = |service: &&ProviderPrices| service.hosts.iter().any(|at| at == host);
        if services.iter().any(|service| is_at(&service)) {
            return services.iter().filter(is_at).find_map(|service| service.row(name));
        }
        let name = base_name(name);
        let is_passed_on = is_this_machine(&url) || is_closed(name);
        let mut services = services.iter().filter(|_| is_passed_on && *provider != Provider::Ollama);
        services.find_map(|service| service.row(name))
    }

    /// The address at which a model is asked.
    fn address(&self, spec: &ModelSpec) -> Option<Url> {
        let main = self.model.as_ref()?;
        models::address(spec, main, self.base_url.as_deref()).and_then(|url| url.parse().ok())
    }
}

impl ProviderPrices {
    fn row(&self, name: &str) -> Option<PriceRow> {
        self.models.get(name).or_else(|| self.models.get(undated(name))).copied()
    }
}

impl PriceRow {
    fn price(self) -> Option<Price> {
        let input = Money::new(self.input)?;
        let or_input = |units: Option<f64>| units.map_or(Some(input), Money::new);
        Some(Price {
            input,
            cached: or_input(self.cached)?,
            cache_write: or_input(self.cache_write)?,
            storage: Money::new(self.storage.unwrap_or_default())?,
            output: Money::new(self.output)?,
        })
    }
}

fn table() -> Vec<ProviderPrices> {
    let table: PriceTable = toml::from_str(TABLE).expect("works because a test reads it");
    table.provider
}

/// Beginnings of the names of models that nobody but their providers and those who resell them can serve. They count
/// although the table may not know the newest.
const CLOSED_FAMILIES: [&str; 4] = ["claude-", "gemini-", "grok-", "gpt-"];

/// Models with such a beginning whose weights are published.
const OPEN_WEIGHTS: [&str; 2] = ["gpt-oss", "gpt-j"];

/// Whether a model of this name does not run on this machine, wherever it is asked.
fn is_served_elsewhere(name: &str) -> bool {
    let name = base_name(name).to_lowercase();
    is_closed(&name) || table().iter().any(|service| service.row(&name).is_some())
}

/// Whether nobody but its provider and those who resell it can serve a model of this name.
fn is_closed(name: &str) -> bool {
    let begins = |beginnings: &[&str]| beginnings.iter().any(|beginning| name.starts_with(beginning));
    begins(&CLOSED_FAMILIES) && !begins(&OPEN_WEIGHTS)
}

/// The name without the providers that a gateway puts before it (`openrouter/anthropic/claude-sonnet-5`).
fn base_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Whether a local server passes a model of this name on to its maker's machines, as Ollama does with `gpt-oss:120b-cloud`.
fn runs_in_cloud(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with("-cloud") || name.ends_with(":cloud")
}

/// Whether an address is the loopback interface, where nobody charges for what runs.
fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The name without the date of its version (`-20250929`, `-2025-09-29`) and without `-latest`.
fn undated(name: &str) -> &str {
    let digits = |text: &str, number: usize| text.len() == number && text.bytes().all(|b| b.is_ascii_digit());
    if let Some(name) = name.strip_suffix("-latest") {
        return name;
    }
    let mut parts = name.rsplit('-');
    let [day, month, year] = [(); 3].map(|()| parts.next().unwrap_or_default());
    let length = match () {
        () if digits(day, 8) => 9,
        () if digits(day, 2) && digits(month, 2) && digits(year, 4) => 11,
        () => 0,
    };
    name.get(..name.len().saturating_sub(length)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(model: &str, base_url: Option<&str>) -> Config {
        Config {
            model: Some(model.parse().unwrap()),
            base_url: base_url.map(str::to_owned),
            ..Config::default()
        }
    }

    #[test]
    fn the_table_holds_prices_of_hosts_with_the_day_on_which_they_were_read() {
        for service in table() {
            let day: Vec<_> = service.read.split('-').map(|part| part.parse::<u32>().unwrap()).collect();
            assert!(day.len() == 3 && 2026 <= day[0] && day[1] <= 12 && day[2] <= 31, "{}", service.read);
            assert!(!service.hosts.is_empty() && !service.models.is_empty());
            for (name, row) in service.models {
                let price = row.price().unwrap();
                assert!(Money::ZERO < price.cached && price.cached <= price.input, "{name}");
                assert!(price.input <= price.cache_write && price.input < price.output, "{name}");
                assert!((100_000..=2_000_000).contains(&row.window), "{name}");
                assert_eq!(undated(&name), name, "the table has names without a date");
            }
        }
    }

    #[test]
    fn a_price_is_that_of_the_models_provider_at_its_own_address_and_behind_gateways() {
        let input = |model: &str, base_url: Option<&str>| {
            config(model, base_url).prices().get(model).map(|price| price.input.units())
        };
        let cases = [
            ("anthropic:claude-sonnet-4-5", None, Some(3.0)),
            ("anthropic:claude-sonnet-4-5-20250929", None, Some(3.0)),
            ("anthropic:claude-sonnet-4-5-latest", None, Some(3.0)),
            ("anthropic:claude-sonnet-9", None, None),
            ("openai:gpt-5-2025-08-07", None, Some(1.25)),
            ("responses:gpt-5", None, Some(1.25)),
            ("openai:gpt-5", Some("https://gateway.example/v1"), Some(1.25)),
            ("anthropic:eu/claude-sonnet-4-5", Some("https://gateway.example"), Some(3.0)),
            ("openai:deepseek-v4-flash", Some("https://gateway.example/v1"), None),
            ("openai:gpt-oss-120b", Some("https://gateway.example/v1"), None),
            ("openai:deepseek-v4-flash", Some("https://api.deepseek.com"), Some(0.14)),
            ("openai:deepseek-v4-flash", None, None),
            ("gemini:gemini-2.5-pro", None, Some(1.25)),
            // A gateway on this machine passes on what the provider charges.
            ("openai:gpt-5", Some("http://localhost:4000/v1"), Some(1.25)),
            ("openai:anthropic/claude-sonnet-4-5", Some("http://127.0.0.1:4000"), Some(3.0)),
            ("openai:claude-sonnet-9", Some("http://127.0.0.1:4000"), None),
            ("ollama:gpt-5", None, None),
            ("replay:gpt-5", None, None),
        ];
        for (model, base_url, expected) in cases {
            assert_eq!(input(model, base_url), expected, "{model} {base_url:?}");
        }
    }

    #[test]
    fn the_window_of_a_listed_model_is_known() {
        for (model, base_url, expected) in [
            ("anthropic:claude-haiku-4-5-20251001", None, Some(200_000)),
            ("openai:openrouter/anthropic/claude-haiku-4-5", Some("http://localhost:4000"), Some(200_000)),
            ("anthropic:claude-haiku-4-5", Some("https://gateway.example"), Some(200_000)),
            ("ollama:claude-haiku-4-5", None, None),
        ] {
            let config = config(model, base_url);
            assert_eq!(config.listed_window(config.model.as_ref().unwrap()), expected, "{model}");
        }
    }

    #[test]
    fn what_runs_on_this_machine_is_free() {
        let cases = [
            ("ollama:llama3.3", None, true),
            ("replay:demo.json", None, true),
            ("openai:m", None, false),
            ("anthropic:m", None, false),
            ("openai:m", Some("http://localhost:8000/v1"), true),
            ("openai:m:120b-cloud", Some("http://localhost:11434/v1"), false),
            ("ollama:m:120b-cloud", None, false),
            ("ollama:m:Cloud", None, false),
            ("ollama:cloudy:8b", None, true),
            ("openai:m", Some("http://127.0.0.1:8000/v1"), true),
            ("openai:m", Some("http://127.9.9.9"), true),
            ("openai:m", Some("http://[::1]:1/v1"), true),
            ("openai:m", Some("http://gpu.localhost/v1"), true),
            ("openai:gpt-oss-20b", Some("http://localhost:8000/v1"), true),
            ("openai:claude-sonnet-9", Some("http://localhost:8000/v1"), false),
            ("anthropic:router/Claude-Sonnet-5", Some("http://localhost:8000/v1"), false),
            ("responses:o3", Some("http://[::1]:1/v1"), false),
            ("openai:m", Some("http://192.168.0.7:8000/v1"), false),
            ("openai:m", Some("http://localhost.example.com/v1"), false),
            ("openai:m", Some("http://127.0.0.1.example.com/v1"), false),
            ("openai:m", Some("https://127.0.0.1@example.com/v1"), false),
            ("openai:m", Some("http://0.0.0.0:8000"), false),
        ];
        for (model, base_url, expected) in cases {
            let config = config(model, base_url);
            assert_eq!(config.is_free(config.model.as_ref().unwrap()), expected, "{model} {base_url:?}");
        }
        // The address belongs to the main model's server, so a model of another provider is not asked there.
        let both = Config {
            fast_model: Some("anthropic:m".parse().unwrap()),
            ..config("openai:m", Some("http://localhost:1"))
        };
        assert!(!both.is_free(both.fast_model.as_ref().unwrap()));
    }
}
