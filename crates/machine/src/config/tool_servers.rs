//! What the files say about tools of other programs: `[mcp.NAME]` and `[http_tool.NAME]`.

#![cfg_attr(
    not(feature = "mcp"),
    expect(dead_code, reason = "what is read is told to be of no use in such a build")
)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use headstart_providers::Scrubber;
use headstart_tool_gate::{Declaration, PolicyOrigin};
use serde::Deserialize;
use toml::Spanned;
use url::{Host, Url};

use super::source::Source;
use super::steering_variables;
use crate::declarations::declarations;
use crate::error::CliError;
use crate::secrets;

/// How many seconds a server may take if the file does not say.
const TIMEOUT: u32 = 20;
/// The longest time that a file can set: an hour.
const MAX_TIMEOUT: u32 = 3600;

/// The tools of other programs that the files name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExternalTools {
    pub servers: Vec<ServerSetting>,
    pub http_tools: Vec<HttpToolSetting>,
}

/// A tool server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSetting {
    pub name: String,
    pub origin: PolicyOrigin,
    /// The file that names this server.
    pub file: PathBuf,
    pub transport: Transport,
    pub env: BTreeMap<String, EnvValue>,
    /// The variable that holds the server's token.
    pub bearer: Option<String>,
    /// How the user logs in to the server, if the file says more about it than the server does.
    pub oauth: OAuthSetting,
    pub trust: TrustSetting,
    /// Whether work ahead may call the server over a network.
    pub trust_network: bool,
    pub timeout: Duration,
}

/// How a user logs in to a server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OAuthSetting {
    /// The client id under which headstart was registered by hand.
    pub(crate) client_id: Option<String>,
    /// The variable that holds the secret of that client.
    pub(crate) client_secret: Option<String>,
    /// The permissions that the login requests.
    pub(crate) scopes: Vec<String>,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    Command(Vec<String>),
    Url(String),
}

/// The value of a variable in a server's environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvValue {
    /// The value of this variable in headstart's own environment.
    Variable(String),
    Literal(String),
}

/// How far a server's own statements about its tools are believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TrustSetting {
    #[default]
    Ask,
    ReadOnlyHints,
    Excluded,
}

/// A tool behind an address.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpToolSetting {
    pub(crate) name: String,
    pub(crate) origin: PolicyOrigin,
    /// The file that names this tool.
    pub(crate) file: PathBuf,
    pub(crate) url: String,
    pub(crate) description: String,
    pub(crate) parameters: serde_json::Map<String, serde_json::Value>,
    pub(crate) timeout: Duration,
}

/// The tables as they are written in a file.
pub(super) type Tables = BTreeMap<String, Spanned<toml::Value>>;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ServerTable {
    command: Option<Vec<String>>,
    url: Option<String>,
    env: BTreeMap<String, String>,
    bearer: Option<String>,
    oauth: Option<OAuthSetting>,
    trust: Option<String>,
    trust_network: Option<bool>,
    timeout_seconds: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HttpToolTable {
    url: String,
    description: String,
    parameters: serde_json::Map<String, serde_json::Value>,
    timeout_seconds: Option<u32>,
}

impl ExternalTools {
    /// The names of the tools behind addresses.
    pub(super) fn http_names(&self) -> Vec<&str> {
        self.http_tools.iter().map(|tool| tool.name.as_str()).collect()
    }
}

impl TrustSetting {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::ReadOnlyHints => "read-only-hints",
            Self::Excluded => "excluded",
        }
    }
}

/// Applies what a file says. If both files use a name, the user's one counts.
pub(super) fn apply(
    all: &mut ExternalTools,
    servers: &Tables,
    http_tools: &Tables,
    source: &Source,
    origin: PolicyOrigin,
) -> Result<(), CliError> {
    for (name, table) in servers {
        let setting = server(name, table, source, origin)?;
        let of_user = all.servers.iter().filter(|known| known.origin != origin);
        if let Some(other) =
            of_user.map(|known| &known.name).find(|known| *known != name && looks_like(known, name))
        {
            let problem = format!("its name looks like that of another server, {other}; give it another one");
            return Err(source.refuse(source.line(&table.span()), &format!("mcp.{name}"), problem));
        }
        if all.servers.iter().all(|known| known.name != setting.name) {
            all.servers.push(setting);
        }
    }
    for (name, table) in http_tools {
        let setting = http_tool(name, table, source, origin)?;
        if all.http_tools.iter().all(|known| known.name != setting.name) {
            all.http_tools.push(setting);
        }
    }
    Ok(())
}

/// Whether a user may take one name for the other.
fn looks_like(one: &str, other: &str) -> bool {
    let plain = |name: &str| {
        let letters = name.to_ascii_lowercase().replace(['-', '_'], "").replace('0', "o").replace("rn", "m");
        letters.replace(['1', 'i', '|'], "l").replace("vv", "w").replace('5', "s")
    };
    plain(one) == plain(other)
}

fn server(
    name: &str,
    table: &Spanned<toml::Value>,
    source: &Source,
    origin: PolicyOrigin,
) -> Result<ServerSetting, CliError> {
    let refuse = |field: &str, problem: String| {
        let field = format!("mcp.{name}{}{field}", if field.is_empty() { "" } else { "." });
        source.refuse(source.line(&table.span()), &field, problem)
    };
    #[cfg(feature = "mcp")]
    headstart_tool_servers::ServerName::new(name).map_err(|error| refuse("", error.to_string()))?;
    let settings: ServerTable =
        table.get_ref().clone().try_into().map_err(|error| refuse("", source.problem(&error)))?;
    let transport =
        transport(settings.command, settings.url).map_err(|(field, problem)| refuse(field, problem))?;
    if let (Transport::Url(url), true) = (&transport, settings.bearer.is_some())
        && address(url).is_ok_and(|url| url.scheme() != "https" && !is_this_machine(&url))
    {
        return Err(refuse(
            "bearer",
            "the token would go over the network for all to read; use https".to_owned(),
        ));
    }
    let is_url = matches!(transport, Transport::Url(_));
    if is_url && !settings.env.is_empty() {
        return Err(refuse(
            "env",
            "only a program has an environment; a server behind a url takes `bearer`".to_owned(),
        ));
    }
    if !is_url && settings.bearer.is_some() {
        return Err(refuse(
            "bearer",
            "only a server behind a url takes it; a program takes `env`".to_owned(),
        ));
    }
    let env = settings.env.iter().map(|(key, value)| {
        if origin == PolicyOrigin::Project && steering_variables::steers(key) {
            let problem = "a project cannot set a variable that decides what a program loads or runs; \
                           name the server in your own file if it needs one";
            return Err(refuse(&format!("env.{key}"), problem.to_owned()));
        }
        let value = env_value(key, value).map_err(|problem| refuse(&format!("env.{key}"), problem))?;
        Ok((key.clone(), value))
    });
    let env = env.collect::<Result<_, CliError>>()?;
    let bearer = settings.bearer.map(|value| match env_value("TOKEN", &value) {
        Ok(EnvValue::Variable(variable)) => Ok(variable),
        Ok(EnvValue::Literal(_)) | Err(_) => Err(refuse("bearer", no_secret("a token"))),
    });
    if settings.oauth.is_some() && (origin == PolicyOrigin::Project || !is_url || bearer.is_some()) {
        let problem = match (origin, is_url) {
            (PolicyOrigin::Project, _) => "a project cannot say as whom you log in; set it in your own file",
            (_, false) => "is for a server behind a url",
            _ => "and bearer are two ways in; one of them is enough",
        };
        return Err(refuse("oauth", problem.to_owned()));
    }
    let oauth = oauth(settings.oauth.unwrap_or_default())
        .map_err(|(field, problem)| refuse(&format!("oauth.{field}"), problem))?;
    let trust = match settings.trust.as_deref() {
        None | Some("ask") => TrustSetting::Ask,
        Some("excluded") => TrustSetting::Excluded,
        Some("read-only-hints") if origin == PolicyOrigin::User => TrustSetting::ReadOnlyHints,
        Some("read-only-hints") => {
            return Err(refuse(
                "trust",
                "a project cannot have its servers trusted; set read-only-hints in your own file".to_owned(),
            ));
        }
        Some(other) => {
            return Err(refuse("trust", format!("{other:?} is none of ask, read-only-hints and excluded")));
        }
    };
    if settings.trust_network.is_some() && (origin == PolicyOrigin::Project || !is_url) {
        let problem = if is_url {
            "a project cannot have work ahead reach a network; set it in your own file"
        } else {
            "is for a server behind a url"
        };
        return Err(refuse("trust_network", problem.to_owned()));
    }
    let timeout = timeout(settings.timeout_seconds).map_err(|problem| refuse("timeout_seconds", problem))?;
    Ok(ServerSetting {
        name: name.to_owned(),
        origin,
        file: source.path().to_owned(),
        transport,
        env,
        bearer: bearer.transpose()?,
        oauth,
        trust,
        trust_network: settings.trust_network.unwrap_or(false),
        timeout,
    })
}

/// Checks how the user logs in to the server. The error names the field.
fn oauth(setting: OAuthSetting) -> Result<OAuthSetting, (&'static str, String)> {
    if setting.client_id.as_deref().is_some_and(|id| id.trim().is_empty() || is_secret(id)) {
        return Err((
            "client_id",
            "is the id under which headstart is registered, which is no secret".to_owned(),
        ));
    }
    let client_secret = match setting.client_secret.as_deref().map(|value| env_value("SECRET", value)) {
        None => None,
        Some(_) if setting.client_id.is_none() => {
            return Err(("client_secret", "belongs to a client_id, and there is none".to_owned()));
        }
        Some(Ok(EnvValue::Variable(variable))) => Some(variable),
        Some(_) => return Err(("client_secret", no_secret("a client's secret"))),
    };
    let is_scope = |scope: &String| {
        !scope.is_empty() && scope.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
    };
    if let Some(scope) = setting.scopes.iter().find(|scope| !is_scope(scope)) {
        return Err((
            "scopes",
            format!("{scope:?} is no scope; write each as a text of its own, without spaces"),
        ));
    }
    Ok(OAuthSetting { client_secret, ..setting })
}

/// Checks how a server is reached. The error names the field.
fn transport(command: Option<Vec<String>>, url: Option<String>) -> Result<Transport, (&'static str, String)> {
    match (command, url) {
        (Some(command), None) => {
            let is_empty = command.first().is_none_or(|program| program.trim().is_empty());
            if is_empty || command.iter().any(|word| word.contains('\0')) {
                return Err((
                    "command",
                    "name a program and its arguments, each a text of its own".to_owned(),
                ));
            }
            if let Some(word) = command.iter().find(|word| is_secret(word)) {
                let word: String = word.chars().take(6).collect();
                return Err(("command", no_secret(&format!("the argument that begins with {word:?}"))));
            }
            Ok(Transport::Command(command))
        }
        (None, Some(url)) => {
            address(&url).map_err(|problem| ("url", problem))?;
            Ok(Transport::Url(url))
        }
        (Some(_), Some(_)) => {
            Err(("", "has both command and url; one of them says where the server is".to_owned()))
        }
        (None, None) => {
            let problem = "does not say where the server is: command = [\"program\", \"argument\"] or url = \"https://…\"";
            Err(("", problem.to_owned()))
        }
    }
}

fn http_tool(
    name: &str,
    table: &Spanned<toml::Value>,
    source: &Source,
    origin: PolicyOrigin,
) -> Result<HttpToolSetting, CliError> {
    let refuse = |field: &str, problem: String| {
        let field = format!("http_tool.{name}{}{field}", if field.is_empty() { "" } else { "." });
        source.refuse(source.line(&table.span()), &field, problem)
    };
    let is_plain = name.len() <= 40
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if !is_plain || name.starts_with("mcp__") || name.starts_with("builtin_") {
        return Err(refuse("", "is no name of a tool; use a to z, 0 to 9 and _, at most 40, not beginning with mcp__ or builtin_".to_owned()));
    }
    if Declaration::of_ours(name).is_some() || declarations().iter().any(|tool| tool.name == name) {
        return Err(refuse("", "is the name of a tool that is built in; give it another".to_owned()));
    }
    let settings: HttpToolTable =
        table.get_ref().clone().try_into().map_err(|error| refuse("", source.problem(&error)))?;
    address(&settings.url).map_err(|problem| refuse("url", problem))?;
    let timeout = timeout(settings.timeout_seconds).map_err(|problem| refuse("timeout_seconds", problem))?;
    Ok(HttpToolSetting {
        name: name.to_owned(),
        origin,
        file: source.path().to_owned(),
        url: settings.url,
        description: settings.description,
        parameters: settings.parameters,
        timeout,
    })
}

fn timeout(seconds: Option<u32>) -> Result<Duration, String> {
    let seconds = seconds.unwrap_or(TIMEOUT);
    if !(1..=MAX_TIMEOUT).contains(&seconds) {
        return Err(format!("must be from 1 to {MAX_TIMEOUT}"));
    }
    Ok(Duration::from_secs(u64::from(seconds)))
}

fn address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let url = url.ok_or_else(|| {
        format!(
            "{:?} is no address; write it as https://host/path",
            text.chars().take(100).collect::<String>()
        )
    })?;
    let names_a_secret = |(key, value): (std::borrow::Cow<'_, str>, std::borrow::Cow<'_, str>)| {
        secrets::names_a_secret(&key.replace('-', "_")) || is_secret(&value)
    };
    if !url.username().is_empty()
        || url.password().is_some()
        || url.query_pairs().any(names_a_secret)
        || is_secret(text)
    {
        return Err(no_secret("what stands in the address"));
    }
    Ok(url)
}

pub(super) fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Reads `env:NAME`, or a text that is not a secret.
fn env_value(key: &str, value: &str) -> Result<EnvValue, String> {
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if !is_name(key) {
        return Err("is no name of a variable".to_owned());
    }
    if let Some(variable) = value.strip_prefix("env:") {
        return if is_name(variable) {
            Ok(EnvValue::Variable(variable.to_owned()))
        } else {
            Err(format!("{variable:?} is no name of a variable; write \"env:NAME\""))
        };
    }
    if secrets::names_a_secret(key) || is_secret(value) || value.contains('\0') {
        return Err(no_secret("this"));
    }
    Ok(EnvValue::Literal(value.to_owned()))
}

fn no_secret(what: &str) -> String {
    format!(
        "{what} looks like a secret, which does not belong in a file; put it into a variable of your shell and write \"env:NAME\" for it"
    )
}

/// Whether a text has the shape of a key or a token.
fn is_secret(text: &str) -> bool {
    Scrubber::default().text(text) != text
}
