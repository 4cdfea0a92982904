//! What replaces parts of an index: paths that work has staged, and paths that changed on the disk since they were
//! indexed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use headstart_overlay_fs::{ChangeSet, ContentHash, EntryKind, Tree, TreeError, WorkspacePath};

use crate::fields::LARGEST_FILE;
use crate::walk::{ProjectRules, project_files};
use crate::{ContentFields, IndexError, Language, MemoryIndex, Snapshot, Staged};

/// The most files of one delta. Further files are left out, and the caller is told how many.
const MOST_FILES: usize = 2_000;
/// The most contents that are kept for the next delta, besides those of the last one.
const MOST_KEPT: usize = 4_000;

/// A cache of contents that were cut into chunks, so that a file that stays staged for many queries is cut once.
#[derive(Debug, Default)]
pub struct CutContents(HashMap<(ContentHash, Language), Arc<ContentFields>>);

/// The paths of an index that do not count, and the files that count instead.
#[derive(Debug, Clone, Default)]
pub struct Delta {
    hidden: Vec<WorkspacePath>,
    files: Vec<(WorkspacePath, Arc<ContentFields>)>,
    /// The number of files over the limit: neither they nor what the index has at their paths is found.
    pub left_out: usize,
}

impl Delta {
    /// What differs from an index because of `staged` and, below it, `changed`.
    ///
    /// `merged` shows all of it; a caller that may not note reads passes a tree that does not. A folder in `changed`
    /// has no effect, so what is in it has to be listed.
    pub async fn of(
        merged: &dyn Tree,
        staged: &ChangeSet,
        changed: &BTreeSet<WorkspacePath>,
        closes: &(dyn Fn(&WorkspacePath) -> bool + Sync),
        cut: &mut CutContents,
    ) -> Self {
        let mut delta = Self::default();
        let staged: BTreeSet<&WorkspacePath> = staged.changes.iter().map(|change| &change.path).collect();
        let mut rules = ProjectRules::of(merged, closes).await;
        let mut used = HashMap::new();
        for path in staged.iter().copied().chain(changed.iter().filter(|path| !staged.contains(path))) {
            let kind = merged.metadata(path).await.map(|metadata| metadata.kind);
            if kind == Ok(EntryKind::Directory) && !staged.contains(path) {
                continue;
            }
            delta.hidden.push(path.clone());
            if kind != Ok(EntryKind::File) || !rules.includes(path).await {
                continue;
            }
            if delta.files.len() == MOST_FILES {
                delta.left_out += 1;
            } else if let Some(content) = cut.read(merged, path, &mut used).await {
                delta.files.push((path.clone(), content));
            }
        }
        cut.keep(used);
        delta
    }

    /// The paths that are indexed in `merged` and not in `known`, or the other way round: the effect of a change to a
    /// file that says what is indexed ([`is_rule_file`](crate::is_rule_file)).
    pub async fn of_rules(
        merged: &dyn Tree,
        known: &BTreeSet<WorkspacePath>,
        closes: &(dyn Fn(&WorkspacePath) -> bool + Sync),
    ) -> Result<BTreeSet<WorkspacePath>, TreeError> {
        let there = project_files(merged, closes).await?.files.into_iter().map(|(path, _)| path).collect();
        Ok(known.symmetric_difference(&there).cloned().collect())
    }

    /// Whether the index is unchanged.
    pub fn is_empty(&self) -> bool {
        self.hidden.is_empty()
    }

    /// A key, which is the same for equal deltas.
    pub fn key(&self) -> ContentHash {
        let mut text = Vec::new();
        let mut add = |path: &WorkspacePath, digest: &str| {
            text.extend_from_slice(path.as_bytes());
            text.push(0);
            text.extend_from_slice(digest.as_bytes());
            text.push(0);
        };
        self.hidden.iter().for_each(|path| add(path, ""));
        self.files.iter().for_each(|(path, content)| add(path, &content.digest.to_string()));
        ContentHash::of(&text)
    }

    /// Applies the delta to an index, so that nothing replaces parts of it any more.
    pub fn write_to(&self, index: &mut MemoryIndex) {
        self.hidden.iter().for_each(|path| index.remove(path));
        for (path, content) in &self.files {
            index.put(path.clone(), Arc::clone(content));
        }
    }

    /// The delta as a layer over this index, with what past commits say about the paths.
    pub fn over(&self, base: &dyn Snapshot) -> Result<Staged, IndexError> {
        let mut index = MemoryIndex::new();
        for (path, content) in &self.files {
            index.set_history_field(path, base.history(path)?);
            index.put(path.clone(), Arc::clone(content));
        }
        Ok(Staged { index, hidden: self.hidden.clone() })
    }
}

impl CutContents {
    async fn read(
        &self,
        merged: &dyn Tree,
        path: &WorkspacePath,
        used: &mut HashMap<(ContentHash, Language), Arc<ContentFields>>,
    ) -> Option<Arc<ContentFields>> {
        let metadata = merged.metadata(path).await.ok()?;
        if LARGEST_FILE < metadata.len {
            let digest = ContentHash::of(metadata.len.to_string().as_bytes());
            return Some(Arc::new(ContentFields::too_large(path, digest)));
        }
        let bytes = merged.read(path).await.ok()?;
        let key = (ContentHash::of(&bytes), Language::of_name(path.file_name().unwrap_or_default()));
        let known = used.get(&key).or_else(|| self.0.get(&key)).cloned();
        let content = known.unwrap_or_else(|| Arc::new(ContentFields::of(path, &bytes)));
        used.insert(key, Arc::clone(&content));
        Some(content)
    }

    fn keep(&mut self, used: HashMap<(ContentHash, Language), Arc<ContentFields>>) {
        if MOST_KEPT < self.0.len() {
            self.0.clear();
        }
        self.0.extend(used);
    }
}
