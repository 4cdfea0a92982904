//! A command line that is given out only once what it rests on was looked at.

mod repository;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{GitNeeds, Hardened};
pub use repository::UnmetNeed;

/// A command as it may run, its line closed until whoever runs it has looked at what the gate's proof rests on.
///
/// What no variable and no option makes git do ([`GitNeeds`]) only the machine can tell: the version of git, the
/// attributes and the configuration of the repositories that it finds. So the line comes out of
/// [`prove`](Self::prove) and of nothing else, and that takes the answers. The check itself is here, once for
/// all executors: it asks one [`Probe`] after the other, and an executor only answers.
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
}

/// A command that may run now, for [`Probes`] that were true a moment ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProvenCommand<'a> {
    /// The line, for `bash -c`.
    pub line: &'a str,
    /// Variables that have to be set for it, over the environment it starts from.
    pub environment: &'a BTreeMap<String, String>,
}

/// Something of the machine that has to be looked at. Paths are relative to the workspace, or absolute; they are those of the machine, with
/// `..` in the system's meaning.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "kind", content = "path", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Probe {
    /// The version of the git that the command would find: [`Probed::Version`].
    GitVersion,
    /// Where this folder really lies, links followed: [`Probed::Folder`].
    Folder(String),
    /// What this file holds, links followed: [`Probed::File`].
    File(String),
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Probed {
    /// A version, major and minor.
    Version(u32, u32),
    /// A folder of the workspace, by its path in it without links; `.` is the workspace itself.
    Folder(String),
    /// A folder that lies outside the workspace.
    Outside,
    /// The content of a file.
    File(Vec<u8>),
    /// It is surely not there: the system says so, and not that it may not be looked at.
    Absent,
    /// It cannot be told; then the command does not run.
    Unknown,
}

/// What a machine answers that has a new git and whose workspace holds no repository: for tests, and for hosts that have none. It
/// knows no links, and no folder by another name.
pub fn no_repository(probe: &Probe) -> Probed {
    match probe {
        Probe::GitVersion => Probed::Version(u32::MAX, 0),
        Probe::Folder(path) => Probed::Folder(path.clone()),
        Probe::File(_) => Probed::Absent,
    }
}

/// What was looked at so far, for one run of one command: what it shows is true for a moment only.
#[derive(Debug, Clone, Default)]
pub struct Probes(BTreeMap<Probe, Probed>);

impl Probes {
    /// Adds what was seen.
    pub fn add(&mut self, probe: Probe, probed: Probed) {
        self.0.insert(probe, probed);
    }
}

/// Why a command is not given out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unproven {
    /// This has to be looked at next; there is an end to it.
    Look(Probe),
    /// The command must not run.
    Unmet(UnmetNeed),
}

impl ConditionalCommand {
    /// A command that the gate allowed: `written` as it stood in the call, and the verdict's hardened form.
    pub fn allowed(written: &str, hardened: Option<&Hardened>) -> Self {
        let Some(hardened) = hardened else { return Self::approved(written) };
        Self {
            line: hardened.command.as_deref().unwrap_or(written).to_owned(),
            environment: Arc::clone(&hardened.environment),
            git: hardened.git.clone(),
        }
    }

    /// A command that the user approved as it is written: nothing has to hold.
    pub fn approved(written: &str) -> Self {
        Self { line: written.to_owned(), environment: Arc::default(), git: None }
    }

    /// The command, once `probes` show that what it rests on holds.
    ///
    /// # Errors
    ///
    /// What has to be looked at next, or why the command must not run.
    pub fn prove(&self, probes: &Probes) -> Result<ProvenCommand<'_>, Unproven> {
        if let Some(git) = &self.git {
            repository::check(git, probes)?;
        }
        Ok(ProvenCommand { line: &self.line, environment: &self.environment })
    }

    /// The same for an executor that can look at once.
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
