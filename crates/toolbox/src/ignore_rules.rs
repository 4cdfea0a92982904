use std::sync::Arc;

use headstart_overlay_fs::{EntryKind, Tree, WorkspacePath};
use headstart_workspace_path::Glob;

use crate::ToolContext;

/// The `.gitignore` files that count in one folder: its own and those above it, the nearest first.
#[derive(Clone, Default)]
pub(crate) struct IgnoreRules(Option<Arc<Level>>);

struct Level {
    folder: WorkspacePath,
    /// The lines of the file, the last one first: the first that matches decides.
    lines: Vec<Line>,
    above: IgnoreRules,
}

/// A line of a `.gitignore` that is a pattern.
struct Line {
    glob: Glob,
    /// Whether it brings back what an earlier one leaves out.
    negated: bool,
    folders_only: bool,
    /// Whether it is for the name alone, at any depth.
    name_only: bool,
}

impl IgnoreRules {
    /// The rules for a search that starts in `folder`.
    ///
    /// A start that is ignored itself was named on purpose: then the rules above it do not count.
    pub(crate) async fn at_start(folder: &WorkspacePath, context: ToolContext<'_>) -> Self {
        let mut rules = Self::default();
        let mut current = WorkspacePath::root();
        for name in folder.names() {
            rules = rules.enter(&current, context).await;
            let Ok(next) = current.join_bytes(name) else { return Self::default() };
            if rules.ignores(&next, EntryKind::Directory) {
                return Self::default();
            }
            current = next;
        }
        rules
    }

    /// These rules with those of the folder's own `.gitignore`, if it has one.
    pub(crate) async fn enter(&self, folder: &WorkspacePath, context: ToolContext<'_>) -> Self {
        let Ok(file) = folder.join(".gitignore") else { return self.clone() };
        // A closed file is not even looked at: that would be a read, and the work would be withdrawn for it.
        if context.closes(&file) {
            return self.clone();
        }
        // git itself does not follow a link here.
        match context.view.metadata(&file).await {
            Ok(found) if found.kind == EntryKind::File && found.len <= context.limits.file_bytes => {}
            _ => return self.clone(),
        }
        let Ok(bytes) = context.view.read(&file).await else { return self.clone() };
        let text = String::from_utf8_lossy(&bytes);
        let mut lines: Vec<Line> =
            text.trim_start_matches('\u{feff}').lines().filter_map(Line::read).collect();
        lines.reverse();
        Self(Some(Arc::new(Level { folder: folder.clone(), lines, above: self.clone() })))
    }

    /// Whether the path, whose folder these rules belong to, is left out of a search.
    pub(crate) fn ignores(&self, path: &WorkspacePath, kind: EntryKind) -> bool {
        let mut level = self.0.as_deref();
        while let Some(Level { folder, lines, above }) = level {
            let below = path.strip_prefix(folder).unwrap_or_default();
            if let Some(line) = lines.iter().find(|line| line.is_for(&below, kind)) {
                return !line.negated;
            }
            level = above.0.as_deref();
        }
        false
    }
}

impl Line {
    /// By git's rules. A line that is no pattern leaves nothing out, as in git.
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
        let glob = Glob::without_braces(pattern).ok()?;
        Some(Self { glob, negated, folders_only, name_only })
    }

    fn is_for(&self, path: &WorkspacePath, kind: EntryKind) -> bool {
        if self.folders_only && kind != EntryKind::Directory {
            return false;
        }
        self.glob.is_match(if self.name_only {
            path.file_name().unwrap_or_default()
        } else {
            path.as_bytes()
        })
    }
}

/// Blanks at the end do not count, unless there is a backslash before them.
fn without_blanks_at_the_end(line: &str) -> &str {
    let trimmed = line.trim_end_matches(' ');
    let backslashes = trimmed.bytes().rev().take_while(|byte| *byte == b'\\').count();
    let escapes_one = backslashes % 2 == 1 && trimmed.len() < line.len();
    if escapes_one { &line[..=trimmed.len()] } else { trimmed }
}
