//! Past commits, as git prints them. Their text may come from strangers, so only its words are put into the index.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use headstart_overlay_fs::WorkspacePath;

use crate::git::{Family, output_within};

/// The most commits that are read.
pub(super) const COMMITS: usize = 6_000;
/// The most files of a commit. One that touches more says nothing about each of them.
const MAX_FILES: usize = 20;
/// The most bytes of text for one file; the newest commits come first.
const MAX_TEXT: usize = 32 * 1024;
/// How many commits count as recent.
const RECENT: usize = 80;
/// The most files of recent commits that are kept.
const MAX_RECENT: usize = 200;

/// A commit: its id, its subject, and the files that it touches.
pub(super) struct Commit {
    id: String,
    subject: String,
    files: Vec<WorkspacePath>,
}

/// Commits one after the other, the newest first.
pub(super) struct Commits {
    pub(super) list: Vec<Commit>,
    /// Whether these are all that were asked for; otherwise git was too slow for the older ones.
    pub(super) is_whole: bool,
}

impl Commits {
    /// The id of the oldest.
    pub(super) fn oldest(&self) -> Option<&str> {
        self.list.last().map(|commit| commit.id.as_str())
    }
}

/// Which commits the index has: from the newest one to the oldest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) newest: String,
    /// The commit behind which the next ones are to be read; `None` if there are none.
    pub(super) oldest: Option<String>,
    pub(super) count: usize,
}

impl Extent {
    pub(super) fn text(&self) -> String {
        format!("{} {} {}", self.newest, self.oldest.as_deref().unwrap_or("-"), self.count)
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let [newest, oldest, count] = text.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let oldest = (oldest != "-").then(|| oldest.to_owned());
        Some(Self { newest: newest.to_owned(), oldest, count: count.parse().ok()? })
    }

    /// Whether so many commits were added to the end that it is better to begin anew.
    pub(super) fn is_long(&self) -> bool {
        2 * COMMITS < self.count
    }
}

/// The id of the commit that is checked out; `None` without git, a repository or a commit, or if git is too slow.
///
/// The history of a repository that is not the workspace's own is not read.
pub(super) fn head(workspace: &Path, patience: Duration) -> Option<String> {
    let home = std::env::home_dir();
    Family::of(&workspace.canonicalize().ok()?, home.as_deref()).ok()?;
    let output = output_within(workspace, &["rev-parse", "--verify", "--quiet", "HEAD"], patience)?;
    Some(output.text.trim().to_owned()).filter(|head| !head.is_empty())
}

/// Whether all that `older` has behind it is also behind `newer`: nobody has rewritten the history.
pub(super) fn goes_on(workspace: &Path, older: &str, newer: &str, patience: Duration) -> bool {
    let arguments = ["merge-base", "--is-ancestor", older, newer];
    output_within(workspace, &arguments, patience).is_some_and(|output| output.is_whole)
}

/// The commits of a range, the newest first, with the paths below the workspace, as many as git tells in this time.
///
/// Renames are not searched for, because that would read contents, which a partial clone does not have.
pub(super) fn log(
    workspace: &Path,
    range: &str,
    skipped: usize,
    most: usize,
    patience: Duration,
) -> Option<Commits> {
    let (skip, count) = (format!("--skip={skipped}"), format!("--max-count={most}"));
    let arguments = [
        "log",
        "--no-merges",
        "--no-renames",
        "--no-show-signature",
        "--name-only",
        "--relative",
        "-z",
        "--format=%x01%H %s%x02",
        &skip,
        &count,
        "--end-of-options",
        range,
        "--",
    ];
    let output = output_within(workspace, &arguments, patience)?;
    let mut list = read_log(&output.text);
    if !output.is_whole {
        // The last one may lack some of its files.
        list.pop();
    }
    Some(Commits { list, is_whole: output.is_whole })
}

fn read_log(text: &str) -> Vec<Commit> {
    let commits = text.split('\u{1}').filter_map(|commit| {
        let (head, files) = commit.split_once('\u{2}')?;
        let (id, subject) = head.split_once(' ')?;
        let files = files.split('\0').map(|file| file.trim_start_matches('\n'));
        let mut files: Vec<_> = files.filter_map(|file| WorkspacePath::parse(file).ok()).collect();
        if MAX_FILES < files.len() {
            files.clear();
        }
        Some(Commit { id: id.to_owned(), subject: subject.to_owned(), files })
    });
    commits.collect()
}

/// The subjects of the commits that touched each file.
pub(super) fn subjects(commits: &[Commit]) -> BTreeMap<WorkspacePath, String> {
    let mut subjects: BTreeMap<WorkspacePath, String> = BTreeMap::new();
    for commit in commits {
        for file in &commit.files {
            let text = subjects.entry(file.clone()).or_default();
            if text.len() + commit.subject.len() < MAX_TEXT {
                text.push_str(&commit.subject);
                text.push('\n');
            }
        }
    }
    subjects
}

/// The files of the last commits as a text, with a line for each: its weight and its path. `before` is that text for the
/// commits before these.
pub(super) fn recent(commits: &[Commit], before: &str) -> String {
    let mut text = String::new();
    let mut seen: Vec<WorkspacePath> = Vec::new();
    let weight = |age: usize| (-f32::from(u16::try_from(age).unwrap_or(u16::MAX)) / 20.0).exp();
    let touching = commits.iter().filter(|commit| !commit.files.is_empty());
    let count = touching.clone().count();
    let new = touching.take(RECENT).enumerate();
    let new = new.flat_map(|(age, commit)| commit.files.iter().map(move |file| (file.clone(), weight(age))));
    let old = read_recent(before).into_iter().map(|(file, share)| (file, share * weight(count)));
    for (file, share) in new.chain(old.filter(|(_, share)| weight(RECENT) < *share)) {
        let Some(path) = file.as_str().filter(|path| !path.contains('\n')) else { continue };
        if seen.len() < MAX_RECENT && !seen.contains(&file) {
            let _ = writeln!(text, "{share:.4} {path}");
            seen.push(file);
        }
    }
    text
}

/// Reads what [`recent`] wrote.
pub(super) fn read_recent(text: &str) -> Vec<(WorkspacePath, f32)> {
    let line = |line: &str| {
        let (share, path) = line.split_once(' ')?;
        Some((WorkspacePath::parse(path).ok()?, share.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\u{1}c Mend the parser\u{2}\0\nsrc/a.rs\0src/b.rs\0\u{1}b Touch none\u{2}\0\n\u{1}a Add it\u{2}\0\nsrc/a.rs\0../x\0";

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::parse(text).unwrap()
    }

    #[test]
    fn subjects_are_gathered_for_each_file() {
        let commits = read_log(LOG);
        assert_eq!(commits.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["c", "b", "a"]);
        let subjects = subjects(&commits);
        let of = |text: &str| subjects[&path(text)].clone();
        assert_eq!(of("src/a.rs"), "Mend the parser\nAdd it\n");
        assert_eq!(of("src/b.rs"), "Mend the parser\n");
        assert_eq!(subjects.len(), 2);
    }

    /// What is added to the recent files later weighs what it would weigh if all had been read at once.
    #[test]
    fn recent_files_are_kept_as_text() {
        let commits = read_log(LOG);
        let whole = recent(&commits, "");
        let files: Vec<_> = read_recent(&whole).iter().map(|(path, _)| path.to_string()).collect();
        assert_eq!(files, ["src/a.rs", "src/b.rs"]);
        let later = recent(&commits[..1], &recent(&commits[1..], ""));
        assert_eq!(read_recent(&later), read_recent(&whole));
        assert!(read_recent("x\n1.0\nnan ../..\n").is_empty());
    }

    #[test]
    fn an_extent_is_read_as_it_was_written() {
        for oldest in [None, Some("a".to_owned())] {
            let extent = Extent { newest: "c".to_owned(), oldest, count: 3 };
            assert_eq!(Extent::parse(&extent.text()), Some(extent));
        }
        assert_eq!(Extent::parse("3f"), None);
    }

    #[test]
    fn without_a_repository_there_is_no_history() {
        let folder = tempfile::tempdir().unwrap();
        let soon = Duration::from_secs(2);
        assert_eq!(head(folder.path(), soon), None);
        assert!(log(folder.path(), "HEAD", 0, 1, soon).is_none());
    }
}
