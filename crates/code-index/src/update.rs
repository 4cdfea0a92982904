//! Brings an index on disk up to date with the files.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use headstart_overlay_fs::{ContentHash, EntryKind, Fingerprint, Tree, WorkspacePath};

use crate::fields::LARGEST_FILE;
use crate::walk::{ProjectRules, is_rule_file, walk};
use crate::{Applied, ContentFields, Entry, IndexError, Snapshot as _, Store};

/// The number of files that are written at once.
const BATCH: usize = 200;

/// How much of a project is indexed in its current state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Files whose entry is up to date.
    pub current: u64,
    /// All files that are indexed.
    pub all: u64,
}

impl Progress {
    /// The percentage, rounded down: 100 only if nothing is left.
    pub fn percent(self) -> u64 {
        (100 * self.current).checked_div(self.all).unwrap_or(100)
    }
}

/// What an update is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Looking for the files; so many were found.
    Walk(u64),
    /// Reading those that changed.
    Read(Progress),
}

/// The result of an update.
#[derive(Debug, Clone, Default)]
pub struct Updated {
    /// How much the index holds now, of the files that were found or are known.
    pub progress: Progress,
    /// Whether all folders were searched.
    pub is_whole: bool,
    /// What was written.
    pub applied: Applied,
    /// The folders that contain the files.
    pub folders: Vec<WorkspacePath>,
    /// What is not indexed, in words for the user.
    pub told: Vec<String>,
}

/// Compares the index with the files of a tree, and writes what is new, changed or removed.
///
/// A file is read if its metadata (inode, length, times) is not what it was when the file was indexed, or may hide an
/// edit. `keep_going` is asked again and again: a break ends the update after what was read so far, and the next
/// update goes on from there, so nobody has to wait for a whole project. If the break comes while files are looked
/// for, the entries of those that were not found yet stay as they are.
pub async fn update(
    store: &Store,
    tree: &dyn Tree,
    closes: &(dyn Fn(&WorkspacePath) -> bool + Sync),
    keep_going: &mut (dyn FnMut(Step) -> ControlFlow<()> + Send),
) -> Result<Updated, IndexError> {
    let found = walk(tree, closes, &mut |files| keep_going(Step::Walk(files))).await?;
    let known = store.stamps()?;
    let mut updated =
        Updated { folders: found.folders, told: found.told, is_whole: found.is_whole, ..Updated::default() };
    updated.progress.all = found.files.len() as u64;
    let there: HashSet<&WorkspacePath> = found.files.iter().map(|(path, _)| path).collect();
    // What was not come to is as likely to be unchanged as what was, and nothing is said of it.
    let unseen = known.keys().filter(|path| !found.is_whole && !there.contains(path)).count();
    if !found.is_whole {
        updated.progress.all += unseen as u64;
        let (seen, all) = (found.files.len(), updated.progress.all);
        updated.told.push(match unseen {
            0 => format!("only {seen} files were found in this time; headstart index finds the rest"),
            _ => format!("only {seen} of {all} files were looked at in this time; others may have changed"),
        });
    }
    let gone: Vec<Entry> = known
        .keys()
        .filter(|path| found.is_whole && !there.contains(path))
        .map(|path| Entry::Remove { path: path.clone() })
        .collect();
    for batch in gone.chunks(BATCH) {
        updated.add(store.apply(batch)?);
    }

    let is_current = |path: &WorkspacePath, seen: &Fingerprint| {
        known.get(path).is_some_and(|known| !known.text.is_empty() && known.text == stamp(seen))
    };
    let (current, changed): (Vec<_>, Vec<_>) =
        found.files.iter().partition(|(path, seen)| is_current(path, seen));
    updated.progress.current = (current.len() + unseen) as u64;

    let mut batch = Vec::new();
    for (path, _) in changed {
        if keep_going(Step::Read(updated.progress)).is_break() {
            break;
        }
        let Some((content, stamp)) = read(tree, path, known.get(path).map(|known| known.digest)).await else {
            // It was removed meanwhile or may not be read, so it does not count.
            updated.progress.all -= 1;
            continue;
        };
        batch.push(entry(path, content, stamp));
        updated.progress.current += 1;
        if batch.len() == BATCH {
            updated.add(store.apply(&batch)?);
            batch.clear();
        }
    }
    if !batch.is_empty() {
        updated.add(store.apply(&batch)?);
    }
    Ok(updated)
}

/// Updates the entries of these paths, without looking at any other. Returns whether [`update`] has to look at all
/// files, because a folder is among the paths, or a file that says what is indexed.
pub async fn update_paths(
    store: &Store,
    tree: &dyn Tree,
    closes: &(dyn Fn(&WorkspacePath) -> bool + Sync),
    paths: &BTreeSet<WorkspacePath>,
) -> Result<bool, IndexError> {
    let mut rules = ProjectRules::of(tree, closes).await;
    let mut all = false;
    let mut batch = Vec::new();
    for path in paths {
        all |= is_rule_file(path);
        let is_folder = tree.metadata(path).await.is_ok_and(|metadata| metadata.kind == EntryKind::Directory);
        if is_folder {
            all = true;
        } else if !rules.includes(path).await {
            batch.push(Entry::Remove { path: path.clone() });
        } else {
            let known = store.snapshot()?.catalogue().digest(path);
            batch.extend(read(tree, path, known).await.map(|(content, stamp)| entry(path, content, stamp)));
        }
        if BATCH <= batch.len() {
            store.apply(&batch)?;
            batch.clear();
        }
    }
    if !batch.is_empty() {
        store.apply(&batch)?;
    }
    Ok(all)
}

fn entry(path: &WorkspacePath, content: Option<ContentFields>, stamp: String) -> Entry {
    match content {
        Some(content) => Entry::Put { path: path.clone(), content: Arc::new(content), stamp },
        None => Entry::Same { path: path.clone(), stamp },
    }
}

impl Updated {
    fn add(&mut self, applied: Applied) {
        self.applied.put += applied.put;
        self.applied.removed += applied.removed;
        self.applied.contents += applied.contents;
    }
}

/// Reads a file's content, `None` if it is unchanged, and the fingerprint from before that.
async fn read(
    tree: &dyn Tree,
    path: &WorkspacePath,
    known: Option<ContentHash>,
) -> Option<(Option<ContentFields>, String)> {
    let metadata = tree.metadata(path).await.ok().filter(|metadata| metadata.kind == EntryKind::File)?;
    if LARGEST_FILE < metadata.len {
        let stamp = stamp(&metadata.fingerprint);
        let content = ContentFields::too_large(path, ContentHash::of(stamp.as_bytes()));
        return Some((Some(content), stamp));
    }
    let (metadata, bytes) = tree.look(path).await.ok()?;
    let (bytes, stamp) = (bytes?, stamp(&metadata.fingerprint));
    if known == Some(ContentHash::of(&bytes)) {
        return Some((None, stamp));
    }
    Some((Some(ContentFields::of(path, &bytes)), stamp))
}

/// A fingerprint as a text; empty if a later edit might not change it.
fn stamp(seen: &Fingerprint) -> String {
    if seen.racy {
        return String::new();
    }
    let Fingerprint { device, inode, len, modified_ns, changed_ns, .. } = seen;
    format!("{device} {inode} {len} {modified_ns} {changed_ns}")
}
