use async_trait::async_trait;
use headstart_workspace_path::WorkspacePath;

use super::Overlay;
use super::entry::{Entry, StagedState, folder_metadata};
use super::state::Lookup;
use crate::walk::Walk;
use crate::{
    Change, ChangeSet, ContentHash, DirEntry, EntryKind, Fingerprint, Metadata, Observation, Tree, TreeError,
};

/// What a path is in the merged view. Its path here contains no links (except for a last one that was not to be
/// followed).
pub(super) enum Located {
    /// Staged, and not removed.
    Staged(WorkspacePath, Entry),
    /// A folder in which something is staged, or one of the base.
    Folder(WorkspacePath),
    /// In the base, and not a folder; with the content of a file if it was asked for.
    Base(WorkspacePath, Metadata, Option<Vec<u8>>),
    /// Nothing is there.
    Absent(WorkspacePath),
}

/// What to do with a link at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LastLink {
    Keep,
    Follow,
    /// Follow it, and read the file.
    Read,
}

impl Overlay {
    pub(super) async fn locate(&self, path: &WorkspacePath, last: LastLink) -> Result<Located, TreeError> {
        let known = path.parent().filter(|folder| self.lock().is_base_folder(folder));
        let mut walk = match known {
            Some(folder) => Walk::from_folder(path, folder),
            None => Walk::new(path),
        };
        while let Some(next) = walk.next()? {
            let follow = !walk.is_last() || last != LastLink::Keep;
            let looked_up = self.lock().lookup(&next);
            match looked_up {
                Lookup::ImpliedFolder | Lookup::Folder => walk.enter(next),
                Lookup::Hidden => return walk.beyond(next).map(Located::Absent),
                Lookup::Entry(entry) => match &entry.now {
                    StagedState::Directory { .. } => walk.enter(next),
                    StagedState::Removed => return walk.beyond(next).map(Located::Absent),
                    StagedState::Link { target } if follow => walk.follow(target)?,
                    _ if walk.is_last() => return Ok(Located::Staged(next, entry)),
                    _ => return Err(TreeError::NotADirectory { path: next }),
                },
                Lookup::Base => match self.ask_base(&next, walk.is_last() && last == LastLink::Read).await {
                    Err(TreeError::NotFound { .. }) => return walk.beyond(next).map(Located::Absent),
                    Err(error) => return Err(error),
                    Ok((metadata, content)) => match metadata.kind {
                        EntryKind::Directory => {
                            self.lock().know_folder(next.clone());
                            walk.enter(next);
                        }
                        EntryKind::Symlink if follow => {
                            let target = self.base.read_link(&next).await?;
                            let hash = ContentHash::of(&target);
                            self.lock().observe(Observation {
                                path: next,
                                seen: Some(metadata.fingerprint),
                                content: Some(hash),
                                names: None,
                            });
                            walk.follow(&target)?;
                        }
                        _ if walk.is_last() => return Ok(Located::Base(next, metadata, content)),
                        _ => {
                            self.saw(&next, Some(&metadata.fingerprint), None);
                            return Err(TreeError::NotADirectory { path: next });
                        }
                    },
                },
            }
        }
        Ok(Located::Folder(walk.at().clone()))
    }

    async fn ask_base(
        &self,
        path: &WorkspacePath,
        with_content: bool,
    ) -> Result<(Metadata, Option<Vec<u8>>), TreeError> {
        if with_content {
            return self.base.look(path).await;
        }
        Ok((self.base.metadata(path).await?, None))
    }

    /// The metadata of a folder of the merged view.
    async fn folder_metadata(&self, folder: &WorkspacePath) -> Result<Metadata, TreeError> {
        if let Some(entry) = self.lock().entries.get(folder) {
            return Ok(entry.metadata().unwrap_or_else(folder_metadata));
        }
        if self.hides_base(folder) {
            return Ok(folder_metadata());
        }
        match self.base.metadata(folder).await {
            Ok(metadata) => {
                self.saw(folder, Some(&metadata.fingerprint), None);
                Ok(metadata)
            }
            Err(TreeError::NotFound { .. }) if self.touches_anything_below(folder) => Ok(folder_metadata()),
            Err(error) => Err(error),
        }
    }

    /// The merged names of a folder.
    pub(super) async fn merged(&self, folder: &WorkspacePath) -> Result<Vec<DirEntry>, TreeError> {
        let mut names = if self.hides_base(folder) { Vec::new() } else { self.list_base(folder).await? };
        let staged = self.lock().names_in(folder);
        if staged.is_empty() {
            return Ok(names);
        }
        names.retain(|entry| !staged.contains_key(&entry.name));
        names.extend(staged.into_iter().filter_map(|(name, kind)| Some(DirEntry { name, kind: kind? })));
        names.sort_unstable();
        Ok(names)
    }

    /// The names that the base has in a folder, which are added to the read set; none if the base has no such folder.
    async fn list_base(&self, folder: &WorkspacePath) -> Result<Vec<DirEntry>, TreeError> {
        let listed = match self.base.list(folder).await {
            Ok(listed) => listed,
            Err(TreeError::NotFound { .. }) if self.touches_anything_below(folder) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut state = self.lock();
        for entry in listed.iter().filter(|entry| entry.kind == EntryKind::Directory) {
            if let Ok(path) = folder.join_bytes(&entry.name) {
                state.know_folder(path);
            }
        }
        if !state.knows_names(folder) {
            state.observe(Observation {
                path: folder.clone(),
                seen: Some(Fingerprint::directory()),
                content: None,
                names: Some(listed.iter().map(|entry| entry.name.clone()).collect()),
            });
        }
        Ok(listed)
    }

    fn hides_base(&self, folder: &WorkspacePath) -> bool {
        let state = self.lock();
        state.entries.contains_key(folder) || state.is_hidden(folder)
    }

    fn touches_anything_below(&self, folder: &WorkspacePath) -> bool {
        self.lock().below(folder).next().is_some()
    }

    /// Adds one look at the base to the read set.
    fn saw(&self, path: &WorkspacePath, seen: Option<&Fingerprint>, content: Option<ContentHash>) {
        self.lock().observe(Observation { path: path.clone(), seen: seen.cloned(), content, names: None });
    }

    fn absent(&self, path: &WorkspacePath, asked: &WorkspacePath) -> TreeError {
        if !self.hides_base(path) {
            self.saw(path, None, None);
        }
        TreeError::NotFound { path: asked.clone() }
    }
}

#[async_trait]
impl Tree for Overlay {
    async fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, TreeError> {
        match self.locate(path, LastLink::Keep).await? {
            Located::Staged(_, entry) => {
                entry.metadata().ok_or_else(|| TreeError::NotFound { path: path.clone() })
            }
            Located::Folder(folder) => self.folder_metadata(&folder).await,
            Located::Base(path, metadata, _) => {
                self.saw(&path, Some(&metadata.fingerprint), None);
                Ok(metadata)
            }
            Located::Absent(absent) => Err(self.absent(&absent, path)),
        }
    }

    async fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        match self.locate(path, LastLink::Read).await? {
            Located::Staged(_, Entry { now: StagedState::File { content, .. }, .. }) => Ok(content.to_vec()),
            Located::Staged(..) => Err(TreeError::not_a_file(path)),
            Located::Folder(_) => Err(TreeError::IsADirectory { path: path.clone() }),
            Located::Absent(absent) => Err(self.absent(&absent, path)),
            Located::Base(file, metadata, content) => {
                let content = content.ok_or_else(|| TreeError::not_a_file(path))?;
                self.saw(&file, Some(&metadata.fingerprint), Some(ContentHash::of(&content)));
                Ok(content)
            }
        }
    }

    async fn list(&self, path: &WorkspacePath) -> Result<Vec<DirEntry>, TreeError> {
        match self.locate(path, LastLink::Follow).await? {
            Located::Folder(folder) => self.merged(&folder).await,
            Located::Staged(..) => Err(TreeError::NotADirectory { path: path.clone() }),
            Located::Base(file, metadata, _) => {
                self.saw(&file, Some(&metadata.fingerprint), None);
                Err(TreeError::NotADirectory { path: path.clone() })
            }
            Located::Absent(absent) => Err(self.absent(&absent, path)),
        }
    }

    async fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        match self.locate(path, LastLink::Keep).await? {
            Located::Staged(_, Entry { now: StagedState::Link { target }, .. }) => Ok(target.to_vec()),
            Located::Base(link, metadata, _) if metadata.kind == EntryKind::Symlink => {
                let target = self.base.read_link(&link).await?;
                self.saw(&link, Some(&metadata.fingerprint), Some(ContentHash::of(&target)));
                Ok(target)
            }
            Located::Absent(absent) => Err(self.absent(&absent, path)),
            _ => Err(TreeError::not_a_link(path)),
        }
    }

    async fn check_changes(&self, changes: &[Change]) -> Result<(), TreeError> {
        // What is staged here was checked when it was.
        let is_new = |change: &&Change| !self.lock().entries.contains_key(&change.path);
        let changes: Vec<_> = changes.iter().filter(is_new).cloned().collect();
        self.base.check_changes(&changes).await
    }

    fn is_staged(&self, path: &WorkspacePath) -> bool {
        self.touches(path) || self.base.is_staged(path)
    }

    fn staged_changes(&self) -> ChangeSet {
        let below = self.base.staged_changes();
        if below.is_empty() { self.change_set() } else { below.then(&self.change_set()) }
    }
}
