use headstart_workspace_path::WorkspacePath;

use super::Overlay;
use super::entry::{Base, Entry, StagedState};
use super::state::{Edits, Lookup, State};
use super::view::{LastLink, Located};
use crate::content::Content;
use crate::metadata::with_executable;
use crate::walk::link_target;
use crate::{Change, ChangeKind, EntryKind, Metadata, TreeError};

/// One path of a subtree of the merged view.
struct Item {
    path: WorkspacePath,
    base: Option<Base>,
    now: StagedState,
    moved_from: Option<WorkspacePath>,
    mode: Option<u32>,
    /// A folder that exists only because something staged is in it.
    implied: bool,
}

impl Overlay {
    /// Stages the whole content of a file, new or not. Missing folders are made, and removed again with the last
    /// staged content in them. A link to a file inside the workspace is followed.
    pub async fn write(&self, path: &WorkspacePath, content: Vec<u8>) -> Result<(), TreeError> {
        let content = Content::from(content);
        self.edit_file(path, Some((content, false)), |file| file).await
    }

    /// Stages the executable bit of a file.
    pub async fn set_executable(&self, path: &WorkspacePath, executable: bool) -> Result<(), TreeError> {
        self.edit_file(path, None, |(content, _)| (content, executable)).await
    }

    /// Stages what `edit` makes of a file. `replacement` is the new content, and the file's state if it is new.
    async fn edit_file(
        &self,
        asked: &WorkspacePath,
        replacement: Option<(Content, bool)>,
        edit: impl Fn((Content, bool)) -> (Content, bool),
    ) -> Result<(), TreeError> {
        loop {
            let version = self.version();
            let located = self.locate(asked, LastLink::Follow).await?;
            let is_new = !matches!(located, Located::Staged(..));
            let (path, old) = match located {
                Located::Folder(path) => return Err(TreeError::IsADirectory { path }),
                Located::Staged(path, entry) => (path, Some(entry)),
                Located::Absent(path) => (path, None),
                Located::Base(path, metadata, _) => {
                    let base = self.keep_base(&path, metadata).await?;
                    let now = base.as_now();
                    (path, Some(Entry { base: Some(base), now, moved_from: None, mode: None }))
                }
            };
            let (base, moved_from, mode, file) = match old {
                None => (None, None, None, None),
                Some(Entry { base, moved_from, mode, now: StagedState::File { content, executable } }) => {
                    (base, moved_from, mode, Some((content, executable)))
                }
                Some(_) => return Err(TreeError::not_a_file(&path)),
            };
            let file = match (&replacement, file) {
                (Some((content, _)), Some((_, executable))) => (content.clone(), executable),
                (Some(new), None) => new.clone(),
                (None, Some(file)) => file,
                (None, None) => return Err(TreeError::NotFound { path }),
            };
            let (content, executable) = edit(file);
            let mode = mode.map(|mode| with_executable(mode, executable));
            if is_new {
                let kind = ChangeKind::Write { content: content.clone(), executable, moved_from: None };
                self.check([(path.clone(), kind)]).await?;
            }
            let now = StagedState::File { content, executable };
            let staged = self.stage(version, |state| {
                let base = base.or_else(|| state.entries.get(&path)?.base.clone());
                let mut edits = vec![(path.clone(), Some(Entry { base, now, moved_from, mode }))];
                edits.extend(state.revive_above(&path));
                edits
            });
            if staged? {
                return Ok(());
            }
        }
    }

    /// Stages a new folder (and the folders above it).
    pub async fn create_dir(&self, path: &WorkspacePath) -> Result<(), TreeError> {
        loop {
            let version = self.version();
            let Located::Absent(path) = self.locate(path, LastLink::Keep).await? else {
                return Err(TreeError::AlreadyExists { path: path.clone() });
            };
            self.check([(path.clone(), ChangeKind::CreateDirectory)]).await?;
            if self.stage_new(version, path, StagedState::Directory { implied: false })? {
                return Ok(());
            }
        }
    }

    /// Stages a new symbolic link (and the folders above it).
    ///
    /// A link that leads out of the workspace, by its text or through other links, is refused with
    /// [`TreeError::Escapes`]; so is one that steps up from a name (`a/../b`), because `a` may become a link. Its
    /// target need not exist.
    pub async fn symlink(&self, path: &WorkspacePath, target: &[u8]) -> Result<(), TreeError> {
        loop {
            let version = self.version();
            let Located::Absent(at) = self.locate(path, LastLink::Keep).await? else {
                return Err(TreeError::AlreadyExists { path: path.clone() });
            };
            let leads_to = link_target(&at, target).ok_or_else(|| TreeError::Escapes { path: at.clone() })?;
            if let Err(TreeError::Escapes { .. }) = self.locate(&leads_to, LastLink::Follow).await {
                return Err(TreeError::Escapes { path: at });
            }
            self.check([(at.clone(), ChangeKind::Link { target: target.to_vec(), moved_from: None })])
                .await?;
            let target = Content::from(target.to_vec());
            if self.stage_new(version, at, StagedState::Link { target })? {
                return Ok(());
            }
        }
    }

    /// Stages the removal of a file, link or whole folder.
    ///
    /// Everything in the folder is looked at and counts against the quota. What the user puts there later is a
    /// conflict, and not removed.
    pub async fn remove(&self, path: &WorkspacePath) -> Result<(), TreeError> {
        loop {
            let version = self.version();
            let items = self.subtree(path).await?;
            self.check(removals(&items)).await?;
            let edits = items.into_iter().map(|item| (item.path, Some(Entry::removed(item.base)))).collect();
            if self.stage(version, |_| edits)? {
                return Ok(());
            }
        }
    }

    /// Stages a move of a file, link or whole folder; the target must not exist. A link whose target would lie
    /// outside the workspace from its new place is refused.
    pub async fn rename(&self, from: &WorkspacePath, to: &WorkspacePath) -> Result<(), TreeError> {
        loop {
            let version = self.version();
            let items = self.subtree(from).await?;
            let Located::Absent(to) = self.locate(to, LastLink::Keep).await? else {
                return Err(TreeError::AlreadyExists { path: to.clone() });
            };
            let Some(from) = items.first().map(|item| item.path.clone()) else {
                return Err(TreeError::NotFound { path: from.clone() });
            };
            if to.starts_with(&from) {
                let reason = "a folder cannot be moved into itself".to_owned();
                return Err(TreeError::Unsupported { path: from, reason });
            }
            self.check(removals(&items).chain([(to.clone(), ChangeKind::CreateDirectory)])).await?;
            let mut targets = Vec::new();
            for item in &items {
                let target = moved(&item.path, &from, &to)?;
                if let StagedState::Link { target: link } = &item.now
                    && link_target(&target, link).is_none()
                {
                    return Err(TreeError::Escapes { path: item.path.clone() });
                }
                targets.push(target);
            }
            let staged = self.stage(version, |state| {
                let mut edits: Edits = targets.iter().flat_map(|target| state.revive_above(target)).collect();
                for (item, target) in items.into_iter().zip(targets).filter(|(item, _)| !item.implied) {
                    let was_there = item.base.as_ref().is_some_and(|base| base.content.is_some());
                    let moved_from = item.moved_from.or_else(|| was_there.then(|| item.path.clone()));
                    let base = state.entries.get(&target).and_then(|entry| entry.base.clone());
                    edits.push((target, Some(Entry { base, now: item.now, moved_from, mode: item.mode })));
                    edits.push((item.path, Some(Entry::removed(item.base))));
                }
                edits
            });
            if staged? {
                return Ok(());
            }
        }
    }

    /// Everything at and below a path, folders before their content; the path itself comes first.
    async fn subtree(&self, path: &WorkspacePath) -> Result<Vec<Item>, TreeError> {
        let root = match self.locate(path, LastLink::Keep).await? {
            Located::Absent(_) => return Err(TreeError::NotFound { path: path.clone() }),
            Located::Folder(root) if root.is_root() => {
                let reason = "it is the workspace itself".to_owned();
                return Err(TreeError::Unsupported { path: root, reason });
            }
            Located::Folder(path) | Located::Staged(path, _) | Located::Base(path, ..) => path,
        };
        let mut items = Vec::new();
        let mut bytes = 0;
        let mut todo = vec![root];
        while let Some(path) = todo.pop() {
            let Some(item) = self.item(path).await? else { continue };
            if matches!(item.now, StagedState::Directory { .. }) {
                for entry in self.merged(&item.path).await?.into_iter().rev() {
                    let child = item.path.join_bytes(&entry.name);
                    todo.push(child.map_err(|_| TreeError::not_a_file(&item.path))?);
                }
            }
            bytes +=
                item.base.as_ref().and_then(|base| base.content.as_ref()).map_or(0, |base| base.len() as u64);
            items.push(item);
            self.check_room(&items[0].path, items.len() as u64, bytes)?;
        }
        Ok(items)
    }

    /// One path of the merged view whose parent contains no links; `None` if nothing is there (any more).
    async fn item(&self, path: WorkspacePath) -> Result<Option<Item>, TreeError> {
        let looked_up = self.lock().lookup(&path);
        match looked_up {
            Lookup::Entry(Entry { now: StagedState::Removed, .. }) | Lookup::Hidden => return Ok(None),
            Lookup::Entry(Entry { base, now, moved_from, mode }) => {
                let implied = matches!(now, StagedState::Directory { implied: true });
                return Ok(Some(Item { path, base, now, moved_from, mode, implied }));
            }
            Lookup::ImpliedFolder | Lookup::Folder | Lookup::Base => {}
        }
        let is_above = matches!(looked_up, Lookup::ImpliedFolder);
        let hidden = self.lock().is_hidden(&path);
        let metadata = if hidden { None } else { Some(self.base.metadata(&path).await) };
        let base = match metadata {
            Some(Ok(metadata)) => Some(self.keep_base(&path, metadata).await?),
            Some(Err(TreeError::NotFound { .. })) | None if is_above => None,
            Some(Err(TreeError::NotFound { .. })) | None => return Ok(None),
            Some(Err(error)) => return Err(error),
        };
        let folder = StagedState::Directory { implied: false };
        let now = base.as_ref().filter(|_| !is_above).map_or(folder, Base::as_now);
        let implied = is_above && base.is_none();
        Ok(Some(Item { path, base, now, moved_from: None, mode: None, implied }))
    }

    /// What the base has at a path that is about to be staged.
    async fn keep_base(&self, path: &WorkspacePath, metadata: Metadata) -> Result<Base, TreeError> {
        let unsupported =
            |reason: &str| TreeError::Unsupported { path: path.clone(), reason: reason.to_owned() };
        let content = match metadata.kind {
            EntryKind::Directory => None,
            EntryKind::Symlink => Some(self.base.read_link(path).await?),
            EntryKind::Other => return Err(unsupported("it is a FIFO, socket or device")),
            EntryKind::File if metadata.links > 1 && !self.breaks_hard_links => {
                return Err(unsupported("it has several names (hard links), and a change would part them"));
            }
            EntryKind::File => {
                self.check_room(path, 1, metadata.len)?;
                if self.quota.file_bytes < metadata.len {
                    return Err(self.quota.file_too_large(path));
                }
                Some(self.base.read(path).await?)
            }
        };
        Ok(Base { fingerprint: metadata.fingerprint, content: content.map(Content::from) })
    }

    /// Refuses what an accept would be refused.
    async fn check(
        &self,
        changes: impl IntoIterator<Item = (WorkspacePath, ChangeKind)>,
    ) -> Result<(), TreeError> {
        let change = |(path, kind)| Change { path, base: None, base_content: None, kind, mode: None };
        let changes: Vec<_> = changes.into_iter().map(change).collect();
        self.base.check_changes(&changes).await
    }

    /// Refuses what the quota would refuse before it is read into memory.
    fn check_room(&self, path: &WorkspacePath, files: u64, bytes: u64) -> Result<(), TreeError> {
        let exceeded = |limit, unit| Err(TreeError::Quota { path: path.clone(), limit, unit });
        if self.quota.files < files {
            return exceeded(self.quota.files, "files");
        }
        if self.quota.bytes < bytes {
            return exceeded(self.quota.bytes, "bytes");
        }
        Ok(())
    }

    /// Stages something where nothing is.
    fn stage_new(&self, version: u64, path: WorkspacePath, now: StagedState) -> Result<bool, TreeError> {
        self.stage(version, |state| {
            let base = state.entries.get(&path).and_then(|entry| entry.base.clone());
            let above = state.revive_above(&path);
            let mut edits = vec![(path, Some(Entry { base, now, moved_from: None, mode: None }))];
            edits.extend(above);
            edits
        })
    }

    /// Applies the edits, unless something was staged since `version`. Then it returns `false`, and they have to be
    /// prepared again.
    fn stage(&self, version: u64, edits: impl FnOnce(&State) -> Edits) -> Result<bool, TreeError> {
        let mut state = self.lock();
        if state.version != version {
            return Ok(false);
        }
        let edits = edits(&state);
        state.apply(edits, self.quota)?;
        Ok(true)
    }

    fn version(&self) -> u64 {
        self.lock().version
    }
}

/// The removals of what the base has.
fn removals(items: &[Item]) -> impl Iterator<Item = (WorkspacePath, ChangeKind)> {
    items.iter().filter(|item| item.base.is_some()).map(|item| (item.path.clone(), ChangeKind::Delete))
}

fn moved(path: &WorkspacePath, from: &WorkspacePath, to: &WorkspacePath) -> Result<WorkspacePath, TreeError> {
    match path.strip_prefix(from) {
        Some(rest) if rest.is_root() => Ok(to.clone()),
        Some(rest) => to.join_bytes(rest.as_bytes()).map_err(|_| TreeError::not_a_file(path)),
        None => Err(TreeError::not_a_file(path)),
    }
}
