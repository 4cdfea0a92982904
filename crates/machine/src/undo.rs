//! What an undo says of files and of git.

use std::path::Path;

use headstart_git_ahead::{GitChange, ObjectName, Surroundings};
use headstart_overlay_fs::{KeptTurn, SeveralUndone};
use tracing::debug;

use crate::git;
use crate::output::{one_line, shortened};

/// What is kept for undos, in words; see `setup::UNDO`.
pub const KEPT: &str = "the last 20 changes and all of the last turn are kept, up to 256 MiB";
/// Why a turn cannot be taken back as a whole.
pub const NOT_WHOLE: &str =
    "its first changes are not kept any more (the last 20 and all of the last turn are kept, up to 256 MiB)";

/// What is to be taken back, in the repository around it.
pub struct Undo<'a> {
    kept: &'a KeptTurn,
    surroundings: Option<Surroundings>,
}

impl<'a> Undo<'a> {
    pub fn of(kept: &'a KeptTurn, workspace: &Path) -> Self {
        let surroundings = git::find(workspace).and_then(|git| Surroundings::find(git, workspace));
        let surroundings = surroundings.inspect_err(|error| debug!(%error, "git is not asked about an undo"));
        Self { kept, surroundings: surroundings.ok().flatten() }
    }

    /// The branch of another repository to which a commit of the work itself was pushed.
    pub fn pushed_to(&self) -> Option<String> {
        let surroundings = self.surroundings.as_ref()?;
        let pushed = self.own_commits().into_iter().find_map(|commit| {
            surroundings.pushed_to(&commit).unwrap_or_else(|error| {
                debug!(%error, "git does not say what was pushed");
                None
            })
        })?;
        Some(one_line(&pushed))
    }

    fn own_commits(&self) -> Vec<ObjectName> {
        let changes = self.kept.beside.iter().filter_map(|beside| GitChange::try_from(beside.as_str()).ok());
        changes.filter_map(|change| change.tip().cloned()).collect()
    }

    /// The commit that has files of it and was made since, not by the work itself: its short name and subject.
    pub fn commit_since(&self) -> Option<String> {
        let surroundings = self.surroundings.as_ref()?;
        let own = self.own_commits();
        let commit = surroundings.committed_since(&self.kept.written, self.kept.since, &own);
        let commit = commit.unwrap_or_else(|error| {
            debug!(%error, "git does not say what was committed since");
            None
        })?;
        Some(shortened(&one_line(&commit), 60))
    }

    /// Has git forget what was staged of what was taken back. Returns in words what was taken back: at most so many files,
    /// what was done with git, and what is not staged any more.
    pub fn finish(&self, undone: &SeveralUndone, most: usize) -> Vec<String> {
        let mut lines = named("as before ", undone.paths.iter().map(ToString::to_string), most);
        lines.extend(git_changes(undone).iter().map(|change| format!("taken back {change}")));
        let unstaged = self.surroundings.as_ref().map(|git| git.unstage(&self.kept.written));
        // What git refuses here stays staged.
        let unstaged = unstaged.and_then(|unstaged| {
            unstaged.inspect_err(|error| debug!(%error, "git does not unstage what was taken back")).ok()
        });
        let (staged, not): (Vec<_>, Vec<_>) =
            unstaged.unwrap_or_default().into_iter().partition(|unstaged| unstaged.is_staged);
        lines.extend(named("staged as before ", staged.iter().map(|one| one.path.to_string()), most));
        lines.extend(named("unstaged  ", not.iter().map(|one| one.path.to_string()), most));
        if lines.is_empty() {
            lines.push("the folders that it made stay, because something is in them now".to_owned());
        }
        lines
    }
}

/// What of git was taken back, in words.
pub fn git_changes(undone: &SeveralUndone) -> Vec<String> {
    let changes = undone.others.iter().filter_map(|other| GitChange::try_from(other.as_str()).ok());
    changes.map(|change| change.summary()).collect()
}

fn named(what: &str, paths: impl ExactSizeIterator<Item = String>, most: usize) -> Vec<String> {
    let more = paths.len().saturating_sub(most);
    let mut lines: Vec<_> = paths.take(most).map(|path| format!("{what} {}", one_line(&path))).collect();
    if 0 < more {
        lines.push(format!("… {more} more"));
    }
    lines
}
