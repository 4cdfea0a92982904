use std::fmt::Write as _;

use headstart_overlay_fs::WorkspacePath;
use headstart_tool_gate::DenyRules;

use crate::sanitize::sanitize_line;

/// The most changed files that are named.
const MAX_CHANGED: usize = 10;

/// Where a session works, as its host found it at the beginning. Empty fields are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionEnvironment {
    /// The workspace, absolute.
    pub folder: String,
    /// The operating system and its shell, in a few words.
    pub system: String,
    /// The day, as `2026-01-31`.
    pub date: String,
    /// The branch and changed files, from [`SessionEnvironment::git_of`].
    pub git: String,
    /// An overview of the files, from [`file_overview`](crate::file_overview).
    pub files: String,
}

impl SessionEnvironment {
    /// The branch and changed files in a line, from the output of `git status --porcelain=v1 --branch`. Paths that
    /// the rules close are counted and not named.
    pub fn git_of(status: &str, deny: &DenyRules) -> String {
        let mut lines = status.lines();
        let Some(branch) = lines.next().and_then(|line| line.strip_prefix("## ")) else {
            return String::new();
        };
        let branch = match branch.strip_prefix("No commits yet on ") {
            Some(branch) => format!("branch {branch}, without a commit"),
            None if branch.starts_with("HEAD (no branch)") => "no branch (detached)".to_owned(),
            None => match branch.split_once("...") {
                Some((branch, upstream)) => format!("branch {branch}, follows {upstream}"),
                None => format!("branch {branch}"),
            },
        };
        let changed: Vec<_> = lines.filter(|line| 3 < line.len()).collect();
        if changed.is_empty() {
            return sanitize_line(&format!("{branch}; no changed files"), 300);
        }
        let named = changed.iter().filter(|line| may_be_named(line, deny)).take(MAX_CHANGED);
        let named: Vec<_> = named.map(|line| sanitize_line(line.trim(), 120)).collect();
        let mut text = sanitize_line(&branch, 300);
        let _ = write!(text, "; changed: {}", named.join(", "));
        if named.len() < changed.len() {
            let _ = write!(text, " ({} in all)", changed.len());
        }
        text
    }

    /// The branch from the same output, with a `*` if files differ from the last commit. `None` if it is not such an
    /// output.
    pub fn branch_of(status: &str) -> Option<String> {
        let mut lines = status.lines();
        let branch = lines.next()?.strip_prefix("## ")?;
        let branch = branch.strip_prefix("No commits yet on ").unwrap_or(branch);
        let branch = match branch.split_once("...") {
            _ if branch.starts_with("HEAD (no branch)") => "detached",
            Some((branch, _)) => branch,
            None => branch,
        };
        let is_changed = lines.any(|line| 3 < line.len() && !line.starts_with('['));
        Some(sanitize_line(branch, 80) + if is_changed { "*" } else { "" })
    }

    pub(crate) fn text(&self) -> String {
        let rows =
            [("Folder", &self.folder), ("System", &self.system), ("Date", &self.date), ("Git", &self.git)];
        let mut text = String::new();
        for (name, value) in rows.into_iter().filter(|(_, value)| !value.is_empty()) {
            let _ = writeln!(text, "{name}: {}", sanitize_line(value, 2_000));
        }
        if !self.files.is_empty() {
            let _ = writeln!(text, "Files (not all; ls and glob show the rest):\n{}", self.files.trim_end());
        }
        text
    }
}

/// Whether no rule closes the path in a line of git's output. A path that git puts in quotes is not parsed, and so
/// not named.
fn may_be_named(line: &str, deny: &DenyRules) -> bool {
    let Some(paths) = line.get(3..) else { return false };
    let mut paths = paths.split(" -> ");
    paths.all(|path| {
        let parsed = WorkspacePath::parse(path).ok().filter(|_| !path.starts_with('"'));
        parsed.is_some_and(|path| !deny.closes(&path, false))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_is_told_in_a_line() {
        let deny = DenyRules::from_patterns(["/private"]).unwrap();
        let cases = [
            ("## main\n", "branch main; no changed files"),
            (
                "## main...origin/main [ahead 2]\n M a.rs\n?? b\n",
                "branch main, follows origin/main [ahead 2]; changed: M a.rs, ?? b",
            ),
            ("## No commits yet on trunk\n", "branch trunk, without a commit; no changed files"),
            ("## HEAD (no branch)\n", "no branch (detached); no changed files"),
            (
                "## m\n?? .env\n M private/x\n M \"q\\t\"\nR  a -> b\n",
                "branch m; changed: R  a -> b (4 in all)",
            ),
            ("fatal: not a git repository\n", ""),
            ("", ""),
        ];
        for (status, expected) in cases {
            assert_eq!(SessionEnvironment::git_of(status, &deny), expected, "{status}");
        }
    }

    #[test]
    fn a_branch_is_told_with_a_star_where_files_differ() {
        let cases = [
            ("## main\n", Some("main")),
            ("## main...origin/main [ahead 2]\n M a.rs\n", Some("main*")),
            ("## No commits yet on trunk\n?? b\n", Some("trunk*")),
            ("## HEAD (no branch)\n", Some("detached")),
            ("fatal: not a git repository\n", None),
            ("", None),
        ];
        for (status, expected) in cases {
            assert_eq!(SessionEnvironment::branch_of(status).as_deref(), expected, "{status}");
        }
    }

    #[test]
    fn a_thousand_changed_files_are_counted() {
        let lines: Vec<_> = (0..1_000).map(|number| format!(" M file{number}")).collect();
        let told =
            SessionEnvironment::git_of(&format!("## main\n{}", lines.join("\n")), &DenyRules::default());
        assert!(told.ends_with("(1000 in all)") && told.len() < 300, "{told}");
    }
}
