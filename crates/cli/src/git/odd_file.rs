//! What lies in a repository in the place of a file and is none.

use std::fs::{self, FileType};
use std::path::Path;

use super::family::target_in;

/// A pipe or a device in a workspace's repository, by its name. Git waits for a pipe and reads a device without an end,
/// whichever of its files it is. A link to a folder elsewhere counts as well, because what lies there is not looked at.
pub(crate) fn odd_file(workspace: &Path) -> Option<String> {
    let is_repository = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    let root = workspace.ancestors().find(is_repository)?;
    let name = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    let patterns = [".gitattributes", ".gitignore", ".mailmap"].map(|file| root.join(file));
    if let Some(odd) = patterns.iter().find(|file| never_ends(file)) {
        return Some(name(odd));
    }
    let dot_git = root.join(".git");
    if never_ends(&dot_git) {
        return Some(name(&dot_git));
    }
    // A repository outside of the workspace, as a linked worktree has it, did not come with the project.
    let named = target_in(&dot_git, "gitdir: ", root).filter(|named| is_below(named, root));
    let repository = named.unwrap_or(dot_git);
    let mut folders = vec![repository.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_symlink() => {
                    if never_ends(&path) || path.is_dir() && !is_below(&path, &repository) {
                        return Some(name(&path));
                    }
                }
                Ok(kind) if !is_endless(kind) => {}
                _ => return Some(name(&path)),
            }
        }
    }
    None
}

/// Whether a path leads to what is read without an end.
fn never_ends(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| is_endless(found.file_type()))
}

/// A socket is no such thing, because nobody can open one; git's own monitor has one in its folder.
fn is_endless(kind: FileType) -> bool {
    #[cfg(unix)]
    let is_socket = std::os::unix::fs::FileTypeExt::is_socket(&kind);
    #[cfg(not(unix))]
    let is_socket = false;
    !kind.is_file() && !kind.is_dir() && !is_socket
}

fn is_below(path: &Path, folder: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(path).zip(real(folder)).is_some_and(|(path, folder)| path.starts_with(folder))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    fn repository() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [
            (".git/HEAD", "ref: refs/heads/main\n"),
            (".git/refs/heads/main", ""),
            (".git/objects/ab/cd", ""),
            (".git/hooks/x", ""),
            ("src/a", ""),
            (".gitignore", ""),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        symlink("HEAD", folder.path().join(".git/main")).unwrap();
        symlink("refs/heads", folder.path().join(".git/branches")).unwrap();
        symlink("../gone", folder.path().join(".git/dangling")).unwrap();
        let socket = folder.path().join(".git/fsmonitor--daemon.ipc");
        drop(std::os::unix::net::UnixListener::bind(socket).unwrap());
        folder
    }

    #[test]
    fn a_pipe_or_a_device_is_found_wherever_git_could_read_it() {
        let honest = repository();
        assert_eq!(odd_file(honest.path()), None);
        assert_eq!(odd_file(&honest.path().join("src")), None);
        for place in [
            ".git/HEAD",
            ".git/config",
            ".git/packed-refs",
            ".git/shallow",
            ".git/refs/heads/main",
            ".git/objects/info/alternates",
            ".git/objects/ab/cd",
            ".git/modules/part/HEAD",
            ".gitignore",
            ".mailmap",
        ] {
            for is_pipe in [true, false] {
                let hostile = repository();
                let at = hostile.path().join(place);
                fs::create_dir_all(at.parent().unwrap()).unwrap();
                let _ = fs::remove_file(&at);
                if is_pipe {
                    mkfifoat(CWD, &at, Mode::RUSR).unwrap();
                } else {
                    symlink("/dev/zero", &at).unwrap();
                }
                for workspace in [hostile.path().to_owned(), hostile.path().join("src")] {
                    assert_eq!(odd_file(&workspace).as_deref(), Some(place));
                }
            }
        }
    }

    #[test]
    fn what_a_repository_borrows_from_elsewhere_is_odd() {
        let hostile = repository();
        let inner = hostile.path().join("inner");
        fs::rename(hostile.path().join(".git"), &inner).unwrap();
        fs::write(hostile.path().join(".git"), "gitdir: inner\n").unwrap();
        assert_eq!(odd_file(hostile.path()), None);
        symlink("../src", inner.join("worktrees")).unwrap();
        assert_eq!(odd_file(hostile.path()).as_deref(), Some("inner/worktrees"));
        fs::remove_file(inner.join("worktrees")).unwrap();
        mkfifoat(CWD, inner.join("index"), Mode::RUSR).unwrap();
        assert_eq!(odd_file(hostile.path()).as_deref(), Some("inner/index"));
    }
}
