//! What the files say about views: `[shadow]`.

use std::path::PathBuf;
use std::time::Duration;

use headstart_overlay_fs::WorkspacePath;
use headstart_shadow::Tier;
use headstart_speculation::Freshness;
use serde::Deserialize;
use toml::Spanned;

use super::source::Source;
use crate::environment::Environment;
use crate::error::CliError;

/// Whether commands of work ahead run in views, and what a view may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShadowConfig {
    pub enabled: bool,
    /// The best way of isolating a view that is tried.
    pub(crate) tier: Tier,
    /// How long one command may run.
    pub time: Duration,
    /// How many views may exist at the same time.
    pub(crate) views: usize,
    pub memory: u64,
    pub processes: u64,
    pub bytes: u64,
    pub files: u64,
    /// What happens to work whose commands ran before the user's last edits.
    pub fresh: Freshness,
    /// Further folders that a view shows.
    pub(crate) show: Vec<PathBuf>,
    /// Further folders of tools. What is written there is discarded.
    pub(crate) tools: Vec<PathBuf>,
    /// Further folders of build output.
    pub build: Vec<WorkspacePath>,
    /// The most bytes of build output on the disk, for all views of a workspace together.
    pub(crate) build_bytes: u64,
    /// Command lines that may run in idle time after an accept, to build the output with which all views of the
    /// workspace begin.
    pub(crate) warm: Vec<String>,
    /// What completed work is checked with.
    pub(crate) check: CheckSetting,
    /// The program, with its arguments, that reaches views on another machine. It is empty if views are on this
    /// machine.
    pub remote: Vec<String>,
    /// The most bytes for copies of other machines' workspaces, all of them together.
    pub copy_bytes: u64,
    /// The number of processors on which commands run.
    pub(crate) cpus: u64,
    /// Whether `shadow run --network` runs without a question. Work ahead has no network in any case.
    pub allows_network: bool,
}

/// What completed work is checked with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CheckSetting {
    /// The check is found from the project's files and the installed programs.
    #[default]
    Found,
    /// Nothing is checked.
    Off,
    /// This command line is the check.
    Line(String),
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ShadowTable {
    enabled: Option<Spanned<bool>>,
    time: Option<Spanned<String>>,
    views: Option<Spanned<u64>>,
    memory: Option<Spanned<String>>,
    processes: Option<Spanned<u64>>,
    bytes: Option<Spanned<String>>,
    files: Option<Spanned<u64>>,
    fresh: Option<Spanned<String>>,
    show: Vec<Spanned<PathBuf>>,
    tools: Vec<Spanned<PathBuf>>,
    build: Vec<Spanned<String>>,
    build_bytes: Option<Spanned<String>>,
    warm: Vec<Spanned<String>>,
    check: Option<Spanned<String>>,
    remote: Option<Spanned<Vec<String>>>,
    copy_bytes: Option<Spanned<String>>,
    cpus: Option<Spanned<u64>>,
    network: Option<Spanned<String>>,
}

impl Default for ShadowConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            tier: Tier::Kernel,
            time: Duration::from_secs(120),
            views: 64,
            memory: 4 << 30,
            processes: 512,
            bytes: 512 << 20,
            files: 200_000,
            fresh: Freshness::Tell,
            show: Vec::new(),
            tools: Vec::new(),
            build: Vec::new(),
            build_bytes: 8 << 30,
            warm: Vec::new(),
            check: CheckSetting::default(),
            remote: Vec::new(),
            copy_bytes: 32 << 30,
            cpus: u64::MAX,
            allows_network: false,
        }
    }
}

/// A limit of the table, and where it is kept.
struct Limit {
    name: &'static str,
    of: fn(&mut ShadowConfig) -> u64,
    set: fn(&mut ShadowConfig, u64),
}

const LIMITS: [Limit; 9] = [
    Limit {
        name: "time",
        of: |shadow| shadow.time.as_secs(),
        set: |shadow, value| shadow.time = Duration::from_secs(value),
    },
    Limit {
        name: "views",
        of: |shadow| shadow.views as u64,
        set: |shadow, value| shadow.views = usize::try_from(value).unwrap_or(usize::MAX),
    },
    Limit { name: "memory", of: |shadow| shadow.memory, set: |shadow, value| shadow.memory = value },
    Limit { name: "processes", of: |shadow| shadow.processes, set: |shadow, value| shadow.processes = value },
    Limit { name: "bytes", of: |shadow| shadow.bytes, set: |shadow, value| shadow.bytes = value },
    Limit { name: "files", of: |shadow| shadow.files, set: |shadow, value| shadow.files = value },
    Limit {
        name: "build_bytes",
        of: |shadow| shadow.build_bytes,
        set: |shadow, value| shadow.build_bytes = value,
    },
    Limit {
        name: "copy_bytes",
        of: |shadow| shadow.copy_bytes,
        set: |shadow, value| shadow.copy_bytes = value,
    },
    Limit { name: "cpus", of: |shadow| shadow.cpus, set: |shadow, value| shadow.cpus = value },
];

/// Applies what the user's own file says.
pub(super) fn apply_users(
    shadow: &mut ShadowConfig,
    table: &ShadowTable,
    source: &Source,
) -> Result<(), CliError> {
    shadow.enabled = table.enabled.as_ref().map_or(shadow.enabled, |enabled| *enabled.get_ref());
    for (limit, value, _) in limits(table, source)? {
        (limit.set)(shadow, value);
    }
    if let Some((fresh, _)) = fresh(table, source)? {
        shadow.fresh = fresh;
    }
    if let Some((allows, _)) = network(table, source)? {
        shadow.allows_network = allows;
    }
    shadow.show = folders(source, "shadow.show", &table.show)?;
    shadow.tools = folders(source, "shadow.tools", &table.tools)?;
    if let Some(check) = &table.check {
        shadow.check = match check.get_ref().trim() {
            "" => {
                let problem = "is empty; write a command line, \"off\", or \"found\" for what the files tell";
                return Err(source.refuse(source.line(&check.span()), "shadow.check", problem));
            }
            "off" => CheckSetting::Off,
            "found" => CheckSetting::Found,
            line => CheckSetting::Line(line.to_owned()),
        };
    }
    if let Some(remote) = &table.remote {
        if remote.get_ref().first().is_some_and(String::is_empty) {
            let problem = "names no program; write [\"ssh\", \"HOST\", \"headstart\", \"shadow\", \"serve\"], or leave it out";
            return Err(source.refuse(source.line(&remote.span()), "shadow.remote", problem));
        }
        shadow.remote.clone_from(remote.get_ref());
    }
    shadow.warm = table.warm.iter().map(|line| line.get_ref().clone()).collect();
    shadow.build = table.build.iter().map(|folder| build_folder(source, folder)).collect::<Result<_, _>>()?;
    Ok(())
}

/// Applies what the project's file says, as far as it has less done.
pub(super) fn apply_projects(
    shadow: &mut ShadowConfig,
    table: &ShadowTable,
    source: &Source,
) -> Result<(), CliError> {
    if let Some(enabled) = &table.enabled {
        if *enabled.get_ref() && !shadow.enabled {
            let problem = "a project can only switch views off, and yours are off";
            return Err(source.refuse(source.line(&enabled.span()), "shadow.enabled", problem));
        }
        shadow.enabled = *enabled.get_ref();
    }
    for (limit, value, line) in limits(table, source)? {
        let users = (limit.of)(shadow);
        if users < value {
            let problem = format!("a project can only lower this, and yours is {users}");
            return Err(source.refuse(line, &format!("shadow.{}", limit.name), problem));
        }
        (limit.set)(shadow, value);
    }
    if let Some((fresh, line)) = fresh(table, source)? {
        if fresh == Freshness::Tell && shadow.fresh == Freshness::Require {
            let problem = "a project can only be stricter, and yours is require";
            return Err(source.refuse(line, "shadow.fresh", problem));
        }
        shadow.fresh = fresh;
    }
    if let Some((allows, line)) = network(table, source)? {
        if allows {
            let problem = "a project can only deny it; set it in your own file";
            return Err(source.refuse(line, "shadow.network", problem));
        }
        shadow.allows_network = false;
    }
    for (name, folders) in [("shadow.show", &table.show), ("shadow.tools", &table.tools)] {
        if let Some(folder) = folders.first() {
            let problem = "a project cannot open folders of yours; set it in your own file";
            return Err(source.refuse(source.line(&folder.span()), name, problem));
        }
    }
    if let Some(check) = &table.check {
        if check.get_ref() != "off" {
            let problem = "a project can only switch it off; name a check in your own file";
            return Err(source.refuse(source.line(&check.span()), "shadow.check", problem));
        }
        shadow.check = CheckSetting::Off;
    }
    if let Some(remote) = &table.remote {
        let problem = "a project cannot choose where your files are sent; set it in your own file";
        return Err(source.refuse(source.line(&remote.span()), "shadow.remote", problem));
    }
    if let Some(line) = table.warm.first() {
        let problem = "a project cannot have commands run; set it in your own file";
        return Err(source.refuse(source.line(&line.span()), "shadow.warm", problem));
    }
    if let Some(folder) = table.build.first() {
        let problem = "a project cannot leave out what commands write; set it in your own file";
        return Err(source.refuse(source.line(&folder.span()), "shadow.build", problem));
    }
    Ok(())
}

/// The limits of a file, with their lines.
fn limits(table: &ShadowTable, source: &Source) -> Result<Vec<(&'static Limit, u64, usize)>, CliError> {
    let number =
        |value: &Option<Spanned<u64>>| value.as_ref().map(|value| (Ok(*value.get_ref()), value.span()));
    let text = |value: &Option<Spanned<String>>, parse: fn(&str) -> Result<u64, String>| {
        value.as_ref().map(|value| (parse(value.get_ref()), value.span()))
    };
    let values = [
        text(&table.time, seconds),
        number(&table.views),
        text(&table.memory, bytes),
        number(&table.processes),
        text(&table.bytes, bytes),
        number(&table.files),
        text(&table.build_bytes, bytes),
        text(&table.copy_bytes, bytes),
        number(&table.cpus),
    ];
    let mut limits = Vec::new();
    for (limit, value) in LIMITS.iter().zip(values) {
        let Some((value, span)) = value else { continue };
        let line = source.line(&span);
        let least = |value: u64| if value < 1 { Err("must be at least 1".to_owned()) } else { Ok(value) };
        let refuse = |problem: String| source.refuse(line, &format!("shadow.{}", limit.name), problem);
        limits.push((limit, value.and_then(least).map_err(refuse)?, line));
    }
    Ok(limits)
}

fn fresh(table: &ShadowTable, source: &Source) -> Result<Option<(Freshness, usize)>, CliError> {
    let Some(fresh) = &table.fresh else { return Ok(None) };
    let line = source.line(&fresh.span());
    match fresh.get_ref().as_str() {
        "tell" => Ok(Some((Freshness::Tell, line))),
        "require" => Ok(Some((Freshness::Require, line))),
        other => Err(source.refuse(line, "shadow.fresh", format!("{other:?} is none of tell and require"))),
    }
}

/// Whether `shadow run --network` runs without a question.
fn network(table: &ShadowTable, source: &Source) -> Result<Option<(bool, usize)>, CliError> {
    let Some(network) = &table.network else { return Ok(None) };
    let line = source.line(&network.span());
    match network.get_ref().as_str() {
        "deny" => Ok(Some((false, line))),
        "allow" => Ok(Some((true, line))),
        other => Err(source.refuse(line, "shadow.network", format!("{other:?} is none of deny and allow"))),
    }
}

fn folders(source: &Source, field: &str, folders: &[Spanned<PathBuf>]) -> Result<Vec<PathBuf>, CliError> {
    let absolute = |folder: &Spanned<PathBuf>| {
        let path = folder.get_ref().clone();
        if path.is_absolute() {
            return Ok(path);
        }
        let problem = format!("{:?} is not absolute", path.to_string_lossy());
        Err(source.refuse(source.line(&folder.span()), field, problem))
    };
    folders.iter().map(absolute).collect()
}

fn build_folder(source: &Source, folder: &Spanned<String>) -> Result<WorkspacePath, CliError> {
    let refuse = |problem: String| source.refuse(source.line(&folder.span()), "shadow.build", problem);
    let path = WorkspacePath::parse(folder.get_ref()).map_err(|error| refuse(error.to_string()))?;
    if path.is_root() || path.names().any(|name| name == b".git") {
        return Err(refuse(format!(
            "{:?} is no folder that a build tool could have for itself",
            folder.get_ref()
        )));
    }
    Ok(path)
}

/// Reads `120s`, `2m` or `1h` as seconds.
fn seconds(text: &str) -> Result<u64, String> {
    let bad = || format!("{text:?} is no length of time; write it as 120s, 2m or 1h");
    scaled(text, &[("s", 1), ("m", 60), ("h", 3_600)]).ok_or_else(bad)
}

/// Reads `512MiB` or `4GiB` as bytes.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let bad = || format!("{text:?} is no number of bytes; write it as 512MiB or 4GiB");
    scaled(text, &[("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)]).ok_or_else(bad)
}

pub(super) fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|letter: char| !letter.is_ascii_digit())?);
    let (_, scale) = units.iter().find(|(name, _)| *name == unit.trim())?;
    number.parse::<u64>().ok()?.checked_mul(*scale)
}

/// Applies what the environment says: it turns views on or off, or chooses a weaker isolation than this system offers.
pub(super) fn apply_variable(shadow: &mut ShadowConfig, environment: &Environment) -> Result<(), CliError> {
    const VARIABLE: &str = "HEADSTART_SHADOW";
    let worse = [Tier::Clone, Tier::Copy];
    if let Some(tier) = worse.into_iter().find(|tier| environment.get(VARIABLE) == Some(tier.name().as_ref()))
    {
        shadow.tier = tier;
        return Ok(());
    }
    // The environment is the user's word for this run, so it overrides a project that turns views off, as for other
    // switches.
    shadow.enabled = environment.switch(VARIABLE)?.unwrap_or(shadow.enabled);
    Ok(())
}
