use headstart_overlay_fs::{EntryKind, WorkspacePath};

use crate::ToolContext;

/// The `.gitignore` files of the merged view that apply in one folder.
#[derive(Clone, Default)]
pub(crate) struct IgnoreRules(headstart_overlay_fs::IgnoreRules);

impl IgnoreRules {
    /// The rules for a search that starts in `folder`.
    ///
    /// If the start itself is ignored, it was named on purpose, and the rules above it do not count.
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
        // Reading a closed file would make the work depend on it, and then the work would be withdrawn.
        let closes = |file: &WorkspacePath| context.closes(file);
        Self(self.0.enter(folder, &**context.view, context.limits.file_bytes, closes).await)
    }

    /// Whether a search leaves out the path. These rules must be those of its folder.
    pub(crate) fn ignores(&self, path: &WorkspacePath, kind: EntryKind) -> bool {
        self.0.ignores(path, kind)
    }
}
