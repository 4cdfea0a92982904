//! Which state of the files the server sees, on disk and in open documents.

use std::collections::BTreeMap;
use std::sync::Arc;

use headstart_overlay_fs::ChangeSet;
use headstart_workspace_path::WorkspacePath;
use serde_json::{Value, json};

use super::{Document, SendReason, Session};
use crate::IntelError;
use crate::servers::adapter::RecheckTrigger;
use crate::servers::change_sets::{FileChange, StagedState, difference, staged};

/// The most documents that stay open.
const OPEN: usize = 64;

/// A document that is asked about.
#[derive(Debug, Clone)]
pub(crate) struct OpenText {
    pub(crate) path: WorkspacePath,
    pub(crate) text: Arc<str>,
}

impl Session {
    /// Makes the server see a state: its view shows the files, documents that are asked about are open, and all
    /// others that are open have the text of this state or are closed.
    pub(crate) async fn set(
        &mut self,
        changes: &Arc<ChangeSet>,
        wanted: &[OpenText],
        save: bool,
    ) -> Result<(), IntelError> {
        let mut differing: BTreeMap<WorkspacePath, FileChange> =
            difference(&self.synced, changes).into_iter().collect();
        for path in std::mem::take(&mut self.uncertain) {
            let change = if staged(changes, &path) == StagedState::Gone {
                FileChange::Deleted
            } else {
                FileChange::Changed
            };
            differing.entry(path).or_insert(change);
        }
        if !differing.is_empty() {
            // If this fails half-way, the next state has to mention these paths again.
            self.uncertain = differing.keys().cloned().collect();
            self.view.show(changes).await?;
            self.uncertain.clear();
            self.synced = changes.clone();
            self.tell_files(&differing);
        }
        let mut sent = Vec::new();
        for path in differing.keys() {
            if !self.documents.contains_key(path) || wanted.iter().any(|open| open.path == *path) {
                continue;
            }
            match staged(changes, path) {
                StagedState::File(content) => match std::str::from_utf8(content) {
                    Ok(text) => sent.extend(self.open(path, &text.into())),
                    Err(_) => self.close(path),
                },
                // The text of the base is not known here. A question about the file will open it again.
                StagedState::Gone | StagedState::Other | StagedState::Untouched => self.close(path),
            }
        }
        for OpenText { path, text } in wanted {
            sent.extend(self.open(path, text));
        }
        self.trigger_rechecks(!differing.is_empty(), &sent);
        if save && self.unsaved {
            self.save(wanted);
        }
        self.close_surplus();
        Ok(())
    }

    /// Whether a change on disk is what the server was told is staged there. From then on it does not count as staged
    /// any more.
    pub(crate) fn was_accepted(&mut self, path: &WorkspacePath, on_disk: Option<&[u8]>) -> bool {
        let is_same = match staged(&self.synced, path) {
            StagedState::File(content) => on_disk == Some(&**content),
            StagedState::Gone => on_disk.is_none(),
            StagedState::Other | StagedState::Untouched => false,
        };
        if is_same {
            Arc::make_mut(&mut self.synced).changes.retain(|change| change.path != *path);
        }
        is_same
    }

    /// Whether the server was told the state on disk.
    pub(crate) fn has_nothing_staged(&self) -> bool {
        self.synced.is_empty() && self.uncertain.is_empty()
    }

    /// Tells the server that files changed on the user's disk.
    pub(crate) fn files_changed(&mut self, paths: &[WorkspacePath]) {
        let changed = paths.iter().map(|path| (path.clone(), FileChange::Changed)).collect();
        self.tell_files(&changed);
        for path in paths {
            if staged(&self.synced, path) == StagedState::Untouched {
                self.close(path);
            }
        }
    }

    fn tell_files(&mut self, changes: &BTreeMap<WorkspacePath, FileChange>) {
        let list: Vec<Value> = changes
            .iter()
            .map(|(path, change)| json!({ "uri": self.uri(path), "type": *change as u8 }))
            .collect();
        self.notify("workspace/didChangeWatchedFiles", &json!({ "changes": list }));
        self.mark_changed();
        self.file_set_changed |= changes.values().any(|change| *change != FileChange::Changed);
        self.unsaved = true;
    }

    /// Opens a document or gives it another text; returns its path if the server had to be told.
    fn open(&mut self, path: &WorkspacePath, text: &Arc<str>) -> Option<WorkspacePath> {
        self.use_count += 1;
        let used = self.use_count;
        let uri = self.uri(path);
        if let Some(document) = self.documents.get_mut(path) {
            document.used = used;
            if document.text == *text {
                return None;
            }
            document.version += 1;
            document.text = text.clone();
            let version = document.version;
            self.notify(
                "textDocument/didChange",
                &json!({
                    "textDocument": { "uri": uri, "version": version },
                    "contentChanges": [{ "text": text }],
                }),
            );
        } else {
            let language = self.adapter.language(path).unwrap_or("plaintext").to_owned();
            self.documents.insert(path.clone(), Document { version: 1, text: text.clone(), used });
            self.notify(
                "textDocument/didOpen",
                &json!({
                    "textDocument": { "uri": uri, "languageId": language, "version": 1, "text": text },
                }),
            );
        }
        self.mark_sent(path, SendReason::Changed);
        self.unsaved = true;
        Some(path.clone())
    }

    fn mark_changed(&mut self) {
        self.changed.get_or_insert(self.reports.searches_begun);
    }

    fn mark_sent(&mut self, path: &WorkspacePath, how: SendReason) {
        self.mark_changed();
        let sent = self.unsettled.entry(path.clone()).or_insert(how);
        if how == SendReason::Changed {
            *sent = how;
        }
        self.reports.pulled.remove(path);
        // What it published for the text before does not count any more.
        if let Some(published) = self.reports.published.get_mut(path) {
            published.serial = 0;
        }
    }

    fn close(&mut self, path: &WorkspacePath) {
        if self.documents.remove(path).is_some() {
            self.unsettled.remove(path);
            self.reports.pulled.remove(path);
            self.reports.published.remove(path);
            self.reports.raw.remove(path);
            let uri = self.uri(path);
            self.notify("textDocument/didClose", &json!({ "textDocument": { "uri": uri } }));
            self.mark_changed();
        }
    }

    /// Sends open documents again if the server does not check them by itself.
    fn trigger_rechecks(&mut self, files_differ: bool, sent: &[WorkspacePath]) {
        let needed = files_differ || !sent.is_empty();
        if !needed || !self.adapter.nudges.contains(&RecheckTrigger::ResendOpen) {
            return;
        }
        let others: Vec<WorkspacePath> =
            self.documents.keys().filter(|path| !sent.contains(path)).cloned().collect();
        for path in others {
            let uri = self.uri(&path);
            let Some(document) = self.documents.get_mut(&path) else { continue };
            document.version += 1;
            let params = json!({
                "textDocument": { "uri": uri, "version": document.version },
                "contentChanges": [{ "text": &*document.text }],
                // An extension of clangd, without which a header that was missing stays missing.
                "forceRebuild": true,
            });
            self.notify("textDocument/didChange", &params);
            self.mark_sent(&path, SendReason::Again);
        }
    }

    /// Reports a save. One is enough, because a check on disk covers the whole project.
    fn save(&mut self, wanted: &[OpenText]) {
        self.unsaved = false;
        if !self.adapter.nudges.contains(&RecheckTrigger::Save) {
            return;
        }
        if let Some(open) = wanted.first() {
            let uri = self.uri(&open.path);
            self.notify("textDocument/didSave", &json!({ "textDocument": { "uri": uri } }));
            self.expect_check();
        }
    }

    fn close_surplus(&mut self) {
        while OPEN < self.documents.len() {
            let oldest =
                self.documents.iter().min_by_key(|(_, document)| document.used).map(|(path, _)| path.clone());
            let Some(oldest) = oldest else { return };
            self.close(&oldest);
        }
    }

    /// The versions of the open documents.
    pub(crate) fn versions(&self) -> BTreeMap<WorkspacePath, i32> {
        self.documents.iter().map(|(path, document)| (path.clone(), document.version)).collect()
    }
}
