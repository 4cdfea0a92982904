//! What has to hold of git and of each repository that it may find from a command's folders.
//!
//! A repository whose own folder lies outside the workspace (a linked worktree, an alternate object store) is looked at as far as the
//! executor answers; below a confinement git cannot read it.

use super::{Probe, Probed, Probes, Unproven};
use crate::GitNeeds;

/// More folders than this are not looked through: a link or a `gitdir:` could name ever longer paths.
const MAX_PROBES: usize = 512;

/// Words that make an attribute name a program, and the start of a definition that could stand for one.
const NAMES_PROGRAMS: [&[u8]; 4] = [b"filter", b"diff", b"merge", b"[attr]"];

/// Why a command must not run, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnmetNeed {
    /// Git is older than the first version that can be kept from starting programs.
    #[error(
        "the command was not run: git here is {}.{}, and only from {}.{} on can it be kept from running programs that a repository \
         names; use other tools than git until the user has answered", found.0, found.1, least.0, least.1
    )]
    OldGit {
        /// The version there is.
        found: (u32, u32),
        /// The first one that will do.
        least: (u32, u32),
    },
    /// Nothing tells git's version.
    #[error("the command was not run: there is no git here that tells its version")]
    NoGit,
    /// A file may make git start a program.
    #[error(
        "the command was not run: {path} may name programs for git to run; use other tools than git until the user has answered"
    )]
    NamesPrograms {
        /// The file, as the model knows it.
        path: String,
    },
    /// A configuration moves the work tree, or may.
    #[error(
        "the command was not run: {path} sets core.worktree, and git may read outside the workspace; use other tools than git until \
         the user has answered"
    )]
    WorkTreeOutside {
        /// The file, as the model knows it.
        path: String,
    },
    /// The executor cannot tell what is there.
    #[error(
        "the command was not run: it cannot be told what git finds at {path}; use other tools than git until the user has answered"
    )]
    Unknown {
        /// What was looked for.
        path: String,
    },
}

/// Whether all of `needs` is shown to hold.
pub(super) fn check(needs: &GitNeeds, probes: &Probes) -> Result<(), Unproven> {
    match seen(probes, Probe::GitVersion)? {
        Probed::Version(major, minor) if needs.version <= (*major, *minor) => {}
        Probed::Version(major, minor) => {
            return Err(unmet(UnmetNeed::OldGit { found: (*major, *minor), least: needs.version }));
        }
        _ => return Err(unmet(UnmetNeed::NoGit)),
    }
    for folder in &needs.folders {
        match seen(probes, Probe::Folder(folder.clone()))? {
            // A link leads git to where it points.
            Probed::Folder(real) => {
                let kept = real.split('/').any(|name| name.eq_ignore_ascii_case(".git"));
                for above in ancestors(real) {
                    if kept {
                        // Within `.git` a folder may be a repository itself, as a submodule's is.
                        check_repository(above, needs, probes)?;
                    }
                    check_dot_git(&join(above, ".git"), needs, probes)?;
                }
            }
            // Nothing can run there: the command fails, or the executor refuses the folder.
            Probed::Absent | Probed::Outside => {}
            _ => return Err(unknown(folder)),
        }
    }
    Ok(())
}

/// A repository whose `.git` is this: a folder, or a file that names one, and for a linked worktree the common one besides.
fn check_dot_git(dot_git: &str, needs: &GitNeeds, probes: &Probes) -> Result<(), Unproven> {
    let mut own = dot_git.to_owned();
    if let Some(text) = text_of(dot_git, probes)?
        && let Some(target) = text.trim_end_matches(['\n', '\r']).strip_prefix("gitdir: ")
    {
        own = join(parent(dot_git), target);
    }
    check_repository(&own, needs, probes)?;
    match text_of(&join(&own, "commondir"), probes)? {
        Some(text) => check_repository(&join(&own, text.trim_end_matches(['\n', '\r'])), needs, probes),
        None => Ok(()),
    }
}

fn check_repository(own: &str, needs: &GitNeeds, probes: &Probes) -> Result<(), Unproven> {
    for name in &needs.hides {
        let path = join(own, name);
        match seen(probes, Probe::File(path.clone()))? {
            Probed::Absent => {}
            Probed::File(content) if !names_programs(content) => {}
            _ => return Err(unmet(UnmetNeed::NamesPrograms { path: shown(&path) })),
        }
    }
    for name in ["config", "config.worktree"] {
        let path = join(own, name);
        let refused = || unmet(UnmetNeed::WorkTreeOutside { path: shown(&path) });
        let content = match seen(probes, Probe::File(path.clone()))? {
            Probed::Absent => continue,
            Probed::File(content) => String::from_utf8_lossy(content),
            _ => return Err(refused()),
        };
        for tree in work_trees(&content) {
            let tree = tree.ok_or_else(refused)?;
            let inside = seen(probes, Probe::Folder(join(own, &tree)))?;
            // A host may take an absolute path for one of its workspace.
            if !matches!(inside, Probed::Folder(path) if !path.starts_with('/')) {
                return Err(refused());
            }
        }
    }
    Ok(())
}

/// Whether attributes could name a filter, a text conversion, a diff or a merge program of the repository's configuration.
fn names_programs(content: &[u8]) -> bool {
    NAMES_PROGRAMS.iter().any(|word| content.windows(word.len()).any(|window| window == *word))
}

/// What a configuration gives for a key `worktree` of whichever section; `None` where it is not written plainly.
fn work_trees(text: &str) -> Vec<Option<String>> {
    let lower = text.to_ascii_lowercase();
    let places = lower.match_indices("worktree").map(|(at, name)| at + name.len());
    let value = |at: usize| {
        // Its bytes are where they were: only ASCII letters changed.
        let rest = text.get(at..)?.trim_start_matches([' ', '\t']);
        rest.starts_with(['=', '\\']).then(|| {
            let line = rest.strip_prefix('=')?.split(['\n', '\r']).next()?.trim();
            let plain = !line.is_empty() && !line.contains(['"', '\\', '#', ';']);
            plain.then(|| line.to_owned())
        })
    };
    places.filter_map(value).collect()
}

/// What was seen, or that it has to be looked at.
fn seen(probes: &Probes, probe: Probe) -> Result<&Probed, Unproven> {
    match probes.0.get(&probe) {
        Some(answer) => Ok(answer),
        None if MAX_PROBES < probes.0.len() => Err(unknown("so many places")),
        None => Err(Unproven::Look(probe)),
    }
}

/// The text of a file that may be there; a folder of that name is no file.
fn text_of(path: &str, probes: &Probes) -> Result<Option<String>, Unproven> {
    Ok(match seen(probes, Probe::File(path.to_owned()))? {
        Probed::File(content) => match std::str::from_utf8(content) {
            Ok(text) => Some(text.to_owned()),
            // It could name a folder that no text names.
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

/// A folder of the workspace and those above it, up to the workspace.
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
