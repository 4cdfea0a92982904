use async_trait::async_trait;
use headstart_workspace_path::WorkspacePath;

use crate::check::{Moves, WITHOUT_MERGE, content_at, is_absence, metadata_at, written};
use crate::{Change, ChangeKind, ChangeSet, CommitOptions, CommitOutcome, Conflict, ConflictKind};
use crate::{ContentHash, EntryKind, Fingerprint, Metadata, Resolution, Tree, TreeError, resolve};

/// A tree that is changed one path at a time, by calls that may be answered later: the files of an editor, or of a
/// web page.
///
/// A host that implements this gets a whole [`Workspace`](crate::Workspace) from [`commit_through`]. The futures are
/// `Send`; an answer that cannot leave its thread, such as a promise of JavaScript, has to come through a channel.
#[async_trait]
pub trait Writer: Tree {
    /// Makes a file, or replaces the content and the executable bit of the one that is there. The folder above
    /// exists.
    async fn write(&self, path: &WorkspacePath, content: &[u8], executable: bool) -> Result<(), TreeError>;

    /// Makes a symbolic link where nothing is.
    async fn symlink(&self, path: &WorkspacePath, target: &[u8]) -> Result<(), TreeError>;

    /// Makes a folder where nothing is. The folder above exists.
    async fn create_dir(&self, path: &WorkspacePath) -> Result<(), TreeError>;

    /// Removes a file, a link, or a folder that is empty.
    async fn remove(&self, path: &WorkspacePath) -> Result<(), TreeError>;
}

/// Commits path by path, by the rules of [`resolve`], for hosts that can only change one path at a time.
///
/// Right before each path is changed it is compared once more with what the change set expects. If that fails, or on
/// an error, what was done is taken back, last first, except for paths that somebody changed again meanwhile.
///
/// Two things are not guaranteed, because no sequence of calls could guarantee them: that no reader sees half of the
/// commit, and that nothing is left half done by a host that dies. The host lets one commit run at a time.
///
/// If the future is dropped half-way, the paths that were changed so far stay changed and nobody takes them back, and
/// a second commit of the same changes finds them as conflicts. So poll it to its end, in a task that no timeout or
/// abort drops.
pub async fn commit_through(
    writer: &dyn Writer,
    changes: &ChangeSet,
    options: CommitOptions,
) -> Result<CommitOutcome, TreeError> {
    let (changes, committed) = match resolve(writer, changes, options).await? {
        Resolution::Apply { changes, committed } => (changes, committed),
        Resolution::Conflict(found) => return Ok(CommitOutcome::Conflict(found)),
    };
    let mut steps = Steps { writer, moves: Moves::of(&changes.changes), done: Vec::new() };
    match steps.make_all(&changes).await {
        Ok(()) => Ok(CommitOutcome::Committed(committed)),
        Err(CommitFailure::Conflict(conflict)) => {
            steps.take_back().await?;
            Ok(CommitOutcome::Conflict(vec![*conflict]))
        }
        Err(CommitFailure::Error(error)) => {
            steps.take_back().await?;
            Err(error)
        }
    }
}

enum CommitFailure {
    Conflict(Box<Conflict>),
    Error(TreeError),
}

impl From<TreeError> for CommitFailure {
    fn from(error: TreeError) -> Self {
        Self::Error(error)
    }
}

/// A path that was changed.
struct DoneStep {
    path: WorkspacePath,
    /// What was there; `None` for nothing.
    old: Option<Previous>,
    left: Leftover,
}

/// What a step left at its path, by which it is recognised.
enum Leftover {
    Nothing,
    This(Fingerprint, Option<ContentHash>),
    /// The call failed, and may or may not have written.
    Unknown,
}

struct Previous {
    kind: EntryKind,
    content: Vec<u8>,
    executable: bool,
}

struct Steps<'a> {
    writer: &'a dyn Writer,
    moves: Moves<'a>,
    done: Vec<DoneStep>,
}

impl Steps<'_> {
    async fn make_all(&mut self, changes: &ChangeSet) -> Result<(), CommitFailure> {
        for change in &changes.changes {
            self.make_folders_above(&change.path).await?;
            let now = self.still(change).await?;
            self.make(change, now).await?;
        }
        Ok(())
    }

    /// What is at the path of a change, if that is what the change expects.
    async fn still(&self, change: &Change) -> Result<Option<Metadata>, CommitFailure> {
        let kind = match (&change.kind, &change.base) {
            // Its content was compared when that was removed. By now it has to be empty, or it is not removed.
            (_, Some(base)) if base.kind == EntryKind::Directory => None,
            _ => written(self.writer, change, None, WITHOUT_MERGE).await?.conflict(),
        };
        match kind {
            Some((kind, side)) => Err(CommitFailure::Conflict(Box::new(Conflict::about(change, kind, side)))),
            None => Ok(metadata_at(self.writer, &change.path).await?),
        }
    }

    async fn make(&mut self, change: &Change, now: Option<Metadata>) -> Result<(), CommitFailure> {
        let wanted = match change.kind {
            ChangeKind::Delete => None,
            ChangeKind::CreateDirectory => Some(EntryKind::Directory),
            ChangeKind::Link { .. } => Some(EntryKind::Symlink),
            ChangeKind::Write { .. } => Some(EntryKind::File),
        };
        let there = now.as_ref().map(|now| now.kind);
        if wanted == there && wanted == Some(EntryKind::Directory) {
            return Ok(());
        }
        let old = now.as_ref().map(|now| Previous {
            kind: now.kind,
            content: change.base_content.as_deref().unwrap_or_default().to_vec(),
            executable: now.executable,
        });
        // A file is overwritten; anything else has to be removed first.
        let is_written_over = wanted == Some(EntryKind::File) && there == wanted;
        if there.is_some() && !is_written_over {
            self.remove(change, old).await?;
            if wanted.is_none() {
                return Ok(());
            }
            self.put(change, None, now.as_ref()).await
        } else {
            self.put(change, old, now.as_ref()).await
        }
    }

    async fn remove(&mut self, change: &Change, old: Option<Previous>) -> Result<(), CommitFailure> {
        let path = &change.path;
        if old.as_ref().is_some_and(|old| old.kind == EntryKind::Directory)
            && !self.writer.list(path).await?.is_empty()
        {
            let conflict = Conflict::about(change, ConflictKind::Modified, None);
            return Err(CommitFailure::Conflict(Box::new(conflict)));
        }
        // Noted before the call, which may remove and then fail. If something is there afterwards, it was not
        // removed.
        self.done.push(DoneStep { path: path.clone(), old, left: Leftover::Nothing });
        self.writer.remove(path).await?;
        Ok(())
    }

    async fn put(
        &mut self,
        change: &Change,
        old: Option<Previous>,
        found: Option<&Metadata>,
    ) -> Result<(), CommitFailure> {
        let path = &change.path;
        // Noted before the call, which may write and then fail.
        self.done.push(DoneStep { path: path.clone(), old, left: Leftover::Unknown });
        let left = match &change.kind {
            ChangeKind::Write { content, executable, .. } => {
                let now = found.filter(|found| found.kind == EntryKind::File).map(|found| found.executable);
                let executable = self.moves.executable(change, *executable, now);
                self.writer.write(path, content, executable).await?;
                Some(content.hash())
            }
            ChangeKind::Link { target, .. } => {
                self.writer.symlink(path, target).await?;
                Some(ContentHash::of(target))
            }
            ChangeKind::CreateDirectory => {
                self.writer.create_dir(path).await?;
                None
            }
            ChangeKind::Delete => None,
        };
        self.note(path, left).await
    }

    async fn note(
        &mut self,
        path: &WorkspacePath,
        content: Option<ContentHash>,
    ) -> Result<(), CommitFailure> {
        let now = metadata_at(self.writer, path).await?;
        if let Some(done) = self.done.last_mut() {
            done.left = now.map_or(Leftover::Nothing, |now| Leftover::This(now.fingerprint, content));
        }
        Ok(())
    }

    async fn make_folders_above(&mut self, path: &WorkspacePath) -> Result<(), CommitFailure> {
        let mut missing = Vec::new();
        let mut above = path.parent().filter(|folder| !folder.is_root());
        while let Some(folder) = above {
            match metadata_at(self.writer, &folder).await? {
                Some(found) if found.kind == EntryKind::Directory => break,
                Some(_) => {
                    let conflict = Conflict::new(path.clone(), ConflictKind::Replaced);
                    return Err(CommitFailure::Conflict(Box::new(conflict)));
                }
                None => {}
            }
            above = folder.parent().filter(|folder| !folder.is_root());
            missing.push(folder);
        }
        for folder in missing.into_iter().rev() {
            self.done.push(DoneStep { path: folder.clone(), old: None, left: Leftover::Unknown });
            self.writer.create_dir(&folder).await?;
            self.note(&folder, None).await?;
        }
        Ok(())
    }

    /// Takes everything back, last first, even if some of it fails. The first failure that leaves something changed
    /// is returned.
    async fn take_back(&mut self) -> Result<(), TreeError> {
        let mut failed = None;
        while let Some(done) = self.done.pop() {
            // A call that failed may have done nothing, or everything.
            if self.is_as_before(&done).await {
                continue;
            }
            if let Err(error) = self.take_one_back(&done).await
                && !self.is_as_before(&done).await
            {
                failed = failed.or_else(|| {
                    let message = format!("the commit failed, and this could not be taken back: {error}");
                    Some(TreeError::failed(done.path, message))
                });
            }
        }
        failed.map_or(Ok(()), Err)
    }

    async fn hash_at(&self, path: &WorkspacePath, kind: EntryKind) -> Result<Option<ContentHash>, TreeError> {
        Ok(content_at(self.writer, path, kind).await?.map(|content| ContentHash::of(&content)))
    }

    /// Whether what was at a path is there again, as far as the tree tells.
    async fn is_as_before(&self, done: &DoneStep) -> bool {
        let (found, old) = match (metadata_at(self.writer, &done.path).await, &done.old) {
            (Ok(None), None) => return true,
            (Ok(Some(found)), Some(old)) => (found, old),
            _ => return false,
        };
        let is_alike = found.kind == old.kind && found.executable == old.executable;
        match found.kind {
            EntryKind::Directory => is_alike,
            kind if is_alike => {
                let hash = self.hash_at(&done.path, kind).await;
                hash.is_ok_and(|hash| hash == Some(ContentHash::of(&old.content)))
            }
            _ => false,
        }
    }

    async fn take_one_back(&self, done: &DoneStep) -> Result<(), TreeError> {
        let path = &done.path;
        let found = match self.writer.metadata(path).await {
            Ok(found) => Some(found),
            Err(error) if is_absence(&error) => None,
            Err(error) => return Err(error),
        };
        let is_folder = |found: &Metadata| found.kind == EntryKind::Directory;
        let is_ours = match (&found, &done.left) {
            (Some(found), Leftover::This(left, content)) => {
                is_folder(found)
                    || left.proves_unchanged(&found.fingerprint)
                    || (left.shows_same(&found.fingerprint)
                        && self.hash_at(path, found.kind).await? == *content)
            }
            (None, Leftover::Nothing) | (_, Leftover::Unknown) => true,
            (Some(_), Leftover::Nothing) | (None, Leftover::This(..)) => false,
        };
        if !is_ours {
            return Ok(());
        }
        let Some(old) = &done.old else {
            return match found {
                // Somebody put something into the new folder.
                Some(found) if is_folder(&found) && !self.writer.list(path).await?.is_empty() => Ok(()),
                Some(_) => self.writer.remove(path).await,
                None => Ok(()),
            };
        };
        match old.kind {
            EntryKind::Directory if found.is_none() => self.writer.create_dir(path).await,
            EntryKind::Symlink if found.is_none() => self.writer.symlink(path, &old.content).await,
            EntryKind::File if found.as_ref().is_none_or(|found| found.kind == EntryKind::File) => {
                self.writer.write(path, &old.content, old.executable).await
            }
            // Somebody put something in its place.
            _ => Ok(()),
        }
    }
}
