//! The user's git, and the repository of a workspace.

use std::path::{Path, PathBuf};

use headstart_git_ahead::{Git, GitError, Repository};
use headstart_tool_gate::git_config_holds_token;

use crate::system::{find_program, is_inside, read_plain};

/// The repository that takes part in accepts; `None` if there is none, or no suitable git. Without it, accepting work
/// that ran git commands is an error that says so.
pub(crate) fn repository(workspace: &Path, state: Option<&Path>) -> Option<Repository> {
    let state = state?;
    if !workspace.join(".git").is_dir() || odd_file(workspace).is_some() {
        return None;
    }
    Some(Repository::new(find(workspace).ok()?, workspace, state))
}

/// A file of the repository that is none: git reads a pipe or a device in its place for ever.
pub(crate) fn odd_file(workspace: &Path) -> Option<&'static str> {
    const READ: [&str; 9] = [
        ".git/HEAD",
        ".git/config",
        ".git/config.worktree",
        ".git/index",
        ".git/packed-refs",
        ".git/info/attributes",
        ".git/info/exclude",
        ".gitattributes",
        ".gitignore",
    ];
    let is_odd = |file: &&&str| {
        let found = workspace.join(file).metadata();
        found.is_ok_and(|found| !found.is_file() && !found.is_dir())
    };
    READ.iter().find(is_odd).copied()
}

/// The configuration of the workspace's repository that holds a password or a token, or cannot be read.
pub(crate) fn settings_with_token(workspace: &Path) -> Option<&'static str> {
    const MAX_BYTES: u64 = 1 << 20;
    [".git/config", ".git/config.worktree"].into_iter().find(|name| {
        let file = workspace.join(name);
        let holds_token = |content: Vec<u8>| git_config_holds_token(&content);
        file.symlink_metadata().is_ok() && read_plain(&file, MAX_BYTES).map_or(true, holds_token)
    })
}

/// The user's git. A git that the workspace contains is not used.
pub(crate) fn find(workspace: &Path) -> Result<Git, GitError> {
    Git::find(&std::env::join_paths(folders(workspace)).unwrap_or_default())
}

/// The program of git for commands that only read.
pub(crate) fn program(workspace: &Path) -> Option<PathBuf> {
    // The system looks for it in the search path that the command gets.
    if cfg!(unix) { Some("git".into()) } else { find_program("git", folders(workspace)) }
}

/// The folders of the search path that the workspace does not contain.
fn folders(workspace: &Path) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).filter(|folder| !is_inside(folder, workspace)).collect()
}
