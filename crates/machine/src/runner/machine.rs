//! Answers the gate's questions about the machine, right before a command runs that nobody was asked about.
//!
//! [`ConditionalCommand`] defines the questions and what follows from the answers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::Stdio;

use headstart_agent::native::real_path;
use headstart_git_ahead::version_in;
use headstart_tool_gate::{ConditionalCommand, Probe, Probed, Probes, ProvenCommand, UnmetNeed, Unproven};
use tokio::process::Command;
use tokio::sync::OnceCell;

use crate::git::{Family, odd_file};
use crate::system::{find_program, read_plain};

/// The most bytes of a file of git that are read to answer a question of the gate.
const MAX_BYTES: u64 = 1 << 24;

/// The variable by which the gate keeps git from looking above the workspace.
const CEILING: &str = "GIT_CEILING_DIRECTORIES";

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
    /// It would be confined, and may not read the repository, because that may be anybody's.
    OutOfReach(&'static str),
    /// Git would wait for ever for the content of this file.
    OddFile(String),
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

/// Where commands run, and as what.
pub(super) struct Place<'a> {
    /// The workspace, a path without links.
    pub(super) root: &'a Path,
    /// The user's home folder.
    pub(super) home: Option<&'a Path>,
    pub(super) git: &'a InstalledGit,
    pub(super) environment: &'a BTreeMap<OsString, OsString>,
    /// Whether a command reads nothing outside the workspace but what belongs to its repository.
    pub(super) is_confined: bool,
}

/// The command as it may run, with what a confined one reads outside the workspace, or why it must not run.
pub(super) async fn prove<'a>(
    command: &'a ConditionalCommand,
    place: &Place<'_>,
) -> Result<(ProvenCommand<'a>, Family), Objection> {
    let Place { root, home, git, environment, is_confined } = *place;
    let (mut probes, mut family) = (Probes::default(), Family::default());
    loop {
        let probe = match command.prove(&probes) {
            // The gate took the workspace for the top of the repository.
            Ok(proven) if family.top.is_some() && proven.environment.contains_key(CEILING) => {
                return Err(Objection::OutOfReach("the top of its repository lies above the workspace"));
            }
            Ok(proven) => return Ok((proven, family)),
            Err(Unproven::Unmet(need)) => return Err(Objection::Unmet(need)),
            Err(Unproven::Look(probe)) => probe,
        };
        // Only a command that starts git asks for this.
        if probe == Probe::GitVersion {
            if let Some(file) = odd_file(root) {
                return Err(Objection::OddFile(file));
            }
            if is_confined {
                family = Family::of(root, home).map_err(Objection::OutOfReach)?;
            }
            if let Some(top) = &family.top {
                let Some(top) = top.to_str() else {
                    return Err(Objection::OutOfReach("the path of its repository is not text"));
                };
                probes.set_repository_above(top);
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
    // Of a pipe, a device, and what is larger, this is an error.
    read_plain(path, MAX_BYTES).map_or_else(|error| missing(&error), Probed::File)
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
