//! Which models can be used from here: keys in the environment, and servers on this machine that answer.

use std::time::Duration;

use futures::future::join_all;
use headstart_providers::Provider as Service;
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use serde_json::Value;

use crate::environment::Environment;
use crate::machine::Machine;
use crate::output::{self, ColorMode};

/// The time limit for all servers together, so that a missing one delays nobody.
const PATIENCE: Duration = Duration::from_millis(300);

/// The most bytes of a list of models.
const MAX_BYTES: usize = 1024 * 1024;

/// The variable that says where Ollama listens, which Ollama itself reads too.
const OLLAMA_HOST: &str = "OLLAMA_HOST";

/// A model of each provider to begin with: neither the most expensive nor the weakest, and with a known price.
const EXAMPLES: [(&str, &str); 3] =
    [("anthropic", "claude-sonnet-5"), ("openai", "gpt-5.4"), ("gemini", "gemini-3.5-flash")];

/// What was found. Only environment variables and ports of this machine are read, and no value of a key is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetectedModels {
    servers: Vec<DetectedServer>,
    keys: Vec<DetectedKey>,
}

/// A server on this machine that lists its models.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DetectedServer {
    place: ServerAddress,
    /// The first of its models that can hold a conversation.
    model: String,
}

/// A variable that holds a key.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DetectedKey {
    provider: &'static str,
    variable: String,
}

/// Where a server may answer.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ServerAddress {
    name: &'static str,
    /// Whether it has Ollama's own interface; otherwise it has OpenAI's.
    is_ollama: bool,
    /// The address, as `http://host:port`.
    address: String,
}

/// A command line for the user, and why it would work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    pub line: String,
    pub why: String,
}

/// A model that can be chosen without further settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelOffer {
    /// The value for `--model`.
    pub model: String,
    /// The value for `--base-url`, if it is not the provider's own address.
    pub base_url: Option<String>,
    /// Why it would work.
    pub why: String,
}

impl DetectedModels {
    /// Searches for servers and keys, for at most 300 milliseconds.
    pub async fn detect(environment: &Environment) -> Self {
        Self { servers: responding_servers(&places(environment), PATIENCE).await, keys: keys(environment) }
    }

    /// How to begin a chat with what was found, the cheapest first; if nothing was found, what would help.
    pub fn hints(&self) -> Vec<Hint> {
        let hints: Vec<_> = self
            .servers
            .iter()
            .map(DetectedServer::hint)
            .chain(self.keys.iter().map(DetectedKey::hint))
            .collect();
        if !hints.is_empty() {
            return hints;
        }
        vec![
            Hint::new("headstart chat --model ollama:NAME", "once Ollama runs on this machine"),
            Hint::new("headstart chat --model anthropic:NAME", "once ANTHROPIC_API_KEY is set"),
            Hint::new("headstart chat --model openai:NAME", "once OPENAI_API_KEY is set"),
            Hint::new("headstart chat --model gemini:NAME", "once GEMINI_API_KEY is set"),
        ]
    }

    /// The models that can be chosen here, the cheapest first.
    pub fn offers(&self) -> Vec<ModelOffer> {
        let of_keys = self.keys.iter().filter_map(DetectedKey::offer);
        self.servers.iter().map(DetectedServer::offer).chain(of_keys).collect()
    }

    /// Whether there is neither a key nor a server.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty() && self.keys.is_empty()
    }

    /// The text before the ways.
    pub fn head(&self) -> &'static str {
        if self.is_empty() {
            "No key is set and no model server answers on this machine. One of them is enough:"
        } else {
            "What there is here:"
        }
    }
}

impl Hint {
    fn new(line: &str, why: &str) -> Self {
        Self { line: line.to_owned(), why: why.to_owned() }
    }

    /// The way to try headstart without a model.
    pub fn of_recording() -> Self {
        Self::new("headstart chat --model replay:demo", "press Tab yourself, in a sample project")
    }

    pub fn of_demo() -> Self {
        Self::new("headstart demo", "watch it: 10 s, no key, no network")
    }

    pub fn of_help() -> Self {
        Self::new("headstart help", "all commands, modes and files")
    }

    /// The way with a configured model.
    pub fn of_chosen(model: &str) -> Self {
        Self::new("headstart chat", &format!("with {}, as you configured", output::one_line(model)))
    }
}

/// The command lines, each with its reason beside it, or below it if there is not enough room.
pub fn rows(hints: &[Hint], columns: usize, style: ColorMode) -> Vec<String> {
    const GAP: usize = 2;
    let beside = |hint: &&Hint| hint.line.len() + hint.why.len() + 2 * GAP <= columns;
    let widest = hints.iter().filter(beside).map(|hint| hint.line.len()).max().unwrap_or(0);
    let fits = |hint: &Hint| GAP + widest.max(hint.line.len()) + GAP + hint.why.len() <= columns;
    let rows = hints.iter().flat_map(|hint| {
        let Hint { line, why } = hint;
        if fits(hint) {
            return vec![format!("  {line:<widest$}  {}", style.dim(why))];
        }
        let below = textwrap::wrap(why, columns.saturating_sub(4).max(8));
        let below = below.into_iter().map(|row| format!("    {}", style.dim(&row)));
        std::iter::once(format!("  {line}")).chain(below).collect()
    });
    rows.collect()
}

impl DetectedServer {
    fn offer(&self) -> ModelOffer {
        let Self { place, model } = self;
        let shown = place.address.strip_prefix("http://").unwrap_or(&place.address);
        let why = format!("{} answers on {shown}", place.name);
        let usual = Service::ollama().base_url;
        let (model, base_url) = match (place.is_ollama, place.address == usual) {
            (true, true) => (format!("ollama:{model}"), None),
            (true, false) => (format!("ollama:{model}"), Some(place.address.clone())),
            (false, _) => (format!("openai:{model}"), Some(format!("{}/v1", place.address))),
        };
        ModelOffer { model, base_url, why }
    }

    fn hint(&self) -> Hint {
        let ModelOffer { model, base_url, why } = self.offer();
        let address = base_url.map(|address| format!(" --base-url {address}")).unwrap_or_default();
        Hint { line: format!("headstart chat --model {model}{address}"), why }
    }
}

impl DetectedKey {
    /// A model of this provider, if one to begin with is known.
    fn offer(&self) -> Option<ModelOffer> {
        let (provider, name) = EXAMPLES.iter().find(|(provider, _)| *provider == self.provider)?;
        let why = format!("{} is set", self.variable);
        Some(ModelOffer { model: format!("{provider}:{name}"), base_url: None, why })
    }

    fn hint(&self) -> Hint {
        let example = EXAMPLES.iter().find(|(provider, _)| *provider == self.provider);
        let name = example.map_or("NAME", |(_, name)| name);
        let line = format!("headstart chat --model {}:{name}", self.provider);
        Hint { line, why: format!("{} is set", self.variable) }
    }
}

fn providers() -> impl Iterator<Item = (&'static str, Service)> {
    [
        ("anthropic", Service::anthropic()),
        ("openai", Service::openai()),
        ("gemini", Service::gemini()),
        ("dashscope", Service::dashscope()),
    ]
    .into_iter()
}

fn keys(environment: &Environment) -> Vec<DetectedKey> {
    let key = |(provider, service): (&'static str, Service)| {
        let other = (provider == "gemini").then_some("GOOGLE_API_KEY");
        let names = [Some(service.key_variable.as_str()), other];
        let variable = names.into_iter().flatten().find(|name| environment.get(name).is_some())?.to_owned();
        Some(DetectedKey { provider, variable })
    };
    providers().filter_map(key).collect()
}

fn places(environment: &Environment) -> Vec<ServerAddress> {
    let named = environment.get(OLLAMA_HOST).and_then(|host| ollama_address(host.to_str()?));
    let place =
        |name, is_ollama, address: &str| ServerAddress { name, is_ollama, address: address.to_owned() };
    if Machine::is_of_a_test(environment) {
        // What answers on this machine's ports is no part of the test.
        return named.map(|address| place("Ollama", true, &address)).into_iter().collect();
    }
    let ollama = named.unwrap_or_else(|| Service::ollama().base_url);
    vec![
        place("Ollama", true, &ollama),
        place("LM Studio", false, "http://localhost:1234"),
        place("a server", false, "http://localhost:8000"),
        place("a server", false, "http://localhost:8080"),
    ]
}

/// The address in `OLLAMA_HOST`; `None` unless it is on this machine.
fn ollama_address(host: &str) -> Option<String> {
    let host = host.trim().trim_end_matches('/');
    let url = if host.contains("://") { host.to_owned() } else { format!("http://{host}") };
    let url = Url::parse(&url).ok().filter(|url| url.scheme() == "http")?;
    // A server that listens on all addresses also listens on this machine.
    let here = ["localhost", "127.0.0.1", "0.0.0.0"].contains(&url.host_str()?);
    // Without a port in the address `Url` would assume 80.
    let port = url.port().unwrap_or(11434);
    here.then(|| format!("http://localhost:{port}"))
}

async fn responding_servers(places: &[ServerAddress], patience: Duration) -> Vec<DetectedServer> {
    headstart_providers::install_tls_provider();
    // A server on this machine is not behind a proxy, and needs no certificates, which take long to read.
    let client = Client::builder().no_proxy().redirect(Policy::none()).referer(false).tls_certs_only([]);
    let Ok(client) = client.build() else { return Vec::new() };
    let queries = places.iter().map(|place| async {
        let model = tokio::time::timeout(patience, first_model(&client, place)).await.ok().flatten()?;
        Some(DetectedServer { place: place.clone(), model })
    });
    join_all(queries).await.into_iter().flatten().collect()
}

/// The first model in the server's list that can hold a conversation.
async fn first_model(client: &Client, place: &ServerAddress) -> Option<String> {
    let (path, list, name) =
        if place.is_ollama { ("api/tags", "models", "name") } else { ("v1/models", "data", "id") };
    let mut response = client.get(format!("{}/{path}", place.address)).send().await.ok()?;
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.ok()? {
        body.extend_from_slice(&bytes);
        if MAX_BYTES < body.len() {
            return None;
        }
    }
    let answer: Value = serde_json::from_slice(&body).ok()?;
    let names = answer.get(list)?.as_array()?.iter().filter_map(|model| model.get(name)?.as_str());
    names.filter(|name| is_plain(name) && !name.contains("embed")).map(str::to_owned).next()
}

/// Whether a name can be part of a command line as it is, because any program that listens on a port may have invented
/// it.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._:/@+-".contains(c);
    !name.is_empty() && name.len() <= 100 && name.chars().all(plain)
}

#[cfg(test)]
mod tests;
