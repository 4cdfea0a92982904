//! Past commits, as git prints them. Their text may come from strangers, so only its words are put into the index.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use headstart_overlay_fs::WorkspacePath;

use crate::git::{Family, output};

/// The most commits that are read.
const COMMITS: usize = 6_000;
/// The most files of a commit. One that touches more says nothing about each of them.
const MAX_FILES: usize = 20;
/// The most bytes of text for one file; the newest commits come first.
const MAX_TEXT: usize = 32 * 1024;
/// How many commits count as recent.
const RECENT: usize = 80;
/// The most files of recent commits that are kept.
const MAX_RECENT: usize = 200;

/// The subject of a commit, and the files that it touches.
pub(super) struct Commit {
    subject: String,
    files: Vec<WorkspacePath>,
}

/// The id of the commit that is checked out; `None` without git, a repository or a commit.
///
/// The history of a repository that is not the workspace's own is not read.
pub(super) fn head(workspace: &Path) -> Option<String> {
    let home = std::env::home_dir();
    Family::of(&workspace.canonicalize().ok()?, home.as_deref()).ok()?;
    let text = output(workspace, &["rev-parse", "--verify", "--quiet", "HEAD"])?;
    Some(text.trim().to_owned()).filter(|head| !head.is_empty())
}

/// The commits up to the current one, the newest first, with the paths below the workspace.
///
/// Renames are not searched for, because that would read contents, which a partial clone does not have.
pub(super) fn log(workspace: &Path) -> Option<Vec<Commit>> {
    let count = format!("--max-count={COMMITS}");
    let arguments = [
        "log",
        "--no-merges",
        "--no-renames",
        "--no-show-signature",
        "--name-only",
        "--relative",
        "-z",
        "--format=%x01%s%x02",
        &count,
    ];
    Some(read_log(&output(workspace, &arguments)?))
}

fn read_log(text: &str) -> Vec<Commit> {
    let commits = text.split('\u{1}').filter_map(|commit| {
        let (subject, files) = commit.split_once('\u{2}')?;
        let files = files.split('\0').map(|file| file.trim_start_matches('\n'));
        let files: Vec<_> = files.filter_map(|file| WorkspacePath::parse(file).ok()).collect();
        (1..=MAX_FILES).contains(&files.len()).then(|| Commit { subject: subject.to_owned(), files })
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

/// The files of the last commits as a text, with a line for each: its weight and its path.
pub(super) fn recent(commits: &[Commit]) -> String {
    let mut text = String::new();
    let mut seen: Vec<&WorkspacePath> = Vec::new();
    for (commit, age) in commits.iter().take(RECENT).zip(0_u8..) {
        for file in &commit.files {
            let Some(path) = file.as_str().filter(|path| !path.contains('\n')) else { continue };
            if seen.len() < MAX_RECENT && !seen.contains(&file) {
                seen.push(file);
                let _ = writeln!(text, "{:.4} {path}", (-f32::from(age) / 20.0).exp());
            }
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

    const LOG: &str = "\u{1}Mend the parser\u{2}\0\nsrc/a.rs\0src/b.rs\0\u{1}Touch a lot\u{2}\0\n\u{1}Add it\u{2}\0\nsrc/a.rs\0../x\0";

    #[test]
    fn subjects_are_gathered_for_each_file() {
        let commits = read_log(LOG);
        assert_eq!(commits.len(), 2);
        let subjects = subjects(&commits);
        let of = |path: &str| subjects[&WorkspacePath::parse(path).unwrap()].clone();
        assert_eq!(of("src/a.rs"), "Mend the parser\nAdd it\n");
        assert_eq!(of("src/b.rs"), "Mend the parser\n");
        assert_eq!(subjects.len(), 2);
    }

    #[test]
    fn recent_files_are_kept_as_text() {
        let recent = read_recent(&recent(&read_log(LOG)));
        let paths: Vec<_> = recent.iter().map(|(path, _)| path.to_string()).collect();
        assert_eq!(paths, ["src/a.rs", "src/b.rs"]);
        assert!((recent[0].1 - 1.0).abs() < 1e-3);
        assert!(read_recent("x\n1.0\nnan ../..\n").is_empty());
    }

    #[test]
    fn without_a_repository_there_is_no_history() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(head(folder.path()), None);
        assert!(log(folder.path()).is_none());
    }
}
