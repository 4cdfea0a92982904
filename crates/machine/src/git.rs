//! The user's git, and the repository of a workspace.

mod family;
mod fresh_index;
mod odd_file;

use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use headstart_git_ahead::{Git, GitError, Repository, no_programs};
use headstart_overlay_fs::WorkspacePath;
use headstart_tool_gate::{DenyRules, clean_environment, git_config_holds_token};

pub use self::family::{Family, leads_nowhere, without_working_tree};
pub use self::fresh_index::fresh_index;
pub use self::odd_file::{is_endless, odd_file};
use crate::system::{find_program, is_inside, read_plain, variables};

/// How long git may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The repository that takes part in accepts; `None` if there is none, or no suitable git. Without it, accepting work
/// that ran git commands is an error that says so.
pub(crate) fn repository(workspace: &Path, state: Option<&Path>) -> Option<Repository> {
    let state = state?;
    if !workspace.join(".git").is_dir() || odd_file(workspace).is_some() {
        return None;
    }
    Some(Repository::new(find(workspace).ok()?, workspace, state))
}

/// The settings of a workspace's repository, or of one of its submodules and linked worktrees, that hold a password or a
/// token, or cannot be read, or a file beside them that holds a secret by its name.
pub(crate) fn settings_with_token(workspace: &Path) -> Option<String> {
    let file = settings_with_tokens(&workspace.join(".git")).into_iter().next()?;
    Some(file.strip_prefix(workspace).unwrap_or(&file).display().to_string())
}

/// All such files in a repository's own folder, and all that hold a secret by their name.
pub(crate) fn settings_with_tokens(dot_git: &Path) -> Vec<PathBuf> {
    /// What git itself fills, with names of its own or of branches.
    const FILLED_BY_GIT: [&str; 4] = ["objects", "refs", "logs", "lfs"];
    let mut found = Vec::new();
    let mut folders = vec![dot_git.to_owned()];
    while let Some(folder) = folders.pop() {
        // The folder of a submodule may be called as one of those.
        let is_repository = folder.join("HEAD").symlink_metadata().is_ok();
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (name, path) = (entry.file_name(), entry.path());
            let is_filled = is_repository && FILLED_BY_GIT.iter().any(|known| name == *known);
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.extend((!is_filled).then_some(path));
            } else if is_git_setting(&name) {
                found.extend(holds_token(&path).then_some(path));
            } else if WorkspacePath::from_bytes(name.as_encoded_bytes())
                .is_ok_and(|name| DenyRules::default().secret(&name).is_some())
            {
                found.push(path);
            }
        }
    }
    found
}

/// Whether a file in a repository's own folder has its settings, or is a copy of them that a program has kept.
pub(crate) fn is_git_setting(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"config")
}

/// Whether a configuration of git holds a password or a token, or cannot be read.
pub(crate) fn holds_token(file: &Path) -> bool {
    const MAX_BYTES: u64 = 1 << 20;
    file.symlink_metadata().is_ok()
        && read_plain(file, MAX_BYTES).map_or(true, |content| git_config_holds_token(&content))
}

/// Whether git tracks one of these paths of a workspace; also where git cannot tell.
pub(crate) fn tracks_one(workspace: &Path, paths: &[WorkspacePath]) -> bool {
    let names = paths.iter().map(|path| path.as_str().map(|name| format!(":(literal){name}")));
    let Some(names) = names.collect::<Option<Vec<_>>>() else { return true };
    names.chunks(1_000).any(|names| {
        let arguments = ["ls-files", "-z", "--"].into_iter().chain(names.iter().map(String::as_str));
        output(workspace, &arguments.collect::<Vec<_>>()).is_none_or(|tracked| !tracked.is_empty())
    })
}

/// The user's git. A git that the workspace contains is not used.
pub fn find(workspace: &Path) -> Result<Git, GitError> {
    Git::find(&std::env::join_paths(folders(workspace)).unwrap_or_default())
}

/// The program of git for commands that only read.
pub(crate) fn program(workspace: &Path) -> Option<PathBuf> {
    // The system looks for it in the search path that the command gets.
    if cfg!(unix) { Some("git".into()) } else { find_program("git", folders(workspace)) }
}

/// The output of git in a workspace; `None` if it fails or takes too long. Git gets nothing of the user's environment except the home folder, and runs no program that a
/// repository names.
pub(crate) fn output(workspace: &Path, arguments: &[&str]) -> Option<String> {
    output_with(workspace, arguments, &[])
}

fn output_with(workspace: &Path, arguments: &[&str], more: &[(&str, &OsStr)]) -> Option<String> {
    let output = run(workspace, arguments, more, PATIENCE)?;
    output.is_whole.then_some(output.text)
}

/// What git wrote.
pub(crate) struct GitOutput {
    pub(crate) text: String,
    /// Whether git ended well; otherwise it was too slow, and this is what came until then.
    pub(crate) is_whole: bool,
}

/// What git writes within `patience`; `None` if it fails.
pub(crate) fn output_within(workspace: &Path, arguments: &[&str], patience: Duration) -> Option<GitOutput> {
    run(workspace, arguments, &[], patience)
}

fn run(
    workspace: &Path,
    arguments: &[&str],
    more: &[(&str, &OsStr)],
    patience: Duration,
) -> Option<GitOutput> {
    // Git would wait for a pipe, and this process may end before it.
    if odd_file(workspace).is_some() {
        return None;
    }
    let all: Vec<_> = variables().collect();
    let of = |name: &str| all.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let home = of("HOME").and_then(|home| home.to_str()).unwrap_or("/");
    let mut command = Command::new(program(workspace)?);
    command.env_clear().envs(clean_environment(home)).envs(no_programs()).envs(more.iter().copied());
    // Without this variable no program of Windows starts.
    command.envs(of("SYSTEMROOT").map(|root| ("SYSTEMROOT", root)));
    command.args(["--no-pager", "-C"]).arg(workspace).args(arguments);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let mut pipe = child.stdout.take()?;
    let (send, parts) = mpsc::channel();
    // Nobody waits for this thread, because what git started may hold the pipe open after git has ended.
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = pipe.read(&mut buffer) {
            if send.send(buffer[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    let end = Instant::now() + patience;
    let mut bytes = Vec::new();
    let is_whole = loop {
        match parts.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(part) => bytes.extend(part),
            Err(mpsc::RecvTimeoutError::Disconnected) => break true,
            Err(mpsc::RecvTimeoutError::Timeout) => break false,
        }
    };
    if !is_whole {
        let _ = child.kill();
    }
    let succeeded = child.wait().ok()?.success();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (succeeded || !is_whole).then_some(GitOutput { text, is_whole })
}

/// The folders of the search path that the workspace does not contain.
fn folders(workspace: &Path) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).filter(|folder| !is_inside(folder, workspace)).collect()
}
