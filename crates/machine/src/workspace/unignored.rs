//! A walk over the files of a workspace that git does not ignore.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use headstart_overlay_fs::{EntryKind, IgnoreRules, WorkspacePath};
use ignore::WalkBuilder;
use ignore::gitignore::Gitignore;

use crate::system::{read_plain, workspace_path};

/// The most bytes of a file of patterns. Longer files are not read.
const MAX_BYTES: u64 = 1 << 20;

/// The files and folders of a workspace that git does not ignore, without git's own folder.
pub fn unignored(workspace: &Path) -> ignore::Walk {
    unignored_but(workspace, |_| false).build()
}

/// The same without the paths for which `is_left_out` returns `true`, and everything below them.
pub fn unignored_but(
    workspace: &Path,
    is_left_out: impl Fn(&Path) -> bool + Send + Sync + 'static,
) -> WalkBuilder {
    let patterns = Patterns::of(workspace);
    let mut walk = WalkBuilder::new(workspace);
    // The patterns are read here, because the walk's own reader follows links and reads any file to its end.
    walk.standard_filters(false).filter_entry(move |entry| {
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        entry.file_name() != ".git" && !is_left_out(entry.path()) && !patterns.ignore(entry.path(), is_folder)
    });
    walk
}

/// The patterns of a repository's files and of the user's own.
struct Patterns {
    /// The repository that the workspace is in; without one, the workspace.
    root: PathBuf,
    of_user: Gitignore,
    by_folder: Mutex<HashMap<WorkspacePath, IgnoreRules>>,
}

impl Patterns {
    fn of(workspace: &Path) -> Self {
        let is_repository = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
        let root = workspace.ancestors().find(is_repository).unwrap_or(workspace).to_owned();
        Self { root, of_user: Gitignore::global().0, by_folder: Mutex::default() }
    }

    fn ignore(&self, path: &Path, is_folder: bool) -> bool {
        let below = path.strip_prefix(&self.root).ok().and_then(workspace_path);
        let Some((folder, below)) = below.and_then(|below| Some((below.parent()?, below))) else {
            return false;
        };
        let kind = if is_folder { EntryKind::Directory } else { EntryKind::File };
        let said = self.in_folder(&folder).decide(&below, kind);
        said.unwrap_or_else(|| self.of_user.matched(path, is_folder).is_ignore())
    }

    fn in_folder(&self, folder: &WorkspacePath) -> IgnoreRules {
        let mut known = self.by_folder.lock().unwrap_or_else(PoisonError::into_inner);
        self.find(&mut known, folder)
    }

    fn find(&self, known: &mut HashMap<WorkspacePath, IgnoreRules>, folder: &WorkspacePath) -> IgnoreRules {
        if let Some(rules) = known.get(folder) {
            return rules.clone();
        }
        let rules = match folder.parent() {
            Some(above) => self.find(known, &above),
            None => self.add(&IgnoreRules::default(), folder, ".git/info/exclude"),
        };
        let rules = self.add(&rules, folder, ".gitignore");
        known.insert(folder.clone(), rules.clone());
        rules
    }

    fn add(&self, rules: &IgnoreRules, folder: &WorkspacePath, file: &str) -> IgnoreRules {
        let path = crate::system::path_in(&self.root, folder).map(|folder| folder.join(file));
        match path.and_then(|path| read_plain(&path, MAX_BYTES)) {
            Ok(text) => rules.with(folder, &String::from_utf8_lossy(&text)),
            Err(_) => rules.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn found(workspace: &Path) -> Vec<String> {
        let walk = unignored(workspace).map(|entry| entry.unwrap().into_path());
        let below = walk.filter_map(|path| path.strip_prefix(workspace).ok()?.to_str().map(str::to_owned));
        let mut found: Vec<_> = below.filter(|path| !path.is_empty()).collect();
        found.sort();
        found
    }

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
    }

    #[test]
    fn the_nearest_pattern_decides_also_one_above_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        write(
            folder.path(),
            &[
                (".git/info/exclude", "mine\n"),
                (".gitignore", "*.log\nout/\n/part/top\n"),
                ("part/.gitignore", "!keep.log\n"),
                ("part/a.log", ""),
                ("part/keep.log", ""),
                ("part/deep/keep.log", ""),
                ("part/mine", ""),
                ("part/out/x", ""),
                ("part/top", ""),
                ("part/deep/top", ""),
                ("part/.hidden", ""),
            ],
        );
        let expected = [".gitignore", ".hidden", "deep", "deep/keep.log", "deep/top", "keep.log"];
        assert_eq!(found(&folder.path().join("part")), expected);
    }

    /// A repository can hold a link to anything, and an archive a file of any kind.
    #[cfg(unix)]
    #[test]
    fn a_file_of_patterns_that_is_none_or_never_ends_is_not_read() {
        for attack in ["ln -s /dev/zero", "mkfifo", "truncate -s 1T", "mkdir"] {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), &[("a.txt", ""), ("sub/b.txt", ""), (".git/HEAD", ""), (".git/info/x", "")]);
            for place in [".gitignore", "sub/.gitignore", ".ignore", ".git/info/exclude"] {
                let mut made = std::process::Command::new("sh");
                made.args(["-c", &format!("{attack} {place}")]).current_dir(folder.path());
                assert!(made.status().unwrap().success(), "{attack}");
            }
            let all = found(folder.path());
            assert!(all.contains(&"sub/b.txt".to_owned()), "{attack}: {all:?}");
        }
    }
}
