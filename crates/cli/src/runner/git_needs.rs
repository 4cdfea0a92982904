//! What git cannot be told to leave alone, looked for right before a command that nobody was asked about.
//!
//! The gate says with each verdict what has to hold ([`GitNeeds`]). A repository whose own folder lies outside the
//! workspace (a linked worktree, an alternate object store) needs no look: below the kernel's restrictions git cannot read it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;

use headstart_tool_gate::GitNeeds;
use tokio::process::Command;
use tokio::sync::OnceCell;

/// The version of the git that commands find, asked for once.
#[derive(Default)]
pub(super) struct InstalledGit(OnceCell<Option<(u32, u32)>>);

impl InstalledGit {
    /// Whether it is at least `least`; otherwise why not, in words for the model.
    pub(super) async fn is_new_enough(
        &self,
        least: (u32, u32),
        environment: &BTreeMap<OsString, OsString>,
    ) -> Result<(), String> {
        let (major, minor) = least;
        let found = self.0.get_or_init(|| ask(environment)).await;
        match found {
            Some(found) if least <= *found => Ok(()),
            Some((old_major, old_minor)) => Err(format!(
                "the command was not run: git here is {old_major}.{old_minor}, and only from {major}.{minor} on can it be kept \
                 from running programs that a repository names; use other tools than git until the user has answered"
            )),
            None => Err("the command was not run: there is no git here that tells its version".to_owned()),
        }
    }
}

async fn ask(environment: &BTreeMap<OsString, OsString>) -> Option<(u32, u32)> {
    let path = environment.get(&OsString::from("PATH"))?;
    let program = std::env::split_paths(path).map(|folder| folder.join("git")).find(|file| file.is_file())?;
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

/// `git version 2.47.3`, perhaps with more behind it.
fn version_in(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.strip_prefix("git version ")?.split(['.', ' ', '\n']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Looks at every repository that git may find from the folders of `needs`; says what stands in the way, in words for the
/// model.
pub(super) fn check_repositories(needs: &GitNeeds, root: &Path) -> Result<(), String> {
    for folder in &needs.folders {
        // A link leads git to where it points.
        let Ok(start) = root.join(folder).canonicalize() else { continue };
        for above in start.ancestors().take_while(|above| above.starts_with(root)) {
            for own in own_folders(&above.join(".git")) {
                check_repository(&own, needs, root)?;
            }
        }
    }
    Ok(())
}

/// The folders in which git keeps a repository whose `.git` is this: one, and for a linked worktree the common one.
fn own_folders(dot_git: &Path) -> Vec<PathBuf> {
    let mut own = dot_git.to_owned();
    if let Ok(text) = fs::read_to_string(dot_git)
        && let Some(target) = text.trim_end_matches(['\n', '\r']).strip_prefix("gitdir: ")
    {
        own = dot_git.parent().unwrap_or(dot_git).join(target);
    }
    let common = fs::read_to_string(own.join("commondir")).ok();
    let common = common.map(|text| own.join(text.trim_end_matches(['\n', '\r'])));
    std::iter::once(own).chain(common).collect()
}

fn check_repository(own: &Path, needs: &GitNeeds, root: &Path) -> Result<(), String> {
    for name in &needs.hides {
        let file = own.join(name);
        match fs::metadata(&file) {
            Err(error) if is_absent(&error) => {}
            _ => {
                return Err(format!(
                    "the command was not run: {} may name programs for git to run; use other tools than git until the user has \
                     answered",
                    shown(&file, root)
                ));
            }
        }
    }
    for name in ["config", "config.worktree"] {
        let file = own.join(name);
        let text = match fs::read(&file) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if is_absent(&error) => continue,
            Err(_) => "worktree =".to_owned(),
        };
        if work_trees(&text).any(|tree| tree.is_none_or(|tree| !is_inside(&own.join(tree), root))) {
            return Err(format!(
                "the command was not run: {} sets core.worktree, and git may read outside the workspace; use other tools than \
                 git until the user has answered",
                shown(&file, root)
            ));
        }
    }
    Ok(())
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// What a configuration gives for a key `worktree` of whichever section; `None` where it is not written plainly.
fn work_trees(text: &str) -> impl Iterator<Item = Option<String>> {
    let lower = text.to_ascii_lowercase();
    let places: Vec<usize> = lower.match_indices("worktree").map(|(at, name)| at + name.len()).collect();
    places.into_iter().filter_map(move |at| {
        // Its bytes are where they were: only ASCII letters changed.
        let rest = lower.get(at..)?.trim_start_matches([' ', '\t']);
        rest.starts_with(['=', '\\']).then(|| {
            let line = rest.strip_prefix('=')?.split(['\n', '\r']).next()?.trim();
            let plain = !line.is_empty() && !line.contains(['"', '\\', '#', ';']);
            plain.then(|| line.to_owned())
        })
    })
}

/// Whether a folder is in the workspace, wherever links lead.
fn is_inside(folder: &Path, root: &Path) -> bool {
    folder.canonicalize().is_ok_and(|real| real.starts_with(root))
}

/// The path as the model knows it.
fn shown(file: &Path, root: &Path) -> String {
    let inside = file.strip_prefix(root).unwrap_or(file);
    let climbs = inside.components().any(|part| matches!(part, Component::ParentDir | Component::RootDir));
    if climbs { "a file of the repository".to_owned() } else { inside.display().to_string() }
}

#[cfg(test)]
mod tests;
