use std::collections::{BTreeMap, BTreeSet};

use headstart_overlay_fs::{ChangeKind, ChangeSet, ContentHash};
use headstart_workspace_path::WorkspacePath;

use super::{Baseline, Server, WATCHED};
use crate::servers::file_texts::on_disk;
use crate::servers::session::{Deadline, OpenText};
use crate::{Delta, Diagnostic, FileEdit, IntelError, Severity, Snapshot, compare};

impl Server {
    /// The diagnostics that are new or gone in a state, compared with the unchanged tree.
    pub(super) async fn diagnostics(
        &mut self,
        snapshot: &Snapshot,
        paths: &[WorkspacePath],
        least: Severity,
        deadline: Deadline,
    ) -> Result<Delta, IntelError> {
        let touched = self.touched(&snapshot.changes);
        self.watch(touched.iter().chain(paths));
        let wanted: BTreeSet<WorkspacePath> =
            touched.iter().chain(paths).chain(&self.watched).cloned().collect();
        let before = if snapshot.changes.is_empty() {
            None
        } else {
            Some(self.baseline(snapshot, &wanted, deadline).await?)
        };
        let open = self.texts.open(snapshot, wanted.iter().cloned()).await;
        let session = self.session()?;
        session.set(&snapshot.changes, &open, true).await?;
        let partial = session.settle(&open, deadline).await?;
        let after = session.diagnostics();
        let before = before.unwrap_or_else(|| after.clone());
        self.latest = partial.is_none().then(|| Baseline::of(&open, &wanted, after.clone()));

        let mut delta = compare_states(snapshot, paths, least, &before, &after);
        delta.unfinished = partial.is_some();
        delta.partial = partial;
        Ok(delta)
    }

    /// Checks the unchanged state of some files in advance, for later questions.
    pub(super) async fn warm(
        &mut self,
        snapshot: &Snapshot,
        paths: &[WorkspacePath],
        deadline: Deadline,
    ) -> Result<(), IntelError> {
        self.watch(paths);
        let wanted = self.watched.iter().cloned().collect();
        self.baseline(snapshot, &wanted, deadline).await.map(|_| ())
    }

    /// The diagnostics of the unchanged tree while these files are open.
    async fn baseline(
        &mut self,
        snapshot: &Snapshot,
        wanted: &BTreeSet<WorkspacePath>,
        deadline: Deadline,
    ) -> Result<Vec<Diagnostic>, IntelError> {
        let unchanged = on_disk(snapshot);
        let open = self.texts.open(&unchanged, wanted.iter().cloned()).await;
        let now = Baseline::of(&open, wanted, Vec::new());
        if let Some(known) = &self.baseline {
            let same = now.files.iter().all(|(path, hash)| known.files.get(path) == Some(hash));
            if same && now.absent.is_subset(&known.absent) {
                return Ok(known.diagnostics.clone());
            }
        }
        let session = self.session()?;
        session.set(&unchanged.changes, &open, true).await?;
        if session.settle(&open, deadline).await?.is_some() {
            // Without a baseline nobody can say what an edit changed.
            let progress = session.current_task();
            return Err(IntelError::Loading { server: self.adapter.name.clone(), progress });
        }
        let diagnostics = session.diagnostics();
        self.baseline = Some(Baseline { diagnostics: diagnostics.clone(), ..now });
        Ok(diagnostics)
    }

    /// The files of this server's languages that a change set touches.
    pub(super) fn touched(&self, changes: &ChangeSet) -> Vec<WorkspacePath> {
        let paths = changes.changes.iter().map(|change| &change.path);
        paths.filter(|path| self.adapter.language(path).is_some()).take(WATCHED * 2).cloned().collect()
    }

    fn watch<'a>(&mut self, paths: impl IntoIterator<Item = &'a WorkspacePath>) {
        for path in paths {
            if self.adapter.language(path).is_none() {
                continue;
            }
            self.watched.retain(|known| known != path);
            self.watched.push_back(path.clone());
        }
        let surplus = self.watched.len().saturating_sub(WATCHED);
        self.watched.drain(..surplus);
    }
}

impl Baseline {
    /// A baseline from the diagnostics with these files open.
    fn of(open: &[OpenText], wanted: &BTreeSet<WorkspacePath>, diagnostics: Vec<Diagnostic>) -> Self {
        let files: BTreeMap<WorkspacePath, ContentHash> = open
            .iter()
            .map(|OpenText { path, text }| (path.clone(), ContentHash::of(text.as_bytes())))
            .collect();
        let absent = wanted.iter().filter(|path| !files.contains_key(*path)).cloned().collect();
        Self { files, absent, diagnostics }
    }
}

/// Compares the diagnostics before and after the changes of a state: of these paths (all paths if empty), with
/// severity `least` or worse, without closed files.
pub(crate) fn compare_states(
    snapshot: &Snapshot,
    paths: &[WorkspacePath],
    least: Severity,
    before: &[Diagnostic],
    after: &[Diagnostic],
) -> Delta {
    let edits = Edits::of(&snapshot.changes);
    let asked = |path: &WorkspacePath| {
        paths.is_empty() || paths.contains(path) || edits.moved.get(path).is_some_and(|to| paths.contains(to))
    };
    let kept = |one: &&Diagnostic| one.severity <= least && asked(&one.path) && !(snapshot.closed)(&one.path);
    let before: Vec<Diagnostic> = before.iter().filter(kept).cloned().collect();
    let after: Vec<Diagnostic> = after.iter().filter(kept).cloned().collect();
    compare(&before, &after, &edits.list())
}

/// The texts that a change set edits.
struct Edits<'a> {
    texts: Vec<(&'a WorkspacePath, Option<&'a WorkspacePath>, &'a str, &'a str)>,
    moved: BTreeMap<&'a WorkspacePath, &'a WorkspacePath>,
}

impl<'a> Edits<'a> {
    fn of(changes: &'a ChangeSet) -> Self {
        let text =
            |bytes: Option<&'a [u8]>| std::str::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
        let mut old: BTreeMap<&WorkspacePath, &str> = BTreeMap::new();
        let mut moved = BTreeMap::new();
        for change in &changes.changes {
            if let Some(content) = &change.base_content {
                old.insert(&change.path, text(Some(content)));
            }
            if let ChangeKind::Write { moved_from: Some(from), .. } = &change.kind {
                moved.insert(from, &change.path);
            }
        }
        let mut texts = Vec::new();
        for change in &changes.changes {
            match &change.kind {
                ChangeKind::Write { content, moved_from, .. } => {
                    let from = moved_from.as_ref().unwrap_or(&change.path);
                    if let Some(before) = old.get(from) {
                        texts.push((from, Some(&change.path), *before, text(Some(content))));
                    }
                }
                ChangeKind::Delete if !moved.contains_key(&change.path) => {
                    texts.push((&change.path, None, "", ""));
                }
                _ => {}
            }
        }
        Self { texts, moved }
    }

    fn list(&self) -> Vec<FileEdit<'a>> {
        self.texts
            .iter()
            .map(|(old_path, new_path, old, new)| FileEdit { old_path, new_path: *new_path, old, new })
            .collect()
    }
}
