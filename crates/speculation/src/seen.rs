use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use headstart_overlay_fs::{
    Change, ChangeKind, ChangeSet, Content, ContentHash, EntryKind, Observation, WorkspacePath,
};
use headstart_tool_gate::{Behaviour, Declaration};

use crate::lock::lock;

/// What the calls of a foreground turn read or wrote last, file by file; `None`: nothing was there. A file that is another
/// one when a call replaces it was changed by somebody else, and the model does not know.
///
/// Each call of such a turn has an overlay of its own, so without this only what changes during a call would show.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<HashMap<WorkspacePath, Option<ContentHash>>>>);

impl Seen {
    /// Notes what a call read. A search shows some lines of a file only: it makes a file known, but what the turn knew of
    /// it before stays what counts. Of a call that failed the model knows no more than what was not there.
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

    /// Notes what was committed. A file that holds somebody else's edits as well is not as the call wrote it, and so has to
    /// be read before it is replaced.
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

    /// The paths that would be replaced and are not what the turn knows.
    pub(crate) fn changed_meanwhile(&self, changes: &ChangeSet) -> Vec<String> {
        let seen = lock(&self.0);
        let is_other = |change: &&Change| {
            let Some(known) = seen.get(&change.path) else { return false };
            // A folder has no content: whether it may go is for the commit.
            let is_folder = change.base.as_ref().is_some_and(|base| base.kind == EntryKind::Directory);
            !is_folder && *known != change.base_content.as_ref().map(Content::hash)
        };
        changes.changes.iter().filter(is_other).map(|change| change.path.to_string()).collect()
    }
}
