//! What the files say about language servers: `[code-intel]`.

use std::collections::BTreeMap;
use std::time::Duration;

use headstart_code_intel::{Adapter, DiagnosticsSource};
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::shadow::{bytes, scaled};
use super::source::Source;
use crate::error::CliError;

/// Which language servers run for a conversation, and what they may use.
#[derive(Debug, Clone, PartialEq)]
pub struct IntelConfig {
    /// What finds errors; `None` means servers, if the machine is large enough for them.
    pub(crate) mode: Option<IntelMode>,
    /// How long an edit waits for the errors that it caused.
    pub(crate) after_edit: Duration,
    /// How many servers run at the same time.
    pub(crate) servers: usize,
    /// The memory that one server may use.
    pub(crate) memory: MemoryShare,
    /// A server that has not been asked anything for this long is ended.
    pub(crate) idle: Duration,
    /// Whether servers start with a conversation instead of with the first edit.
    pub(crate) in_session: bool,
    /// The servers that are known.
    pub(crate) adapters: Vec<Adapter>,
}

/// What finds errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum IntelMode {
    /// Nothing.
    Off,
    /// Compilers and checkers, which run again for each question.
    Check,
    /// Language servers.
    #[default]
    Servers,
}

/// An amount of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryShare {
    /// A percentage of the machine's memory.
    Percent(u64),
    Bytes(u64),
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct IntelTable {
    mode: Option<Spanned<String>>,
    after_edit: Option<Spanned<String>>,
    max_servers: Option<Spanned<u64>>,
    memory: Option<Spanned<String>>,
    idle: Option<Spanned<String>>,
    start: Option<Spanned<String>>,
    without: Vec<Spanned<String>>,
    servers: BTreeMap<String, Spanned<toml::Value>>,
}

impl Default for IntelConfig {
    fn default() -> Self {
        Self {
            mode: None,
            after_edit: Duration::from_millis(800),
            servers: 3,
            memory: MemoryShare::Percent(25),
            idle: Duration::from_secs(15 * 60),
            in_session: true,
            adapters: Adapter::standard(),
        }
    }
}

impl IntelConfig {
    pub fn mode(&self) -> IntelMode {
        self.mode.unwrap_or_default()
    }
}

impl IntelMode {
    pub(crate) fn for_servers(self) -> DiagnosticsSource {
        if self == Self::Servers { DiagnosticsSource::Servers } else { DiagnosticsSource::Checks }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Check => "check",
            Self::Servers => "servers",
        }
    }
}

impl MemoryShare {
    /// The amount in bytes; `None` for a share of an unknown amount.
    pub(crate) fn bytes(self, of: Option<u64>) -> Option<u64> {
        match self {
            Self::Percent(percent) => Some((of? / 100).saturating_mul(percent)),
            Self::Bytes(bytes) => Some(bytes),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let bad = || format!("{text:?} is no amount of memory; write it as 25%, 512MiB or 4GiB");
        let share = match text.strip_suffix('%') {
            Some(percent) => Self::Percent(percent.trim().parse().map_err(|_| bad())?),
            None => Self::Bytes(bytes(text).map_err(|_| bad())?),
        };
        match share {
            Self::Percent(1..=100) | Self::Bytes(1..) => Ok(share),
            _ => Err("must be more than nothing, and at most 100%".to_owned()),
        }
    }
}

/// What a file says, after it was read.
#[derive(Default)]
struct IntelOverrides {
    mode: Option<(Option<IntelMode>, usize)>,
    after_edit: Option<(Duration, usize)>,
    servers: Option<(usize, usize)>,
    memory: Option<(MemoryShare, usize)>,
    idle: Option<(Duration, usize)>,
    in_session: Option<(bool, usize)>,
}

/// Applies what the user's own file says.
pub(super) fn apply_users(
    intel: &mut IntelConfig,
    table: &IntelTable,
    source: &Source,
) -> Result<(), CliError> {
    let settings = read(table, source)?;
    intel.mode = settings.mode.map_or(intel.mode, |(mode, _)| mode);
    intel.after_edit = settings.after_edit.map_or(intel.after_edit, |(time, _)| time);
    intel.servers = settings.servers.map_or(intel.servers, |(servers, _)| servers);
    intel.memory = settings.memory.map_or(intel.memory, |(share, _)| share);
    intel.idle = settings.idle.map_or(intel.idle, |(time, _)| time);
    intel.in_session = settings.in_session.map_or(intel.in_session, |(in_session, _)| in_session);
    for (name, server) in &table.servers {
        add(&mut intel.adapters, name, server, source)?;
    }
    leave_out(intel, table, source)
}

/// Applies what the project's file says, as far as it has less done.
pub(super) fn apply_projects(
    intel: &mut IntelConfig,
    table: &IntelTable,
    source: &Source,
) -> Result<(), CliError> {
    let settings = read(table, source)?;
    let refuse = |line: usize, field: &str, yours: &str| {
        let problem = format!("a project can only have less done, and yours is {yours}");
        Err(source.refuse(line, &format!("code-intel.{field}"), problem))
    };
    if let Some((mode, line)) = settings.mode {
        match (mode, intel.mode) {
            (Some(theirs), users) if theirs < users.unwrap_or_default() => intel.mode = mode,
            (theirs, users) if theirs == users => {}
            (_, users) => return refuse(line, "mode", users.map_or("auto", IntelMode::name)),
        }
    }
    let shorter = |users: &mut Duration, limit: Option<(Duration, usize)>, field: &str| match limit {
        Some((time, line)) if *users < time => refuse(line, field, &format!("{users:?}")),
        limit => {
            *users = limit.map_or(*users, |(time, _)| time);
            Ok(())
        }
    };
    shorter(&mut intel.after_edit, settings.after_edit, "after_edit")?;
    shorter(&mut intel.idle, settings.idle, "idle")?;
    if let Some((servers, line)) = settings.servers {
        if intel.servers < servers {
            return refuse(line, "max_servers", &intel.servers.to_string());
        }
        intel.servers = servers;
    }
    if let Some((memory, line)) = settings.memory {
        match (memory, intel.memory) {
            (MemoryShare::Percent(theirs), MemoryShare::Percent(users)) if theirs <= users => {
                intel.memory = memory;
            }
            (MemoryShare::Bytes(theirs), MemoryShare::Bytes(users)) if theirs <= users => {
                intel.memory = memory;
            }
            (_, MemoryShare::Percent(users)) => return refuse(line, "memory", &format!("{users}%")),
            (_, MemoryShare::Bytes(users)) => return refuse(line, "memory", &format!("{users} bytes")),
        }
    }
    if let Some((true, line)) = settings.in_session.filter(|_| !intel.in_session) {
        return refuse(line, "start", "lazy");
    }
    intel.in_session &= settings.in_session.is_none_or(|(in_session, _)| in_session);
    if let Some((name, server)) = table.servers.iter().next() {
        let problem = "a project cannot say which programs run; set it in your own file";
        return Err(source.refuse(
            source.line(&server.span()),
            &format!("code-intel.servers.{name}"),
            problem,
        ));
    }
    leave_out(intel, table, source)
}

fn read(table: &IntelTable, source: &Source) -> Result<IntelOverrides, CliError> {
    let memory = text(source, "memory", table.memory.as_ref(), MemoryShare::parse)?;
    let servers = match &table.max_servers {
        None => None,
        Some(value) => {
            let line = source.line(&value.span());
            let servers = usize::try_from(*value.get_ref()).ok().filter(|servers| (1..=32).contains(servers));
            let refused = || source.refuse(line, "code-intel.max_servers", "must be from 1 to 32");
            Some((servers.ok_or_else(refused)?, line))
        }
    };
    let mode = text(source, "mode", table.mode.as_ref(), |text| match text {
        "auto" => Ok(None),
        "servers" => Ok(Some(IntelMode::Servers)),
        "check" => Ok(Some(IntelMode::Check)),
        "off" => Ok(Some(IntelMode::Off)),
        other => Err(format!("{other:?} is none of auto, servers, check and off")),
    })?;
    let in_session = text(source, "start", table.start.as_ref(), |text| match text {
        "lazy" => Ok(false),
        "session" => Ok(true),
        other => Err(format!("{other:?} is none of lazy (with the first edit) and session")),
    })?;
    let after_edit = text(source, "after_edit", table.after_edit.as_ref(), time)?;
    let idle = text(source, "idle", table.idle.as_ref(), |text| match time(text)? {
        time if time < Duration::from_secs(1) => Err("must be at least 1s".to_owned()),
        time => Ok(time),
    })?;
    Ok(IntelOverrides { mode, after_edit, servers, memory, idle, in_session })
}

fn text<T>(
    source: &Source,
    field: &str,
    value: Option<&Spanned<String>>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<(T, usize)>, CliError> {
    let Some(value) = value else { return Ok(None) };
    let line = source.line(&value.span());
    match parse(value.get_ref()) {
        Ok(value) => Ok(Some((value, line))),
        Err(problem) => Err(source.refuse(line, &format!("code-intel.{field}"), problem)),
    }
}

/// Reads `800ms` or `15m`; `0` means no time at all.
fn time(text: &str) -> Result<Duration, String> {
    let bad = || format!("{text:?} is no length of time; write it as 800ms, 2s or 15m");
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let millis = scaled(text, &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)]);
    millis.map(Duration::from_millis).ok_or_else(bad)
}

/// Adds a server of the user's own before the known ones, or changes fields of a known one.
fn add(
    adapters: &mut Vec<Adapter>,
    name: &str,
    table: &Spanned<toml::Value>,
    source: &Source,
) -> Result<(), CliError> {
    let field = format!("code-intel.servers.{name}");
    let refused = |problem: String| source.refuse(source.line(&table.span()), &field, problem);
    let json = |value: Result<Value, serde_json::Error>| value.map_err(|error| refused(error.to_string()));
    let Value::Object(entries) = json(serde_json::to_value(table.get_ref()))? else {
        return Err(refused("must be a table".to_owned()));
    };
    let known = adapters.iter().position(|adapter| adapter.name == name);
    let mut fields = match known {
        Some(at) => json(serde_json::to_value(&adapters[at]))?,
        None => Value::Object(serde_json::Map::new()),
    };
    for (field, value) in entries {
        if field == "name" {
            return Err(refused("the name stands in the title of the table".to_owned()));
        }
        // All fields of the file are written with an underscore, but other programs write these with a hyphen.
        fields[field.replace('_', "-")] = value;
    }
    fields["name"] = name.into();
    let adapter: Adapter = serde_json::from_value(fields).map_err(|error| refused(error.to_string()))?;
    let is_one_name = |ending: &String| !ending.is_empty() && !ending.starts_with('.');
    if adapter.command.is_empty()
        || adapter.languages.is_empty()
        || !adapter.languages.keys().all(is_one_name)
    {
        let problem = "needs a command, and languages: endings without a dot, each with a name (languages = { zig = \"zig\" })";
        return Err(refused(problem.to_owned()));
    }
    match known {
        Some(at) => adapters[at] = adapter,
        None => adapters.insert(0, adapter),
    }
    Ok(())
}

fn leave_out(intel: &mut IntelConfig, table: &IntelTable, source: &Source) -> Result<(), CliError> {
    for name in &table.without {
        let before = intel.adapters.len();
        intel.adapters.retain(|adapter| adapter.name != *name.get_ref());
        if intel.adapters.len() == before
            && Adapter::standard().iter().all(|known| known.name != *name.get_ref())
        {
            let known: Vec<&str> = intel.adapters.iter().map(|adapter| adapter.name.as_str()).collect();
            let problem = format!("{:?} is no server; there are {}", name.get_ref(), known.join(", "));
            return Err(source.refuse(source.line(&name.span()), "code-intel.without", problem));
        }
    }
    Ok(())
}
