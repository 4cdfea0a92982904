//! Answers the gate's questions about the machine, right before a command runs that nobody was asked about.
//!
//! [`ConditionalCommand`] defines the questions and what follows from the answers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Stdio;

use headstart_agent::native::real_path;
use headstart_git_ahead::version_in;
use headstart_tool_gate::{ConditionalCommand, Probe, Probed, Probes, ProvenCommand, UnmetNeed, Unproven};
use tokio::process::Command;
use tokio::sync::OnceCell;

use crate::git::odd_file;
use crate::system::{find_program, read_plain};

/// The most bytes of a file of git that are read to answer a question of the gate.
const MAX_BYTES: u64 = 1 << 24;

/// The version of the git that commands find; it is asked for only once.
#[derive(Default)]
pub(super) struct InstalledGit(OnceCell<Option<(u32, u32)>>);

impl InstalledGit {
    async fn version(&self, environment: &BTreeMap<OsString, OsString>) -> Probed {
        match self.0.get_or_init(|| ask(environment)).await {
            Some((major, minor)) => Probed::Version(*major, *minor),
            None => Probed::Unknown,
        }
    }
}

/// Why a command must not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Objection {
    /// The gate's verdict rests on something that is not so here.
    Unmet(UnmetNeed),
    /// It would be confined, and git would find no repository although there is one.
    OutOfReach(&'static str),
    /// Git would wait for ever for the content of this file.
    OddFile(&'static str),
}

impl Objection {
    /// The reason, for a user.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Unmet(need) => need.reason(),
            Self::OutOfReach(why) => (*why).to_owned(),
            Self::OddFile(file) => format!("{file} is not a regular file, and git might never end"),
        }
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unmet(need) => need.fmt(f),
            Self::OutOfReach(_) | Self::OddFile(_) => write!(
                f,
                "the command was not run: {}; use other tools than git until the user has answered",
                self.reason()
            ),
        }
    }
}

impl std::error::Error for Objection {}

/// The command as it may run in the workspace `root`, a path without links, or why it must not run. One that is
/// confined reads nothing outside the workspace.
pub(super) async fn prove<'a>(
    command: &'a ConditionalCommand,
    root: &Path,
    git: &InstalledGit,
    environment: &BTreeMap<OsString, OsString>,
    is_confined: bool,
) -> Result<ProvenCommand<'a>, Objection> {
    let mut probes = Probes::default();
    loop {
        let probe = match command.prove(&probes) {
            Ok(proven) => return Ok(proven),
            Err(Unproven::Unmet(need)) => return Err(Objection::Unmet(need)),
            Err(Unproven::Look(probe)) => probe,
        };
        // Only a command that starts git asks for this.
        if probe == Probe::GitVersion {
            if let Some(file) = odd_file(root) {
                return Err(Objection::OddFile(file));
            }
            if let Some(why) = repository_out_of_reach(root).filter(|_| is_confined) {
                return Err(Objection::OutOfReach(why));
            }
        }
        let result = match &probe {
            Probe::GitVersion => git.version(environment).await,
            Probe::Folder(path) => folder(&root.join(path), root),
            Probe::File(path) => file(&root.join(path)),
            _ => Probed::Unknown,
        };
        probes.add(probe, result);
    }
}

/// Why git would not find the repository of a workspace, or not all of it, if it can read nothing outside; `None` if it
/// finds it, or there is none.
fn repository_out_of_reach(root: &Path) -> Option<&'static str> {
    let is_outside = |path: &Path| !path.canonicalize().is_ok_and(|real| real.starts_with(root));
    let dot_git = root.join(".git");
    if dot_git.symlink_metadata().is_err() {
        let is_below = root.ancestors().skip(1).any(|above| above.join(".git").exists());
        return is_below.then_some(
            "the repository is in a folder above the workspace, which a confined git cannot read",
        );
    }
    let target_in = |file: &Path, before: &str| {
        let text = text_of(file)?;
        let target = text.strip_prefix(before)?.trim_end_matches(['\n', '\r']);
        Some(file.parent().unwrap_or(root).join(target))
    };
    let own = target_in(&dot_git, "gitdir: ").unwrap_or(dot_git);
    let common = target_in(&own.join("commondir"), "").unwrap_or_else(|| own.clone());
    if is_outside(&own) || is_outside(&common) {
        return Some(
            "the repository lies outside the workspace (a linked worktree, a submodule or a link), where a confined git cannot read",
        );
    }
    let objects = common.join("objects");
    let others = text_of(&objects.join("info/alternates")).unwrap_or_default();
    let is_shared = others.lines().any(|line| !line.starts_with('#') && is_outside(&objects.join(line)));
    is_shared.then_some("the repository takes objects from another one outside the workspace, where a confined git cannot read")
}

/// One of git's small files; a project may have put anything in its place.
fn text_of(file: &Path) -> Option<String> {
    String::from_utf8(read_plain(file, MAX_BYTES).ok()?).ok()
}

fn folder(path: &Path, root: &Path) -> Probed {
    let real = match real_path(path) {
        Ok(real) => real,
        Err(error) => return missing(&error),
    };
    match real.strip_prefix(root).map(Path::to_str) {
        Ok(Some("")) => Probed::Folder(".".to_owned()),
        Ok(Some(inside)) => Probed::Folder(inside.to_owned()),
        // A name that is not text cannot be part of a question.
        Ok(None) => Probed::Unknown,
        Err(_) => Probed::Outside,
    }
}

fn file(path: &Path) -> Probed {
    match fs::metadata(path) {
        // Reading a pipe would wait for a process that writes to it.
        Ok(metadata) if !metadata.is_file() || MAX_BYTES < metadata.len() => Probed::Unknown,
        Ok(_) => fs::read(path).map_or_else(|error| missing(&error), Probed::File),
        Err(error) => missing(&error),
    }
}

fn missing(error: &io::Error) -> Probed {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Probed::Absent,
        _ => Probed::Unknown,
    }
}

async fn ask(environment: &BTreeMap<OsString, OsString>) -> Option<(u32, u32)> {
    let path = environment.get(&OsString::from("PATH"))?;
    let program = find_program("git", std::env::split_paths(path))?;
    let mut version = Command::new(program);
    version
        .arg("version")
        .current_dir("/")
        .env_clear()
        .envs(environment)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = version.output().await.ok()?;
    version_in(&String::from_utf8_lossy(&output.stdout))
}

#[cfg(test)]
mod tests;

#[cfg(test)]
#[cfg(unix)]
mod attacks;
