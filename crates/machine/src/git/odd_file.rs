//! What lies in a repository in the place of a file and is none.

use std::collections::HashSet;
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use super::family::target_in;
use crate::system::read_plain;

/// The names of a repository's own settings.
const SETTINGS: [&str; 2] = ["config", "config.worktree"];
/// Folders of which git reads nothing by itself, and which people keep elsewhere.
const NOT_READ: [&str; 2] = ["hooks", "lfs"];
/// The most bytes of settings, and the most files of them that name one another.
const MAX_BYTES: u64 = 1 << 20;
const MAX_FILES: usize = 64;

/// A pipe or a device in a workspace's repository, by its name. Git waits for a pipe and reads a device without an end,
/// whichever of its files it is, or a file that its settings name. A link to a folder elsewhere counts as well, because
/// what lies there is not looked at.
pub fn odd_file(workspace: &Path) -> Option<String> {
    let has = |folder: &Path, name: &str| folder.join(name).symlink_metadata().is_ok();
    let is_bare = |folder: &Path| ["HEAD", "objects", "refs"].iter().all(|name| has(folder, name));
    let root = workspace.ancestors().find(|folder| has(folder, ".git") || is_bare(folder))?;
    let name = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    let patterns = [".gitattributes", ".gitignore", ".mailmap"].map(|file| root.join(file));
    if let Some(odd) = patterns.iter().find(|file| never_ends(file)) {
        return Some(name(odd));
    }
    let dot_git = if has(root, ".git") { root.join(".git") } else { root.to_owned() };
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
                    let is_unread = NOT_READ.iter().any(|known| entry.file_name() == *known);
                    if never_ends(&path) || path.is_dir() && !is_unread && !is_below(&path, &repository) {
                        return Some(name(&path));
                    }
                }
                Ok(kind) if !is_endless(kind) => {}
                _ => return Some(name(&path)),
            }
            if SETTINGS.iter().any(|settings| entry.file_name() == *settings) {
                let odd = named_in(&entry.path(), root);
                if odd.is_some() {
                    return odd.map(|odd| name(&odd));
                }
            }
        }
    }
    None
}

/// A pipe or a device that settings of git name, or those that they include. Each value is taken for a path, because
/// which ones are differs between versions of git.
fn named_in(settings: &Path, root: &Path) -> Option<PathBuf> {
    let home =
        crate::system::variables().find(|(name, _)| name == "HOME").map(|(_, home)| PathBuf::from(home));
    let (mut waiting, mut seen) = (vec![settings.to_owned()], HashSet::new());
    while let Some(file) = waiting.pop() {
        if MAX_FILES <= seen.len() {
            return Some(file);
        }
        if !seen.insert(file.clone()) {
            continue;
        }
        // Git follows a link to settings, and what they name is relative to the link.
        let content = file.canonicalize().and_then(|real| read_plain(&real, MAX_BYTES));
        let Ok(bytes) = content else { continue };
        for (is_path, value) in values(&String::from_utf8_lossy(&bytes)) {
            let in_home = value.strip_prefix("~/").zip(home.as_ref()).map(|(value, home)| home.join(value));
            let beside = file.parent().map(|folder| folder.join(&value));
            for named in [in_home, beside, Some(root.join(&value))].into_iter().flatten() {
                if never_ends(&named)
                    && named.canonicalize().is_ok_and(|named| named != Path::new("/dev/null"))
                {
                    return Some(named);
                }
                if is_path && named.is_file() {
                    waiting.push(named);
                }
            }
        }
    }
    None
}

/// The values of settings, each with whether its key is `path`, as that of an included file. More than git would find:
/// whatever stands behind a `=`, with and without what may be a comment.
fn values(text: &str) -> impl Iterator<Item = (bool, String)> {
    let text = text.replace("\\\r\n", "").replace("\\\n", "");
    let lines = text.lines().map(str::to_owned).collect::<Vec<_>>();
    lines.into_iter().flat_map(|line| {
        let behind = line.match_indices('=').map(|(at, _)| (line[..at].trim_end(), &line[at + 1..]));
        let each = behind.flat_map(|(key, value)| {
            let is_path = key.to_ascii_lowercase().ends_with("path");
            let ends = value.match_indices(['#', ';']).map(|(at, _)| at).chain([value.len()]);
            ends.map(move |end| (is_path, plain(&value[..end])))
        });
        each.filter(|(_, value)| !value.is_empty()).collect::<Vec<_>>()
    })
}

/// A value without its quotes and the marks before special characters.
fn plain(value: &str) -> String {
    let (mut plain, mut is_marked) = (String::new(), false);
    for letter in value.trim().chars() {
        match letter {
            _ if is_marked => plain.push(letter),
            '\\' | '"' => {}
            _ => plain.push(letter),
        }
        is_marked = letter == '\\' && !is_marked;
    }
    plain
}

/// Whether a path leads to what is read without an end.
fn never_ends(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| is_endless(found.file_type()))
}

/// Whether reading a file of this kind waits or goes on for ever. A socket is no such thing, because nobody can open one; git's own monitor has one in its folder.
pub fn is_endless(kind: FileType) -> bool {
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
    fn a_pipe_that_the_settings_name_is_found_however_they_write_it() {
        let honest = repository();
        let settings = honest.path().join(".git/config");
        fs::write(honest.path().join("part"), "[user]\n\tname = a\n").unwrap();
        fs::write(&settings, "[core]\n\thooksPath = /dev/null\n[include]\n\tpath = ../part\n").unwrap();
        assert_eq!(odd_file(honest.path()), None);
        mkfifoat(CWD, honest.path().join("src/a b"), Mode::RUSR).unwrap();
        symlink("/dev/zero", honest.path().join("zero")).unwrap();
        for text in [
            "[include]\n\tpath = ../src/a b\n",
            "[include] path = \"../src/a b\" # the rest\n",
            "[INCLUDEIF \"gitdir:x=y\"]PATH=../src/a\\\n b",
            "[core]\n\texcludesFile = src/a b\n",
            "[core]\n\tattributesFile = zero;x\n",
            "[mailmap]\n\tfile = /dev/zero\n",
            "[diff]\n\torderFile = \"z\\ero\"\n",
            "[include]\n\tpath = ../part\n\tpath = ../more\n",
        ] {
            fs::write(honest.path().join("more"), "[blame]\nignoreRevsFile = zero\n").unwrap();
            fs::write(&settings, text).unwrap();
            assert!(odd_file(honest.path()).is_some(), "{text}");
        }
    }

    #[test]
    fn a_repository_without_a_work_tree_is_looked_at_as_well() {
        let hostile = repository();
        let bare = hostile.path().join("parts/bare.git");
        fs::create_dir_all(&bare).unwrap();
        for name in ["HEAD", "objects", "refs"] {
            fs::rename(hostile.path().join(".git").join(name), bare.join(name)).unwrap();
        }
        assert_eq!(odd_file(&bare), None);
        mkfifoat(CWD, bare.join("packed-refs"), Mode::RUSR).unwrap();
        assert_eq!(odd_file(&bare).as_deref(), Some("packed-refs"));
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
        fs::remove_dir_all(inner.join("hooks")).unwrap();
        symlink("../src", inner.join("hooks")).unwrap();
        fs::remove_file(inner.join("worktrees")).unwrap();
        assert_eq!(odd_file(hostile.path()), None, "git reads nothing of hooks, which may be kept elsewhere");
        mkfifoat(CWD, inner.join("index"), Mode::RUSR).unwrap();
        assert_eq!(odd_file(hostile.path()).as_deref(), Some("inner/index"));
    }
}
