use std::collections::{BTreeMap, HashSet};

use headstart_workspace_path::WorkspacePath;

use crate::walk::stays_inside;
use crate::{Change, ChangeKind, ChangeSet, Conflict, ConflictKind, ContentHash, EntryKind};
use crate::{Metadata, Observation, Tree, TreeError};

/// Compares what a change set rests on (written and read) with a tree; an empty list: it can be applied.
///
/// A file that was touched but holds the same content is no conflict, nor are other permission bits. The tree
/// may change right after this: a commit has to make sure of every path again at the moment it is replaced.
/// A change set that would make a link out of the workspace is an error, [`TreeError::Escapes`].
///
/// For hosts that write the workspace themselves; [`Workspace::commit`](crate::Workspace::commit) includes it.
pub async fn conflicts(tree: &dyn Tree, changes: &ChangeSet) -> Result<Vec<Conflict>, TreeError> {
    for change in &changes.changes {
        if let ChangeKind::Link { target, .. } = &change.kind
            && !stays_inside(&change.path, target)
        {
            return Err(TreeError::Escapes { path: change.path.clone() });
        }
    }
    let listed: BTreeMap<_, _> =
        changes.reads.iter().filter_map(|read| Some((&read.path, read.names.as_ref()?))).collect();
    let written_to: HashSet<_> = changes.changes.iter().map(|change| &change.path).collect();
    let mut parents = Parents { tree, written_to: &written_to, known: HashSet::new() };
    let mut found = Vec::new();
    for change in &changes.changes {
        let kind = match parents.obstacle(change).await? {
            Some(kind) => Some(kind),
            None => written(tree, change, listed.get(&change.path).copied()).await?,
        };
        found.extend(kind.map(|kind| Conflict { path: change.path.clone(), kind }));
    }
    let reported: HashSet<_> = found.iter().map(|conflict| conflict.path.clone()).collect();
    for read in changes.reads.iter().filter(|read| !reported.contains(&read.path)) {
        if !still_seen(tree, read).await? {
            let kind = if written_to.contains(&read.path) {
                ConflictKind::Modified
            } else {
                ConflictKind::StaleRead
            };
            found.push(Conflict { path: read.path.clone(), kind });
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// The folders above the changes: each is looked at once.
struct Parents<'a> {
    tree: &'a dyn Tree,
    /// What becomes a folder by the change set itself is compared as a change of its own.
    written_to: &'a HashSet<&'a WorkspacePath>,
    known: HashSet<WorkspacePath>,
}

impl Parents<'_> {
    /// Whether something other than a folder is above the path: a change is never made through a link.
    async fn obstacle(&mut self, change: &Change) -> Result<Option<ConflictKind>, TreeError> {
        let mut above = Vec::new();
        let mut parent = change.path.parent();
        while let Some(folder) = parent.filter(|folder| !folder.is_root() && !self.known.contains(folder)) {
            parent = folder.parent();
            above.push(folder);
        }
        for folder in above.into_iter().rev() {
            match kind_at(self.tree, &folder).await? {
                Some(EntryKind::Directory) => self.known.insert(folder),
                Some(_) if self.written_to.contains(&folder) => return Ok(None),
                None => return Ok(None),
                Some(_) => return Ok(Some(ConflictKind::Replaced)),
            };
        }
        Ok(None)
    }
}

async fn written(
    tree: &dyn Tree,
    change: &Change,
    seen_names: Option<&Vec<Vec<u8>>>,
) -> Result<Option<ConflictKind>, TreeError> {
    let now = metadata_at(tree, &change.path).await?;
    let (base, now) = match (&change.base, now) {
        (None, None) => return Ok(None),
        (None, Some(now)) => {
            let merges = change.kind == ChangeKind::CreateDirectory && now.kind == EntryKind::Directory;
            return Ok((!merges).then_some(ConflictKind::Created));
        }
        (Some(_), None) => return Ok(Some(ConflictKind::Deleted)),
        (Some(base), Some(now)) => (base, now),
    };
    if base.kind != now.kind {
        return Ok(Some(ConflictKind::Replaced));
    }
    let same = match now.kind {
        EntryKind::Directory => {
            let names = names_in(tree, &change.path).await?;
            seen_names.is_some_and(|seen| names.iter().all(|name| seen.binary_search(name).is_ok()))
        }
        EntryKind::File if now.links > 1 => false,
        _ if *base == now.fingerprint => true,
        EntryKind::File | EntryKind::Symlink if base.len == now.len => {
            change.base_content.is_some()
                && content_at(tree, &change.path, now.kind).await? == change.base_content
        }
        _ => false,
    };
    Ok((!same).then_some(ConflictKind::Modified))
}

async fn still_seen(tree: &dyn Tree, read: &Observation) -> Result<bool, TreeError> {
    let now = metadata_at(tree, &read.path).await?;
    let (seen, now) = match (&read.seen, now) {
        (None, None) => return Ok(true),
        (Some(seen), Some(now)) if seen.kind == now.kind => (seen, now),
        _ => return Ok(false),
    };
    match now.kind {
        EntryKind::Directory => match &read.names {
            Some(names) => Ok(*names == names_in(tree, &read.path).await?),
            None => Ok(true),
        },
        EntryKind::Other => Ok(true),
        _ if *seen == now.fingerprint => Ok(true),
        _ if seen.len != now.len => Ok(false),
        EntryKind::File | EntryKind::Symlink => match read.content {
            Some(hash) => Ok(content_at(tree, &read.path, now.kind)
                .await?
                .is_some_and(|now| ContentHash::of(&now) == hash)),
            // Only looked at, not read: what a look shows is what counts.
            None => Ok(seen.is_executable() == now.executable),
        },
    }
}

async fn metadata_at(tree: &dyn Tree, path: &WorkspacePath) -> Result<Option<Metadata>, TreeError> {
    match tree.metadata(path).await {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn kind_at(tree: &dyn Tree, path: &WorkspacePath) -> Result<Option<EntryKind>, TreeError> {
    Ok(metadata_at(tree, path).await?.map(|metadata| metadata.kind))
}

async fn content_at(
    tree: &dyn Tree,
    path: &WorkspacePath,
    kind: EntryKind,
) -> Result<Option<Vec<u8>>, TreeError> {
    let content = match kind {
        EntryKind::Symlink => tree.read_link(path).await,
        _ => tree.read(path).await,
    };
    match content {
        Ok(content) => Ok(Some(content)),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn names_in(tree: &dyn Tree, path: &WorkspacePath) -> Result<Vec<Vec<u8>>, TreeError> {
    match tree.list(path).await {
        Ok(entries) => Ok(entries.into_iter().map(|entry| entry.name).collect()),
        Err(error) if is_absence(&error) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// A link that leads out now counts as gone: what was inside is not there any more.
pub(crate) fn is_absence(error: &TreeError) -> bool {
    matches!(error, TreeError::NotFound { .. } | TreeError::NotADirectory { .. } | TreeError::Escapes { .. })
}
