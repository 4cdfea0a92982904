use std::sync::Arc;

use headstart_workspace_path::{Glob, WorkspacePath};

use crate::{EntryKind, Tree};

/// The most patterns that count in one folder: those of its own `.gitignore` and of the folders above it. Each of them is
/// compared with each path, so that hundreds of thousands would hold up whatever walks over a project.
pub const MAX_IGNORE_PATTERNS: usize = 5000;

/// The rules of the `.gitignore` files that apply in one folder: its own and those of the folders above it, the
/// nearest first.
///
/// A walk of a tree extends them at each folder with [`enter`](Self::enter), or with [`with`](Self::with) if it reads
/// the files itself.
#[derive(Clone, Default)]
pub struct IgnoreRules(Option<Arc<Level>>);

struct Level {
    folder: WorkspacePath,
    /// The lines of the file, the last one first, because the last line that matches decides.
    lines: Vec<Line>,
    above: IgnoreRules,
    /// The number of lines here and above.
    patterns: usize,
}

/// A pattern from a line of a `.gitignore`.
struct Line {
    glob: Glob,
    /// Whether it includes again what an earlier line ignores.
    negated: bool,
    folders_only: bool,
    /// Whether it applies to the name alone, at any depth.
    name_only: bool,
    /// The last letter or digit of every path that it matches, if there is one. A quick check: most lines of a long
    /// file are skipped by it.
    last: Option<u8>,
}

impl IgnoreRules {
    /// These rules preceded by those of a file in `folder`, as far as there is room for its patterns
    /// ([`MAX_IGNORE_PATTERNS`]).
    #[must_use]
    pub fn with(&self, folder: &WorkspacePath, text: &str) -> Self {
        let above = self.0.as_ref().map_or(0, |level| level.patterns);
        let lines = text.trim_start_matches('\u{feff}').lines().filter_map(Line::read);
        let mut lines: Vec<Line> = lines.take(MAX_IGNORE_PATTERNS - above).collect();
        lines.reverse();
        let patterns = above + lines.len();
        Self(Some(Arc::new(Level { folder: folder.clone(), lines, above: self.clone(), patterns })))
    }

    /// These rules preceded by those of the folder's own `.gitignore`, if it has one that is not closed and has at
    /// most this many bytes. A closed file is not even looked at.
    pub async fn enter(
        &self,
        folder: &WorkspacePath,
        tree: &dyn Tree,
        most_bytes: u64,
        closes: impl Fn(&WorkspacePath) -> bool + Send,
    ) -> Self {
        let Some(file) = folder.join(".gitignore").ok().filter(|file| !closes(file)) else {
            return self.clone();
        };
        // Git itself does not follow a link here.
        match tree.metadata(&file).await {
            Ok(found) if found.kind == EntryKind::File && found.len <= most_bytes => {}
            _ => return self.clone(),
        }
        let Ok(bytes) = tree.read(&file).await else { return self.clone() };
        self.with(folder, &String::from_utf8_lossy(&bytes))
    }

    /// Whether the path is ignored. These rules must be those of its folder.
    pub fn ignores(&self, path: &WorkspacePath, kind: EntryKind) -> bool {
        self.decide(path, kind) == Some(true)
    }

    /// Whether a line ignores the path, or includes it; `None` if no line matches.
    pub fn decide(&self, path: &WorkspacePath, kind: EntryKind) -> Option<bool> {
        let mut level = self.0.as_deref();
        while let Some(Level { folder, lines, above, .. }) = level {
            let below = path.strip_prefix(folder).unwrap_or_default();
            if let Some(line) = lines.iter().find(|line| line.is_for(&below, kind)) {
                return Some(!line.negated);
            }
            level = above.0.as_deref();
        }
        None
    }
}

impl std::fmt::Debug for IgnoreRules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IgnoreRules").finish_non_exhaustive()
    }
}
impl Line {
    /// Reads a line by git's rules. A line that is not a pattern ignores nothing, as in git.
    fn read(line: &str) -> Option<Self> {
        if line.starts_with('#') {
            return None;
        }
        let line = without_blanks_at_the_end(line);
        let (negated, line) = match line.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let (folders_only, line) = match line.strip_suffix('/') {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let name_only = !line.contains('/');
        let pattern = line.strip_prefix('/').unwrap_or(line);
        if pattern.is_empty() {
            return None;
        }
        let glob = Glob::without_braces(&without_further_stars(pattern)).ok()?;
        let last = pattern.bytes().last().filter(u8::is_ascii_alphanumeric);
        Some(Self { glob, negated, folders_only, name_only, last })
    }

    fn is_for(&self, path: &WorkspacePath, kind: EntryKind) -> bool {
        if self.folders_only && kind != EntryKind::Directory {
            return false;
        }
        if self.last.is_some() && path.as_bytes().last().copied() != self.last {
            return false;
        }
        self.glob.is_match(if self.name_only {
            path.file_name().unwrap_or_default()
        } else {
            path.as_bytes()
        })
    }
}

/// Git reads more than two stars in a row as two.
fn without_further_stars(pattern: &str) -> String {
    let mut shorter = String::with_capacity(pattern.len());
    for letter in pattern.chars() {
        if letter != '*' || !shorter.ends_with("**") {
            shorter.push(letter);
        }
    }
    shorter
}

/// Blanks at the end do not count, unless a backslash stands before them.
fn without_blanks_at_the_end(line: &str) -> &str {
    let trimmed = line.trim_end_matches(' ');
    let backslashes = trimmed.bytes().rev().take_while(|byte| *byte == b'\\').count();
    let escapes_one = backslashes % 2 == 1 && trimmed.len() < line.len();
    if escapes_one { &line[..=trimmed.len()] } else { trimmed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_two_stars_in_a_row_are_two() {
        let rules = IgnoreRules::default().with(&WorkspacePath::root(), "/***\n!?\na****b\n");
        let ignores =
            |path: &str| rules.ignores(&WorkspacePath::parse(path).expect("a path"), EntryKind::File);
        for (path, is_ignored) in
            [("a", false), ("b.x", true), ("d/a", false), ("d/b.x", true), ("axb", true)]
        {
            assert_eq!(ignores(path), is_ignored, "{path}");
        }
    }

    #[test]
    fn of_many_patterns_the_first_ones_count_in_one_file_and_in_those_above() {
        let many: Vec<_> = (0..200_000).map(|number| format!("*{number}*")).collect();
        let many = many.join("\n");
        let at = |path: &str| WorkspacePath::parse(path).expect("a path");
        let held = |rules: &IgnoreRules| {
            let mut level = rules.0.as_deref();
            let mut lines = 0;
            while let Some(Level { lines: own, above, .. }) = level {
                (lines, level) = (lines + own.len(), above.0.as_deref());
            }
            lines
        };
        let first = IgnoreRules::default().with(&WorkspacePath::root(), &format!("# a comment\n\n{many}"));
        assert_eq!(held(&first), MAX_IGNORE_PATTERNS);
        assert!(first.ignores(&at("x4999"), EntryKind::File));
        let few = IgnoreRules::default().with(&WorkspacePath::root(), "target/\n");
        let below = (0..50).fold((few, WorkspacePath::root()), |(rules, folder), _| {
            let folder = folder.join("d").expect("a path");
            (rules.with(&folder, &many), folder)
        });
        assert_eq!(held(&below.0), MAX_IGNORE_PATTERNS);
        assert!(below.0.ignores(&at("d/target"), EntryKind::Directory), "what stands above stays");
    }

    /// A pattern whose last letter differs from that of the path is skipped quickly. This must not change any answer.
    #[test]
    fn the_last_letter_of_a_pattern_is_only_a_short_cut() {
        let text = "*.rs\n!keep.rs\n[xy]z\nend\\s\n*[0-9]\nq?\nlogs/\n";
        let rules = IgnoreRules::default().with(&WorkspacePath::root(), text);
        let decides = |path: &str, kind| rules.decide(&WorkspacePath::parse(path).expect("a path"), kind);
        for (path, expected) in [
            ("a.rs", Some(true)),
            ("keep.rs", Some(false)),
            ("xz", Some(true)),
            ("zz", None),
            ("ends", Some(true)),
            ("a7", Some(true)),
            ("qs", Some(true)),
            ("a.rst", None),
        ] {
            assert_eq!(decides(path, EntryKind::File), expected, "{path}");
        }
        assert_eq!(decides("logs", EntryKind::Directory), Some(true));
        assert_eq!(decides("logs", EntryKind::File), None);
    }
}
