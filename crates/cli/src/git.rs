//! The user's git, and the repository of a workspace.

use std::path::Path;

use headstart_git_ahead::{Git, GitError, Repository};

/// The repository that takes part in accepts; `None` if there is none, or no suitable git. Without it, accepting work
/// that ran git commands is an error that says so.
pub(crate) fn repository(workspace: &Path, state: Option<&Path>) -> Option<Repository> {
    let state = state?;
    if !workspace.join(".git").is_dir() {
        return None;
    }
    Some(Repository::new(find(workspace).ok()?, workspace, state))
}

/// The user's git. A git that the workspace contains is not used.
pub(crate) fn find(workspace: &Path) -> Result<Git, GitError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let outside = std::env::split_paths(&path).filter(|folder| !folder.starts_with(workspace));
    Git::find(&std::env::join_paths(outside).unwrap_or_default())
}
