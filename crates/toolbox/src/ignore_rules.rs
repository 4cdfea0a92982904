use std::path::Path;
use std::sync::Arc;

use headstart_overlay_fs::{EntryKind, Tree, WorkspacePath};
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::ToolContext;

/// The `.gitignore` files that count in one folder: its own and those above it, the nearest first.
#[derive(Clone, Default)]
pub(crate) struct IgnoreRules(Option<Arc<Level>>);

struct Level {
    folder: WorkspacePath,
    patterns: Gitignore,
    above: IgnoreRules,
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
        // git itself does not follow a link here.
        match context.view.metadata(&file).await {
            Ok(found) if found.kind == EntryKind::File && found.len <= context.limits.file_bytes => {}
            _ => return self.clone(),
        }
        let Ok(bytes) = context.view.read(&file).await else { return self.clone() };
        let mut builder = GitignoreBuilder::new(".");
        let text = String::from_utf8_lossy(&bytes);
        for line in text.trim_start_matches('\u{feff}').lines() {
            // A line that is no pattern ignores nothing, as in git.
            let _ = builder.add_line(None, line);
        }
        match builder.build() {
            Ok(patterns) => {
                Self(Some(Arc::new(Level { folder: folder.clone(), patterns, above: self.clone() })))
            }
            Err(_) => self.clone(),
        }
    }

    /// Whether the path, whose folder these rules belong to, is left out of a search.
    pub(crate) fn ignores(&self, path: &WorkspacePath, kind: EntryKind) -> bool {
        let mut level = self.0.as_deref();
        while let Some(Level { folder, patterns, above }) = level {
            // Names that are not UTF-8 are compared in the same lossy form on both sides.
            let below = path.strip_prefix(folder).unwrap_or_default().to_string();
            let verdict = patterns.matched(Path::new(&below), kind == EntryKind::Directory);
            if !verdict.is_none() {
                return verdict.is_ignore();
            }
            level = above.0.as_deref();
        }
        false
    }
}
