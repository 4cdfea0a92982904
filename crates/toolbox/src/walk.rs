use std::future::poll_fn;
use std::task::Poll;
use std::vec::IntoIter;

use headstart_overlay_fs::{DirEntry, EntryKind, Tree, WorkspacePath};

use crate::ignore_rules::IgnoreRules;
use crate::{ToolContext, ToolError};

/// After this many entries other tasks get a turn, and a dropped search ends.
const ENTRIES_BETWEEN_YIELDS: usize = 64;

/// Walks a folder of the merged view, in the order of the paths' bytes. It leaves out `.git`, what `.gitignore` files
/// ignore or deny rules close, and what lies behind a linked folder.
pub(crate) struct Walk<'a> {
    context: ToolContext<'a>,
    open: Vec<OpenFolder>,
    visited: usize,
    stopped: bool,
    unreadable: usize,
}

struct OpenFolder {
    path: WorkspacePath,
    rules: IgnoreRules,
    entries: IntoIter<DirEntry>,
}

/// A file, folder or link that the walk has reached.
pub(crate) struct WalkEntry {
    pub(crate) path: WorkspacePath,
    pub(crate) kind: EntryKind,
}

impl<'a> Walk<'a> {
    /// Starts in a folder; an error if it cannot be listed.
    pub(crate) async fn new(start: WorkspacePath, context: ToolContext<'a>) -> Result<Self, ToolError> {
        let rules = IgnoreRules::at_start(&start, context).await;
        let mut walk = Self { context, open: Vec::new(), visited: 0, stopped: false, unreadable: 0 };
        walk.enter(start, &rules).await?;
        Ok(walk)
    }

    /// The next entry; `None` at the end, or if the limit of files is reached.
    pub(crate) async fn next(&mut self) -> Option<WalkEntry> {
        while let Some(folder) = self.open.last_mut() {
            let Some(entry) = folder.entries.next() else {
                self.open.pop();
                continue;
            };
            if self.context.limits.files <= self.visited {
                self.stopped = true;
                return None;
            }
            self.visited += 1;
            if self.visited.is_multiple_of(ENTRIES_BETWEEN_YIELDS) {
                yield_now().await;
            }
            let folder = self.open.last()?;
            let Some(path) = visible_path(folder, &entry, self.context) else { continue };
            if entry.kind == EntryKind::Directory {
                let rules = folder.rules.clone();
                if self.enter(path.clone(), &rules).await.is_err() {
                    self.unreadable += 1;
                }
            }
            return Some(WalkEntry { path, kind: entry.kind });
        }
        None
    }

    /// Remarks about folders that the walk could not read, for the end of an output.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.stopped {
            notes.push(format!(
                "stopped after {} files and folders; name a path to search less",
                self.visited
            ));
        }
        if 0 < self.unreadable {
            notes.push(format!("folders that could not be read: {}", self.unreadable));
        }
        notes
    }

    async fn enter(&mut self, path: WorkspacePath, rules: &IgnoreRules) -> Result<(), ToolError> {
        let mut entries = self.context.view.list(&path).await?;
        let has_rules = entries.iter().any(|entry| entry.name == b".gitignore");
        let rules = if has_rules { rules.enter(&path, self.context).await } else { rules.clone() };
        // A folder is sorted by its name with a slash, so that the walk reaches all paths in the order of their
        // bytes.
        entries.sort_by_cached_key(sort_key);
        self.open.push(OpenFolder { path, rules, entries: entries.into_iter() });
        Ok(())
    }
}

/// The path of an entry, if a search may see it.
fn visible_path(folder: &OpenFolder, entry: &DirEntry, context: ToolContext<'_>) -> Option<WorkspacePath> {
    if entry.name == b".git" {
        return None;
    }
    let path = folder.path.join_bytes(&entry.name).ok()?;
    let hidden = folder.rules.ignores(&path, entry.kind) || context.closes(&path);
    (!hidden).then_some(path)
}

fn sort_key(entry: &DirEntry) -> Vec<u8> {
    let mut key = entry.name.clone();
    if entry.kind == EntryKind::Directory {
        key.push(b'/');
    }
    key
}

async fn yield_now() {
    let mut yielded = false;
    poll_fn(|task| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        task.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
