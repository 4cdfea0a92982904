//! The user's git, and the repository that it is asked about.

use std::path::Path;

use headstart_git_ahead::{Git, GitError, Repository};

/// The repository that may take part in an accept, where there is one and a git that can do it. Without it, an accept of work that
/// ran git commands is an error that says so.
pub(crate) fn repository(workspace: &Path, state: Option<&Path>) -> Option<Repository> {
    let state = state?;
    if !workspace.join(".git").is_dir() {
        return None;
    }
    Some(Repository::new(find(workspace).ok()?, workspace, state))
}

/// The user's git; none that the workspace brings along.
pub(crate) fn find(workspace: &Path) -> Result<Git, GitError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let outside = std::env::split_paths(&path).filter(|folder| !folder.starts_with(workspace));
    Git::find(&std::env::join_paths(outside).unwrap_or_default())
}
