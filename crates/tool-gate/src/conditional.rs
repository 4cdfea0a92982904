//! A command line that is handed out only after a look at the facts of the machine on which the gate's verdict
//! depends.

mod old_git;
mod repository;
mod tokens;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{GitNeeds, Hardened};
pub use repository::UnmetNeed;
pub use tokens::git_config_holds_token;

/// A command that the gate would allow. Its line stays hidden until whoever runs it has checked the machine.
///
/// Some of what git does no variable and no option can prevent ([`GitNeeds`]): it depends on the version of git, and
/// on the attributes and the configuration of the repositories that it finds. Only the machine can tell those. So the
/// line comes out of [`prove`](Self::prove) and of nothing else, and `prove` needs the answers. The check is here,
/// once for all executors: it asks one [`Probe`] after the other, and an executor only answers.
///
/// ```
/// use std::path::Path;
/// use headstart_tool_gate::{ConditionalCommand, Probe, Probed, Probes, ProvenCommand, Unproven};
///
/// /// All that an executor has to know of its machine. Where it cannot tell, it says so.
/// fn look(root: &Path, probe: &Probe) -> Probed {
///     match probe {
///         Probe::GitVersion => Probed::Version(2, 47), // ask `git version`, in the environment of the command
///         Probe::Folder(path) => match root.join(path).canonicalize() {
///             Err(_) => Probed::Absent,
///             Ok(real) => match real.strip_prefix(root).map(Path::to_str) {
///                 Err(_) => Probed::Outside,
///                 Ok(None) => Probed::Unknown,
///                 Ok(Some("")) => Probed::Folder(".".to_owned()),
///                 Ok(Some(inside)) => Probed::Folder(inside.to_owned()),
///             },
///         },
///         Probe::File(path) => match std::fs::read(root.join(path)) {
///             Ok(content) => Probed::File(content),
///             Err(error) if error.kind() == std::io::ErrorKind::NotFound => Probed::Absent,
///             Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Probed::Absent,
///             Err(_) => Probed::Unknown,
///         },
///         _ => Probed::Unknown,
///     }
/// }
///
/// /// The line to give to `bash -c`, and the variables to set; or what to tell the model.
/// fn to_run<'a>(command: &'a ConditionalCommand, root: &Path) -> Result<ProvenCommand<'a>, String> {
///     let mut probes = Probes::default();
///     loop {
///         match command.prove(&probes) {
///             Ok(proven) => return Ok(proven),
///             // An executor without threads to block awaits its answer here.
///             Err(Unproven::Look(probe)) => {
///                 let probed = look(root, &probe);
///                 probes.add(probe, probed);
///             }
///             Err(Unproven::Unmet(need)) => return Err(need.to_string()),
///         }
///     }
/// }
///
/// let root = Path::new("/nowhere");
/// let command = ConditionalCommand::allowed("wc -l README.md", None);
/// assert_eq!(to_run(&command, root).map(|proven| proven.line), Ok("wc -l README.md"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionalCommand {
    line: String,
    environment: Arc<BTreeMap<String, String>>,
    git: Option<GitNeeds>,
    absent: Vec<String>,
    /// The environment for a git that cannot be kept from reading attributes.
    of_old_git: BTreeMap<String, String>,
}

/// A command that may run now, because [`Probes`] showed a moment ago what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProvenCommand<'a> {
    /// The line, for `bash -c`.
    pub line: &'a str,
    /// Variables that have to be set for it, over the environment it starts from.
    pub environment: &'a BTreeMap<String, String>,
}

/// A fact of the machine that has to be looked up. Paths are relative to the workspace, or absolute; they are paths
/// of the machine, so a `..` means what it means to the system.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "kind", content = "path", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Probe {
    /// The version of the git that the command would start: [`Probed::Version`].
    GitVersion,
    /// Where this folder is once links are followed: [`Probed::Folder`].
    Folder(String),
    /// What this file holds, links followed: [`Probed::File`].
    File(String),
}

/// The answer to a [`Probe`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Probed {
    /// A version, major and minor.
    Version(u32, u32),
    /// A folder of the workspace, as its path in the workspace without links; `.` is the workspace itself.
    Folder(String),
    /// A folder that lies outside the workspace.
    Outside,
    /// The content of a file.
    File(Vec<u8>),
    /// The system says that it does not exist (and not merely that it may not be read).
    Absent,
    /// The executor cannot tell. Then the command does not run.
    Unknown,
}

/// The answers of a machine with a new git, whose workspace holds no repository and no links: for tests, and for
/// hosts that have no git.
pub fn no_repository(probe: &Probe) -> Probed {
    match probe {
        Probe::GitVersion => Probed::Version(u32::MAX, 0),
        Probe::Folder(path) => Probed::Folder(path.clone()),
        Probe::File(_) => Probed::Absent,
    }
}

/// The answers so far, for one run of one command. They cannot be kept for the next run, because the machine may
/// change.
#[derive(Debug, Clone, Default)]
pub struct Probes {
    answers: BTreeMap<Probe, Probed>,
    repository_above: Option<String>,
}

impl Probes {
    /// Says that git may find a repository in this folder above the workspace, so that it is checked too. An executor
    /// that does not say so must keep git from looking there (a confined one cannot read it).
    pub fn set_repository_above(&mut self, folder: impl Into<String>) {
        self.repository_above = Some(folder.into());
    }

    /// Adds an answer.
    pub fn add(&mut self, probe: Probe, probed: Probed) {
        self.answers.insert(probe, probed);
    }
}

/// Why a command is not handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unproven {
    /// This has to be looked up next. The number of these is limited.
    Look(Probe),
    /// The command must not run.
    Unmet(UnmetNeed),
}

impl ConditionalCommand {
    /// A command that the gate allowed: `written` is its line in the call, `hardened` what the verdict says of how to
    /// run it.
    pub fn allowed(written: &str, hardened: Option<&Hardened>) -> Self {
        let Some(hardened) = hardened else { return Self::approved(written) };
        let of_old_git = hardened.git.as_ref().map(|_| old_git::environment(&hardened.environment));
        Self {
            line: hardened.command.as_deref().unwrap_or(written).to_owned(),
            environment: Arc::clone(&hardened.environment),
            git: hardened.git.clone(),
            absent: hardened.absent.clone(),
            of_old_git: of_old_git.unwrap_or_default(),
        }
    }

    /// A command that the user approved as it is written, for which nothing has to be checked.
    pub fn approved(written: &str) -> Self {
        let (environment, of_old_git) = (Arc::default(), BTreeMap::new());
        Self { line: written.to_owned(), environment, git: None, absent: Vec::new(), of_old_git }
    }

    /// Whether something has to be looked up before it runs.
    pub const fn is_conditional(&self) -> bool {
        self.git.is_some() || !self.absent.is_empty()
    }

    /// Whether the command starts git, as far as the gate knows.
    pub const fn starts_git(&self) -> bool {
        self.git.is_some()
    }

    /// The folders of the workspace from which the command has git look for a repository, `.` for the workspace itself;
    /// none if it starts no git.
    pub fn git_folders(&self) -> &[String] {
        self.git.as_ref().map_or(&[], |git| &git.folders)
    }

    /// Hands out the command once `probes` show all that it needs.
    ///
    /// # Errors
    ///
    /// What has to be looked up next, or why the command must not run.
    pub fn prove(&self, probes: &Probes) -> Result<ProvenCommand<'_>, Unproven> {
        let mut environment = &*self.environment;
        if let Some(git) = &self.git {
            let version = repository::check(git, probes)?;
            if old_git::reads_attributes(version) {
                environment = &self.of_old_git;
            }
        }
        repository::check_absent(&self.absent, probes)?;
        Ok(ProvenCommand { line: &self.line, environment })
    }

    /// As [`prove`](Self::prove), for an executor that can answer each probe at once.
    ///
    /// # Errors
    ///
    /// Why the command must not run.
    pub fn prove_by(&self, mut look: impl FnMut(&Probe) -> Probed) -> Result<ProvenCommand<'_>, UnmetNeed> {
        let mut probes = Probes::default();
        loop {
            match self.prove(&probes) {
                Ok(proven) => return Ok(proven),
                Err(Unproven::Unmet(need)) => return Err(need),
                Err(Unproven::Look(probe)) => {
                    let answer = look(&probe);
                    probes.add(probe, answer);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
