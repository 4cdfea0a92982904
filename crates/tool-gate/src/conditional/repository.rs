//! What must be true of git and of each repository that it may find from a command's folders.
//!
//! A repository whose own folder lies outside the workspace (a linked worktree, an alternate object store) is checked
//! as far as the executor answers; a command that runs below a confinement cannot read it anyway.

use std::fmt;

use super::old_git::{self, Version};
use super::{Probe, Probed, Probes, Unproven, git_config_holds_token};
use crate::GitNeeds;

/// More folders than this are not checked, because links or `gitdir:` lines could name an endless number of paths.
const MAX_PROBES: usize = 512;

/// Words that make an attribute name a program, and `[attr]`, which defines an attribute that may stand for one.
const NAMES_PROGRAMS: [&[u8]; 4] = [b"filter", b"diff", b"merge", b"[attr]"];

/// Why a command must not run. Its text is for the model; [`reason`](Self::reason) is a part of it, for a user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnmetNeed {
    /// This git is older than the first version that can be kept from starting programs.
    OldGit {
        /// The version of this git.
        found: (u32, u32),
        /// The first version that will do.
        least: (u32, u32),
    },
    /// A configuration may make this git start a program or open a connection, which a newer one can be kept from.
    OldGitWithPrograms {
        /// The file, as the model knows it.
        path: String,
        /// The version of this git.
        found: (u32, u32),
        /// The first version that can be kept from it.
        least: (u32, u32),
    },
    /// The executor found no version of git.
    NoGit,
    /// A file may make git start a program.
    NamesPrograms {
        /// The file, as the model knows it.
        path: String,
    },
    /// A configuration sets `core.worktree` outside the workspace, or to something that cannot be read.
    WorkTreeOutside {
        /// The file, as the model knows it.
        path: String,
    },
    /// A configuration holds a password or a token, and the command may show it.
    HoldsToken {
        /// The file, as the model knows it.
        path: String,
    },
    /// A database is being written, and the newest of it lies in a file that the command would not read.
    DatabaseInUse {
        /// The file, as the model knows it.
        path: String,
    },
    /// The executor cannot tell what a path holds.
    Unknown {
        /// What was looked for.
        path: String,
    },
}

impl UnmetNeed {
    /// What stands in the way, and what to install if that helps.
    pub fn reason(&self) -> String {
        match self {
            Self::OldGit { found, least } => format!(
                "git here is {}.{}, and only from {}.{} on can it be kept from running programs that a repository names; install a newer one",
                found.0, found.1, least.0, least.1
            ),
            Self::OldGitWithPrograms { path, found, least } => format!(
                "{path} may have git run a program or fetch something, and git here is {}.{}, which cannot be kept from that; git {}.{} can",
                found.0, found.1, least.0, least.1
            ),
            Self::NoGit => {
                let (major, minor) = old_git::OLDEST;
                format!("there is no git here that tells its version; install git {major}.{minor} or later")
            }
            Self::NamesPrograms { path } => format!("{path} may name programs for git to run"),
            Self::WorkTreeOutside { path } => {
                format!("{path} sets core.worktree, and git may read outside the workspace")
            }
            Self::HoldsToken { path } => {
                format!(
                    "{path} holds a password or a token, which the command may show; a credential helper of git keeps it elsewhere"
                )
            }
            Self::DatabaseInUse { path } => format!(
                "{path} holds changes that are not in the database yet, and reading them makes sqlite3 write files"
            ),
            Self::Unknown { path } => format!("it cannot be told what is at {path}"),
        }
    }
}

impl fmt::Display for UnmetNeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.reason();
        if matches!(self, Self::DatabaseInUse { .. }) {
            return write!(f, "the command was not run: {reason}");
        }
        write!(f, "the command was not run: {reason}; use other tools than git until the user has answered")
    }
}

impl std::error::Error for UnmetNeed {}

/// Whether `probes` show all of `needs`. The answer is the version of git.
pub(super) fn check(needs: &GitNeeds, probes: &Probes) -> Result<Version, Unproven> {
    let version = match seen(probes, Probe::GitVersion)? {
        Probed::Version(major, minor) if old_git::OLDEST <= (*major, *minor) => (*major, *minor),
        Probed::Version(major, minor) => {
            return Err(unmet(UnmetNeed::OldGit { found: (*major, *minor), least: old_git::OLDEST }));
        }
        _ => return Err(unmet(UnmetNeed::NoGit)),
    };
    let check = Check { needs, probes, version };
    if let Some(above) = &probes.repository_above {
        check.dot_git(&join(above, ".git"))?;
    }
    for folder in &needs.folders {
        match seen(probes, Probe::Folder(folder.clone()))? {
            // Git follows a link, so the repository is looked for where it leads.
            Probed::Folder(real) => check.folder(real)?,
            // Git starts in none of these: the command fails there, or the executor refuses the folder.
            Probed::Absent | Probed::Outside => {}
            _ => return Err(unknown(folder)),
        }
    }
    Ok(version)
}

/// Whether `probes` show that all these files are missing or empty.
pub(super) fn check_absent(paths: &[String], probes: &Probes) -> Result<(), Unproven> {
    for path in paths {
        match seen(probes, Probe::File(path.clone()))? {
            Probed::Absent => {}
            Probed::File(content) if content.is_empty() => {}
            _ => return Err(unmet(UnmetNeed::DatabaseInUse { path: shown(path) })),
        }
    }
    Ok(())
}

struct Check<'a> {
    needs: &'a GitNeeds,
    probes: &'a Probes,
    version: Version,
}

impl Check<'_> {
    /// Checks every repository that git may find from a folder, whose path has no links.
    fn folder(&self, folder: &str) -> Result<(), Unproven> {
        // A folder within `.git` may be a repository itself, as that of a submodule is.
        let is_kept = folder.split('/').any(|name| name.eq_ignore_ascii_case(".git"));
        for above in ancestors(folder) {
            if is_kept || old_git::finds_bare(self.version) && self.may_be_repository(above)? {
                self.repository(above)?;
            }
            self.dot_git(&join(above, ".git"))?;
        }
        Ok(())
    }

    /// Whether a folder has what git looks for in a repository's own folder.
    fn may_be_repository(&self, folder: &str) -> Result<bool, Unproven> {
        let lacks = |name: &str| -> Result<bool, Unproven> {
            Ok(*seen(self.probes, Probe::Folder(join(folder, name)))? == Probed::Absent)
        };
        let has_common = *seen(self.probes, Probe::File(join(folder, "commondir")))? != Probed::Absent;
        Ok(has_common || !lacks("objects")? && !lacks("refs")?)
    }

    /// Checks a repository by its `.git`, which is a folder, or a file that names one.
    fn dot_git(&self, dot_git: &str) -> Result<(), Unproven> {
        let mut own = dot_git.to_owned();
        if let Some(text) = text_of(dot_git, self.probes)?
            && let Some(target) = text.trim_end_matches(['\n', '\r']).strip_prefix("gitdir: ")
        {
            own = join(parent(dot_git), target);
        }
        self.repository(&own)
    }

    /// Checks a repository's own folder, and the common one that a linked worktree has besides.
    fn repository(&self, own: &str) -> Result<(), Unproven> {
        self.settings(own)?;
        match text_of(&join(own, "commondir"), self.probes)? {
            Some(text) => self.settings(&join(own, text.trim_end_matches(['\n', '\r']))),
            None => Ok(()),
        }
    }

    fn settings(&self, own: &str) -> Result<(), Unproven> {
        for name in &self.needs.hides {
            let path = join(own, name);
            match seen(self.probes, Probe::File(path.clone()))? {
                Probed::Absent => {}
                Probed::File(content) if !names_programs(content) => {}
                _ => return Err(unmet(UnmetNeed::NamesPrograms { path: shown(&path) })),
            }
        }
        for name in ["config", "config.worktree"] {
            let path = join(own, name);
            let refused = || unmet(UnmetNeed::WorkTreeOutside { path: shown(&path) });
            let content = match seen(self.probes, Probe::File(path.clone()))? {
                Probed::Absent => continue,
                Probed::File(content) => String::from_utf8_lossy(content),
                _ => return Err(refused()),
            };
            for tree in work_trees(&content) {
                let tree = tree.ok_or_else(refused)?;
                let inside = seen(self.probes, Probe::Folder(join(own, &tree)))?;
                // A host may answer with an absolute path for a folder of its workspace; only a relative one shows
                // that it is inside.
                if !matches!(inside, Probed::Folder(path) if !path.starts_with('/')) {
                    return Err(refused());
                }
            }
            if self.needs.shows_settings && git_config_holds_token(content.as_bytes()) {
                return Err(unmet(UnmetNeed::HoldsToken { path: shown(&path) }));
            }
            if let Some(least) = old_git::first_closed(self.version, &content) {
                let (path, found) = (shown(&path), self.version);
                return Err(unmet(UnmetNeed::OldGitWithPrograms { path, found, least }));
            }
        }
        Ok(())
    }
}

/// Whether attributes could name a filter, text conversion, diff or merge program of the repository's configuration.
fn names_programs(content: &[u8]) -> bool {
    NAMES_PROGRAMS.iter().any(|word| content.windows(word.len()).any(|window| window == *word))
}

/// The values of every key `worktree` in a configuration, whatever its section; `None` for one that is not plainly
/// written.
fn work_trees(text: &str) -> Vec<Option<String>> {
    let lower = text.to_ascii_lowercase();
    let places = lower.match_indices("worktree").map(|(at, name)| at + name.len());
    let value = |at: usize| {
        // The offsets are those of the original, because lower case only changed ASCII letters.
        let rest = text.get(at..)?.trim_start_matches([' ', '\t']);
        rest.starts_with(['=', '\\']).then(|| {
            let line = rest.strip_prefix('=')?.split(['\n', '\r']).next()?.trim();
            let plain = !line.is_empty() && !line.contains(['"', '\\', '#', ';']);
            plain.then(|| line.to_owned())
        })
    };
    places.filter_map(value).collect()
}

/// The answer to a probe, or the error that it has to be looked up.
fn seen(probes: &Probes, probe: Probe) -> Result<&Probed, Unproven> {
    match probes.answers.get(&probe) {
        Some(answer) => Ok(answer),
        None if MAX_PROBES < probes.answers.len() => Err(unknown("so many places")),
        None => Err(Unproven::Look(probe)),
    }
}

/// The text of a file, empty if there is none; a folder of that name is not a file.
fn text_of(path: &str, probes: &Probes) -> Result<Option<String>, Unproven> {
    Ok(match seen(probes, Probe::File(path.to_owned()))? {
        Probed::File(content) => match std::str::from_utf8(content) {
            Ok(text) => Some(text.to_owned()),
            // Bytes that are not UTF-8 could name a folder that no text can name.
            Err(_) => return Err(unknown(path)),
        },
        _ => None,
    })
}

fn unmet(need: UnmetNeed) -> Unproven {
    Unproven::Unmet(need)
}

fn unknown(path: &str) -> Unproven {
    unmet(UnmetNeed::Unknown { path: shown(path) })
}

/// `folder` and the folders above it, up to the workspace.
fn ancestors(folder: &str) -> impl Iterator<Item = &str> {
    let root = (folder != ".").then_some(".");
    std::iter::successors(Some(folder), |folder| folder.rsplit_once('/').map(|(above, _)| above)).chain(root)
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or(".", |(above, _)| above)
}

fn join(folder: &str, path: &str) -> String {
    let stands_alone = path.starts_with('/') || folder == ".";
    if stands_alone { path.to_owned() } else { format!("{folder}/{path}") }
}

/// The path as the model knows it.
fn shown(path: &str) -> String {
    let climbs = path.starts_with('/') || path.split('/').any(|name| name == "..");
    if climbs { "a file of the repository".to_owned() } else { path.to_owned() }
}
