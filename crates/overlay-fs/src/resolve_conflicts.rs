//! Applies what a user says about the conflicts of a commit to the change set.

use std::collections::HashSet;

use headstart_workspace_path::WorkspacePath;
use serde::{Deserialize, Serialize};

use crate::check::{content_at, metadata_at, text_of};
use crate::merge::merge_with_markers;
use crate::metadata::carried_bits;
use crate::{
    Change, ChangeKind, ChangeSet, Conflict, ConflictKind, Content, ContentHash, EntryKind, Metadata, Tree,
    TreeError,
};

/// What is to be at a path for which a commit reported a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Keep {
    /// What the user has there. The work's change of the path is left out, with everything that needs that change
    /// (the other half of a move, what is made in a folder that is not made).
    Yours,
    /// What the work made of it. What the user has is replaced or removed; a workspace with undo keeps it for that.
    Work,
    /// The text with the edits of both. Where they overlap, it has both between markers, in the style that git calls
    /// `diff3`: `<<<<<<< yours`, `||||||| base`, `=======`, `>>>>>>> the work`.
    Markers,
}

/// A user's answer to a conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Choice {
    /// The conflict as it was reported, which is what they saw when they chose.
    pub conflict: Conflict,
    /// What they chose.
    pub keep: Keep,
}

/// The change set that does what the user chose. Committing it takes the place of the commit that reported the
/// conflicts.
///
/// It is a change set like any other: the commit compares it with the tree again, all of it or nothing is made, and
/// an edit that comes after the choice is a conflict once more. So is a choice that cannot be made: [`Keep::Work`] if
/// the user has something other by now than the conflict says, or a folder with new names; [`Keep::Markers`] for what
/// is not text on both sides ([`Conflict::markers`]). A choice for a path that was only read
/// ([`ConflictKind::StaleRead`]) means to go on, whatever is kept. Choices for paths that the change set does not
/// contain do nothing.
pub async fn resolve_conflicts(
    tree: &dyn Tree,
    changes: &ChangeSet,
    choices: &[Choice],
) -> Result<ChangeSet, TreeError> {
    let mut resolving = Resolving { changes: changes.clone(), dropped: HashSet::new() };
    for choice in choices {
        resolving.resolve(tree, choice).await?;
    }
    let Resolving { mut changes, dropped } = resolving;
    let is_answered = |path: &WorkspacePath| choices.iter().any(|choice| choice.conflict.path == *path);
    changes.changes.retain(|change| !dropped.contains(&change.path));
    changes.reads.retain(|read| !is_answered(&read.path) && !dropped.contains(&read.path));
    Ok(changes)
}

struct Resolving {
    changes: ChangeSet,
    dropped: HashSet<WorkspacePath>,
}

/// What the user has at a path.
struct UserSide {
    metadata: Metadata,
    /// The content of a file, or the target of a link.
    content: Option<Vec<u8>>,
}

impl Resolving {
    async fn resolve(&mut self, tree: &dyn Tree, choice: &Choice) -> Result<(), TreeError> {
        let Choice { conflict, keep } = choice;
        let Some(index) = self.changes.changes.iter().position(|change| change.path == conflict.path) else {
            return Ok(());
        };
        if *keep == Keep::Yours {
            self.drop(index, conflict.kind);
            return Ok(());
        }
        let found = found(tree, &conflict.path).await?;
        match (keep, found) {
            (Keep::Work, None) if self.changes.changes[index].kind == ChangeKind::Delete => {
                self.dropped.insert(conflict.path.clone());
            }
            (Keep::Work, found) if is_what_was_seen(conflict, found.as_ref()) => self.rebase(index, found),
            (Keep::Markers, Some(found)) => self.mark(index, found),
            _ => {}
        }
        Ok(())
    }

    /// Leaves out a change, and those that are impossible without it.
    fn drop(&mut self, index: usize, kind: ConflictKind) {
        let all = &self.changes.changes;
        let change = &all[index];
        let mut dropped = vec![&change.path];
        dropped.extend(moved_from(change));
        dropped.extend(all.iter().filter(|other| moved_from(other) == Some(&change.path)).map(|it| &it.path));
        // Without the folder nothing can be made in it.
        if change.kind == ChangeKind::CreateDirectory || kind == ConflictKind::Replaced {
            dropped.extend(all.iter().map(|other| &other.path).filter(|path| path.starts_with(&change.path)));
        }
        // A folder stays if something in it stays.
        let holds_kept =
            |folder: &WorkspacePath| dropped.iter().any(|kept| *kept != folder && kept.starts_with(folder));
        let folders = all.iter().filter(|other| other.kind == ChangeKind::Delete && holds_kept(&other.path));
        let folders: Vec<_> = folders.map(|folder| folder.path.clone()).collect();
        self.dropped.extend(dropped.into_iter().cloned().chain(folders));
    }

    /// Puts the work's change over what is there now.
    fn rebase(&mut self, index: usize, found: Option<UserSide>) {
        let change = &mut self.changes.changes[index];
        match found {
            // What was meant to replace one kind of thing never replaces another.
            Some(found)
                if found.metadata.kind != change.base.as_ref().map_or(EntryKind::File, |base| base.kind) => {}
            Some(UserSide { metadata, content }) => {
                let was = change.base.as_ref().zip(change.mode);
                change.mode = was
                    .map(|(base, mode)| carried_bits(base.mode, mode, metadata.fingerprint.mode))
                    .or(change.mode);
                change.base = Some(metadata.fingerprint);
                change.base_content = content.map(Content::from);
            }
            None => (change.base, change.base_content) = (None, None),
        }
    }

    fn mark(&mut self, index: usize, found: UserSide) {
        let change = &self.changes.changes[index];
        let Some(text) = text_of(&self.changes.changes, change) else { return };
        let (EntryKind::File, Some(yours)) = (found.metadata.kind, &found.content) else { return };
        let ChangeKind::Write { content, .. } = &self.changes.changes[text].kind else { return };
        let before = change.base_content.as_deref().unwrap_or_default();
        let Some(marked) = merge_with_markers(before, yours, content) else { return };
        self.rebase(index, Some(found));
        if let ChangeKind::Write { content, .. } = &mut self.changes.changes[text].kind {
            *content = marked.into();
        }
    }
}

fn moved_from(change: &Change) -> Option<&WorkspacePath> {
    match &change.kind {
        ChangeKind::Write { moved_from, .. } | ChangeKind::Link { moved_from, .. } => moved_from.as_ref(),
        ChangeKind::CreateDirectory | ChangeKind::Delete => None,
    }
}

async fn found(tree: &dyn Tree, path: &WorkspacePath) -> Result<Option<UserSide>, TreeError> {
    let Some(metadata) = metadata_at(tree, path).await? else { return Ok(None) };
    let content = match metadata.kind {
        EntryKind::File | EntryKind::Symlink => content_at(tree, path, metadata.kind).await?,
        EntryKind::Directory | EntryKind::Other => None,
    };
    Ok(Some(UserSide { metadata, content }))
}

fn is_what_was_seen(conflict: &Conflict, found: Option<&UserSide>) -> bool {
    match (&conflict.found, found) {
        (None, None) => true,
        (Some(seen), Some(found)) => {
            let content = found.content.as_deref().map(ContentHash::of);
            seen.kind == found.metadata.kind && seen.content.is_some() && seen.content == content
        }
        _ => false,
    }
}
