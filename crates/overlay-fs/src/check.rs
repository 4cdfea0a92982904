mod conflict;
mod moved;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::pin::Pin;

use headstart_workspace_path::WorkspacePath;

pub(crate) use self::conflict::text_of;
use self::moved::Followed;
pub(crate) use self::moved::Moves;
use crate::commit::ConflictSide;
use crate::merge::merge;
use crate::metadata::carried_bits;
use crate::walk::link_target;
use crate::{Change, ChangeKind, ChangeSet, CommitOptions, Committed, Conflict, ConflictKind, ContentHash};
use crate::{EntryKind, Merge, Metadata, Observation, StaleReads, Tree, TreeError};

/// What a commit of a change set to a tree would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution<'a> {
    /// It can be committed.
    Apply {
        /// What to apply: the change set, except for files that are merged. There the content holds the edits of both
        /// sides, and the base is what the user has now.
        changes: Cow<'a, ChangeSet>,
        /// What to tell the user once it is done.
        committed: Committed,
    },
    /// It cannot be committed, because of these paths.
    Conflict(Vec<Conflict>),
}

/// Compares everything that a change set read or expects with a tree, and merges what both sides changed.
///
/// A file that was touched but has the same content is no conflict, nor are other permission bits. The tree may
/// change right after this, so a commit has to check every path again at the moment it replaces it. A change set that
/// would make a link out of the workspace is an error, [`TreeError::Escapes`].
///
/// Every [`Workspace`](crate::Workspace) commits by these rules; a host that writes its files itself calls this for
/// them. To see what an accept would answer, call this and apply nothing.
pub fn resolve<'tree, 'set: 'tree>(
    tree: &'tree dyn Tree,
    changes: &'set ChangeSet,
    options: CommitOptions,
) -> Resolving<'tree, 'set> {
    // Boxed, because every caller's future would otherwise contain this one, which is large.
    Box::pin(compare(tree, changes, options))
}

/// The future of [`resolve`].
pub type Resolving<'tree, 'set> =
    Pin<Box<dyn Future<Output = Result<Resolution<'set>, TreeError>> + Send + 'tree>>;

async fn compare<'a>(
    tree: &dyn Tree,
    changes: &'a ChangeSet,
    options: CommitOptions,
) -> Result<Resolution<'a>, TreeError> {
    for change in &changes.changes {
        if let ChangeKind::Link { target, .. } = &change.kind
            && link_target(&change.path, target).is_none()
        {
            return Err(TreeError::Escapes { path: change.path.clone() });
        }
    }
    let listed: HashMap<_, _> =
        changes.reads.iter().filter_map(|read| Some((&read.path, read.names.as_ref()?))).collect();
    let written_to: HashSet<_> = changes.changes.iter().map(|change| &change.path).collect();
    let mut parents = Parents { tree, written_to: &written_to, known: HashSet::new() };
    let moves = Moves::of(&changes.changes);
    let mut found = Vec::new();
    let mut replaced: Vec<(usize, Change)> = Vec::new();
    let mut merged = Vec::new();
    for (index, change) in changes.changes.iter().enumerate() {
        let looked_at = match parents.above(change).await? {
            ParentState::Folders => written(tree, change, listed.get(&change.path).copied(), options).await?,
            ParentState::Nothing if change.base.is_none() => Written::AsItWas(None),
            ParentState::Nothing => Written::Conflict(ConflictKind::Deleted, None),
            ParentState::Obstacle(side) => Written::Conflict(ConflictKind::Replaced, Some(side)),
        };
        match moves.follow(&changes.changes, change, looked_at, options.merge) {
            Written::AsItWas(_) => {}
            Written::Same(change) => replaced.push((index, change)),
            // The user edited both the file that was moved away from here and the place it moved to, so which edit
            // counts is theirs to say.
            Written::Merged(other) if replaced.iter().any(|(place, _)| *place == index) => {
                let side = metadata_at(tree, &other.path).await?.map(|now| ConflictSide::found(&now, None));
                let kind = ConflictKind::Modified;
                found.push(conflict::about(tree, &changes.changes, change, kind, side).await?);
            }
            Written::Merged(change) => {
                merged.push(change.path.clone());
                replaced.push((index, change));
            }
            Written::Followed(both) => {
                let Followed { to, gone, moved, is_merged } = *both;
                merged.extend(is_merged.then(|| moved.path.clone()));
                replaced.push((index, gone));
                replaced.push((to, moved));
            }
            other => {
                if let Some((kind, side)) = other.conflict() {
                    found.push(conflict::about(tree, &changes.changes, change, kind, side).await?);
                }
            }
        }
    }
    let reported: HashSet<_> = found.iter().map(|conflict| conflict.path.clone()).collect();
    let mut stale_reads = Vec::new();
    let same: HashSet<_> = replaced
        .iter()
        .filter(|(place, _)| changes.changes[*place].base.is_none())
        .map(|(_, change)| &change.path)
        .collect();
    let is_settled = |path| reported.contains(path) || same.contains(path);
    for read in changes.reads.iter().filter(|read| !is_settled(&read.path)) {
        if still_seen(tree, read).await? {
            continue;
        }
        // The work on a path rests on the first look at it. If that look saw another content than the one that was
        // replaced, the user's edit came in between, and nobody has the text from which a merge could start.
        let is_written = written_to.contains(&read.path);
        let kind = if is_written { ConflictKind::Modified } else { ConflictKind::StaleRead };
        let found_now = metadata_at(tree, &read.path).await?;
        let side = found_now.map(|metadata| ConflictSide::found(&metadata, None));
        let conflict = Conflict { found: side, ..Conflict::new(read.path.clone(), kind) };
        if is_written || options.stale_reads == StaleReads::Conflict {
            found.push(conflict);
        } else {
            stale_reads.push(conflict);
        }
    }
    if !found.is_empty() {
        return Ok(Resolution::Conflict(by_path(found)));
    }
    merged.sort_unstable();
    let committed = Committed { merged, stale_reads };
    let mut changes = Cow::Borrowed(changes);
    for (index, change) in replaced {
        changes.to_mut().changes[index] = change;
    }
    Ok(Resolution::Apply { changes, committed })
}

/// Sorts conflicts by path; they are almost sorted.
fn by_path(found: Vec<Conflict>) -> Vec<Conflict> {
    let mut sorted: Vec<Conflict> = Vec::with_capacity(found.len());
    for conflict in found {
        let place = sorted.partition_point(|other| other.path <= conflict.path);
        sorted.insert(place, conflict);
    }
    sorted
}

/// The folders above the changes. Each is looked up once.
struct Parents<'a> {
    tree: &'a dyn Tree,
    /// The paths of the change set. A folder that it makes is compared as a change of its own.
    written_to: &'a HashSet<&'a WorkspacePath>,
    known: HashSet<WorkspacePath>,
}

/// What is above the path of a change, if that is not a folder.
enum ParentState {
    Folders,
    /// There is no folder yet, so nothing is at the path either, wherever a link in the folder's place may lead.
    Nothing,
    /// Something else than a folder, which the change set does not replace. A change is never made through a link.
    Obstacle(ConflictSide),
}

impl Parents<'_> {
    async fn above(&mut self, change: &Change) -> Result<ParentState, TreeError> {
        let mut above = Vec::new();
        let mut parent = change.path.parent();
        while let Some(folder) = parent.filter(|folder| !folder.is_root() && !self.known.contains(folder)) {
            parent = folder.parent();
            above.push(folder);
        }
        for folder in above.into_iter().rev() {
            let Some(found) = metadata_at(self.tree, &folder).await? else { return Ok(ParentState::Nothing) };
            if found.kind == EntryKind::Directory {
                self.known.insert(folder);
            } else if self.written_to.contains(&folder) {
                return Ok(ParentState::Nothing);
            } else {
                return Ok(ParentState::Obstacle(ConflictSide::found(&found, None)));
            }
        }
        Ok(ParentState::Folders)
    }
}

/// What became of a path that is to be written.
pub(crate) enum Written {
    /// It is as the change expects, with what is there now.
    AsItWas(Option<Metadata>),
    /// Somebody made this very file meanwhile, which this change leaves as it is.
    Same(Change),
    /// The user edited it, and this change keeps their edit.
    Merged(Change),
    /// The user edited a file that the work moved, and these changes keep their edit.
    Followed(Box<Followed>),
    /// The user edited it, to this content, and that cannot be merged here.
    Edited(Metadata, Vec<u8>),
    Conflict(ConflictKind, Option<ConflictSide>),
}

/// How a path is compared at the moment of its change by a host that writes in place: all names of a file would change.
pub(crate) const WITHOUT_MERGE: CommitOptions = CommitOptions {
    stale_reads: StaleReads::Conflict,
    merge: Merge::Never,
    repeated: false,
    turn: None,
    breaks_hard_links: false,
};

pub(crate) async fn written(
    tree: &dyn Tree,
    change: &Change,
    seen_names: Option<&Vec<Vec<u8>>>,
    options: CommitOptions,
) -> Result<Written, TreeError> {
    let now = metadata_at(tree, &change.path).await?;
    let (base, now) = match (&change.base, now) {
        (None, None) => return Ok(Written::AsItWas(None)),
        (None, Some(now)) => {
            let merges = change.kind == ChangeKind::CreateDirectory && now.kind == EntryKind::Directory;
            if options.merge == Merge::Text
                && let Some(same) = same_file(tree, change, &now).await?
            {
                return Ok(Written::Same(same));
            }
            let side = ConflictSide::found(&now, None);
            let created = Written::Conflict(ConflictKind::Created, Some(side));
            return Ok(if merges { Written::AsItWas(Some(now)) } else { created });
        }
        (Some(_), None) => return Ok(Written::Conflict(ConflictKind::Deleted, None)),
        (Some(base), Some(now)) => (base, now),
    };
    let conflict = |kind| Ok(Written::Conflict(kind, Some(ConflictSide::found(&now, None))));
    if base.kind != now.kind {
        return conflict(ConflictKind::Replaced);
    }
    match now.kind {
        EntryKind::Directory => {
            let names = names_in(tree, &change.path).await?;
            if seen_names.is_some_and(|seen| names.iter().all(|name| seen.binary_search(name).is_ok())) {
                return Ok(Written::AsItWas(Some(now)));
            }
            return conflict(ConflictKind::Modified);
        }
        EntryKind::File if now.links > 1 && !options.breaks_hard_links => {
            return conflict(ConflictKind::Modified);
        }
        _ if base.proves_unchanged(&now.fingerprint) => return Ok(Written::AsItWas(Some(now))),
        EntryKind::Other => return conflict(ConflictKind::Modified),
        EntryKind::File | EntryKind::Symlink => {}
    }
    // The metadata is the older of the two looks, so an edit in between shows when the change is applied.
    let Some(content) = content_at(tree, &change.path, now.kind).await? else {
        return Ok(Written::Conflict(ConflictKind::Deleted, None));
    };
    if change.base_content.as_deref() == Some(&content[..]) {
        return Ok(Written::AsItWas(Some(now)));
    }
    match merged(change, &now, &content) {
        Some(merged) if options.merge == Merge::Text => Ok(Written::Merged(merged)),
        _ => Ok(Written::Edited(now, content)),
    }
}

/// The change of a new file, where a file with its content and bit is there already: from that to itself.
async fn same_file(tree: &dyn Tree, change: &Change, now: &Metadata) -> Result<Option<Change>, TreeError> {
    let ChangeKind::Write { content, executable, moved_from: None } = &change.kind else { return Ok(None) };
    let is_like = now.kind == EntryKind::File && now.links <= 1 && now.len == content.len() as u64;
    if !is_like || *executable != now.executable {
        return Ok(None);
    }
    let found = content_at(tree, &change.path, now.kind).await?.filter(|found| **found == content[..]);
    Ok(found.map(|found| Change {
        base: Some(now.fingerprint.clone()),
        base_content: Some(found.into()),
        mode: None,
        ..change.clone()
    }))
}

/// The change that keeps what the user made of a file meanwhile.
fn merged(change: &Change, now: &Metadata, found: &[u8]) -> Option<Change> {
    let ChangeKind::Write { content, executable, moved_from } = &change.kind else { return None };
    let base = change.base.as_ref().filter(|base| base.kind == EntryKind::File)?;
    let content = merge(change.base_content.as_deref()?, content, found)?.into();
    let executable = moved::bit(base, *executable, now.executable);
    Some(Change {
        path: change.path.clone(),
        base: Some(now.fingerprint.clone()),
        base_content: Some(found.into()),
        kind: ChangeKind::Write { content, executable, moved_from: moved_from.clone() },
        mode: change.mode.map(|mode| carried_bits(base.mode, mode, now.fingerprint.mode)),
    })
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
        _ if seen.proves_unchanged(&now.fingerprint) => Ok(true),
        _ if seen.len != now.len => Ok(false),
        EntryKind::File | EntryKind::Symlink => match read.content {
            Some(hash) => Ok(content_at(tree, &read.path, now.kind)
                .await?
                .is_some_and(|now| ContentHash::of(&now) == hash)),
            // The path was only looked at and not read, so only what a look shows counts.
            None => Ok(seen.is_executable() == now.executable),
        },
    }
}

pub(crate) async fn metadata_at<T: Tree + ?Sized>(
    tree: &T,
    path: &WorkspacePath,
) -> Result<Option<Metadata>, TreeError> {
    match tree.metadata(path).await {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(crate) async fn content_at<T: Tree + ?Sized>(
    tree: &T,
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

/// Whether an error means that nothing is there. A link that now leads out of the workspace counts, because what was
/// inside is gone.
pub(crate) fn is_absence(error: &TreeError) -> bool {
    matches!(error, TreeError::NotFound { .. } | TreeError::NotADirectory { .. } | TreeError::Escapes { .. })
}
