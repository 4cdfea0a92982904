use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use headstart_overlay_fs::{
    Change, ChangeKind, ChangeSet, Content, ContentHash, EntryKind, Observation, WorkspacePath,
};
use headstart_tool_gate::{Behaviour, Declaration};

use crate::lock::lock;

/// What the calls of a foreground turn read or wrote last, for each file; `None` if nothing was there. If a file has
/// another content when a call replaces it, somebody else has changed it, and the model does not know.
///
/// Each call of such a turn has its own overlay, so without this only changes during a call would be noticed.
#[derive(Clone, Default)]
pub(crate) struct KnownContents(Arc<Mutex<HashMap<WorkspacePath, Option<ContentHash>>>>);

impl KnownContents {
    /// Notes what a call read. A search shows only some lines of a file: it makes a file known, but if the turn knew
    /// the file before, that knowledge still counts. From a call that failed the model only learns what does not exist.
    pub(crate) fn note_reads(&self, tool: &str, failed: bool, reads: &[Observation]) {
        let searches = Declaration::of_ours(tool).is_some_and(|tool| tool.behaviour == Behaviour::Searches);
        let mut seen = lock(&self.0);
        for read in reads {
            let content = match &read.seen {
                None => None,
                Some(found) if found.kind == EntryKind::File && read.content.is_some() && !failed => {
                    read.content
                }
                Some(_) => continue,
            };
            if searches {
                seen.entry(read.path.clone()).or_insert(content);
            } else {
                seen.insert(read.path.clone(), content);
            }
        }
    }

    /// Notes what was committed. A file that also contains somebody else's edits is not as the call wrote it, so it has
    /// to be read before it is replaced.
    pub(crate) fn note_writes(&self, changes: &ChangeSet) {
        let mut seen = lock(&self.0);
        for change in &changes.changes {
            match &change.kind {
                ChangeKind::Write { content, .. } => {
                    seen.insert(change.path.clone(), Some(content.hash()));
                }
                ChangeKind::Delete => {
                    seen.insert(change.path.clone(), None);
                }
                ChangeKind::Link { .. } | ChangeKind::CreateDirectory => {
                    seen.remove(&change.path);
                }
            }
        }
    }

    /// The paths that would be replaced and do not have the content that the turn knows.
    pub(crate) fn changed_meanwhile(&self, changes: &ChangeSet) -> Vec<String> {
        let seen = lock(&self.0);
        let is_other = |change: &&Change| {
            let Some(known) = seen.get(&change.path) else { return false };
            // A folder has no content; the commit decides whether it may be removed.
            let is_folder = change.base.as_ref().is_some_and(|base| base.kind == EntryKind::Directory);
            !is_folder && *known != change.base_content.as_ref().map(Content::hash)
        };
        changes.changes.iter().filter(is_other).map(|change| change.path.to_string()).collect()
    }
}
