//! Which paths of a view git ignores, judging by the files in the view itself, so that a staged `.gitignore` counts.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use headstart_overlay_fs::MAX_IGNORE_PATTERNS;
use headstart_workspace_path::WorkspacePath;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// The most bytes that are read of one file of patterns.
const LONGEST: u64 = 1 << 20;

/// The patterns from the root down to one folder.
pub(super) struct Ignored<'a> {
    view: BorrowedFd<'a>,
    workspace: &'a Path,
    /// Those of the folders above the workspace, if the repository is above it; the outermost first.
    above: Vec<Gitignore>,
    /// Folders that have patterns, each with them.
    patterns: Vec<(WorkspacePath, Gitignore)>,
}

impl<'a> Ignored<'a> {
    /// `workspace` is where the view's files are on the machine.
    pub(super) fn new(view: BorrowedFd<'a>, workspace: &'a Path) -> Self {
        let mut new = Self { view, workspace, above: above(workspace), patterns: Vec::new() };
        new.add(&WorkspacePath::root(), ".git/info/exclude");
        new
    }

    /// Adds the patterns of a folder to those of the folders above it.
    pub(super) fn enter(&mut self, folder: &WorkspacePath) {
        self.patterns.retain(|(above, _)| folder.starts_with(above));
        self.add(folder, ".gitignore");
    }

    /// Drops the patterns of folders that do not contain this one.
    pub(super) fn leave_to(&mut self, folder: &WorkspacePath) {
        self.patterns.retain(|(above, _)| folder.starts_with(above));
    }

    /// Whether a path directly in the folder that was entered last is ignored; `None` if no pattern matches it.
    pub(super) fn says_of(&self, path: &WorkspacePath, is_folder: bool) -> Option<bool> {
        let absolute = absolute(path);
        let here = self.patterns.iter().rev().map(|(_, patterns)| patterns.matched(&absolute, is_folder));
        let on_machine = self.workspace.join(OsStr::from_bytes(path.as_bytes()));
        let above = self.above.iter().rev().map(|patterns| patterns.matched(&on_machine, is_folder));
        here.chain(above).find(|found| !found.is_none()).map(|found| found.is_ignore())
    }

    fn add(&mut self, folder: &WorkspacePath, name: &str) {
        let Ok(path) = folder.join(name) else { return };
        let Some(text) = self.read(&path) else { return };
        let held =
            self.above.iter().chain(self.patterns.iter().map(|(_, patterns)| patterns)).map(count).sum();
        let patterns = patterns_of(&absolute(folder), &text, held);
        self.patterns.extend(patterns.map(|patterns| (folder.clone(), patterns)));
    }

    fn read(&self, path: &WorkspacePath) -> Option<String> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        loop {
            match rustix::fs::openat2(self.view, path.as_bytes(), flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                opened => return text_of(opened.ok()?),
            }
        }
    }
}

/// The text of a regular file.
fn text_of(file: OwnedFd) -> Option<String> {
    let found = rustix::fs::fstat(&file).ok()?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return None;
    }
    let mut bytes = Vec::new();
    File::from(file).take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The patterns of a file, as far as there is room for them beside those that are held.
fn patterns_of(folder: &Path, text: &str, held: u64) -> Option<Gitignore> {
    let is_pattern = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let room = MAX_IGNORE_PATTERNS.saturating_sub(usize::try_from(held).unwrap_or(usize::MAX));
    let mut patterns = GitignoreBuilder::new(folder);
    for line in text.lines().filter(is_pattern).take(room) {
        // A line that is not a pattern matches nothing, as in git.
        let _ = patterns.add_line(None, line);
    }
    patterns.build().ok().filter(|patterns| !patterns.is_empty())
}

fn count(patterns: &Gitignore) -> u64 {
    patterns.num_ignores() + patterns.num_whitelists()
}

/// The patterns of the folders above a workspace, down from the one whose repository git finds there.
fn above(workspace: &Path) -> Vec<Gitignore> {
    let is_top = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    let Some(top) = workspace.ancestors().find(is_top).filter(|top| *top != workspace) else {
        return Vec::new();
    };
    let folders: Vec<_> =
        workspace.ancestors().skip(1).take_while(|folder| folder.starts_with(top)).collect();
    let read = |folder: &Path, name: &str| {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(CWD, folder.join(name), flags, Mode::empty());
        patterns_of(folder, &text_of(opened.ok()?)?, 0)
    };
    let of_folders = folders.iter().rev().filter_map(|folder| read(folder, ".gitignore"));
    read(top, ".git/info/exclude").into_iter().chain(of_folders).collect()
}

/// The path as if the workspace were the root of the disk.
fn absolute(path: &WorkspacePath) -> PathBuf {
    PathBuf::from("/").join(OsStr::from_bytes(path.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_patterns_the_first_ones_count() {
        let many: Vec<_> = (0..200_000).map(|number| format!("*{number}*")).collect();
        let many = many.join("\n");
        let patterns = patterns_of(Path::new("/"), &format!("# a comment\n\n{many}"), 0).expect("some");
        assert_eq!(count(&patterns), MAX_IGNORE_PATTERNS as u64);
        let rest = patterns_of(Path::new("/d"), &many, count(&patterns) - 3).expect("some");
        assert_eq!(count(&rest), 3);
        assert!(patterns_of(Path::new("/d"), &many, MAX_IGNORE_PATTERNS as u64).is_none());
    }
}
