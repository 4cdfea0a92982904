//! The tree under a view, with which what was written in the view is compared.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use headstart_overlay_fs::{Change, Content, EntryKind, Fingerprint, Quota, Tree, TreeError};
use headstart_workspace_path::WorkspacePath;

use crate::ShadowError;

/// The device number of staged files, and that of trees without devices.
const NO_DEVICES: [u64; 2] = [0, u64::MAX];

/// What the tree below has at a path.
#[derive(Debug, Clone)]
pub(super) struct Base {
    pub(super) fingerprint: Fingerprint,
    pub(super) content: Option<Content>,
    /// Whether it is a file with several names (hard links), which a change would part.
    pub(super) has_several_names: bool,
    /// Whether this is what an earlier change expected, and not what is there now.
    is_known: bool,
}

impl Base {
    pub(super) fn kind(&self) -> EntryKind {
        self.fingerprint.kind
    }

    pub(super) fn is_file(&self, content: &[u8], mode: u32) -> bool {
        self.kind() == EntryKind::File
            && self.fingerprint.bits() == mode
            && self.content.as_deref() == Some(content)
    }

    pub(super) fn is_link(&self, target: &[u8]) -> bool {
        self.kind() == EntryKind::Symlink && self.content.as_deref() == Some(target)
    }
}

pub(super) struct LowerTree<'a> {
    tree: &'a dyn Tree,
    known: &'a BTreeMap<WorkspacePath, Change>,
    since: i64,
    quota: Quota,
    /// For each folder that was checked, whether something in it changed.
    folders: HashMap<WorkspacePath, bool>,
}

impl<'a> LowerTree<'a> {
    pub(super) fn new(
        tree: &'a dyn Tree,
        known: &'a BTreeMap<WorkspacePath, Change>,
        since: i64,
        quota: Quota,
    ) -> Self {
        Self { tree, known, since, quota, folders: HashMap::new() }
    }

    /// What is at a path that no folder of the upper layer hides.
    pub(super) fn at(&self, path: &WorkspacePath) -> Result<Option<Base>, ShadowError> {
        if let Some(known) = self.known.get(path) {
            let content = known.base_content.clone();
            let of = |fingerprint| Base { fingerprint, content, has_several_names: false, is_known: true };
            let base = known.base.clone().map(of);
            return Ok(base);
        }
        let found = match now(self.tree.metadata(path)) {
            Err(TreeError::NotFound { .. } | TreeError::NotADirectory { .. }) => return Ok(None),
            found => found?,
        };
        let unsupported = |reason: &str| Err(ShadowError::unstaged(path, reason));
        let content = match found.kind {
            EntryKind::Directory => None,
            EntryKind::Symlink => Some(now(self.tree.read_link(path))?),
            EntryKind::Other => {
                return unsupported("a FIFO, socket or device is in the workspace at its place");
            }
            EntryKind::File if self.quota.file_bytes < found.len => {
                let (limit, unit) = (self.quota.file_bytes, "bytes in one file");
                return Err(TreeError::Quota { path: path.clone(), limit, unit }.into());
            }
            EntryKind::File => {
                // Both in one call, so that the fingerprint is never newer than the content.
                let (found, content) = now(self.tree.look(path))?;
                let content = content.map(Content::from);
                let has_several_names = 1 < found.links;
                return Ok(Some(Base {
                    fingerprint: found.fingerprint,
                    content,
                    has_several_names,
                    is_known: false,
                }));
            }
        };
        let content = content.map(Content::from);
        let fingerprint = found.fingerprint;
        Ok(Some(Base { fingerprint, content, has_several_names: false, is_known: false }))
    }

    /// The kind of what is at a path.
    pub(super) fn kind(&self, path: &WorkspacePath) -> Result<Option<EntryKind>, ShadowError> {
        if let Some(known) = self.known.get(path) {
            return Ok(known.base.as_ref().map(|base| base.kind));
        }
        match now(self.tree.metadata(path)) {
            Ok(found) => Ok(Some(found.kind)),
            Err(TreeError::NotFound { .. } | TreeError::NotADirectory { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The names in a folder, including those that earlier changes expected.
    pub(super) fn names(&self, folder: &WorkspacePath) -> Result<Vec<Vec<u8>>, ShadowError> {
        let mut names: Vec<Vec<u8>> = match now(self.tree.list(folder)) {
            Ok(entries) => entries.into_iter().map(|entry| entry.name).collect(),
            Err(TreeError::NotFound { .. } | TreeError::NotADirectory { .. }) => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        let below = self
            .known
            .range(folder.clone()..)
            .take_while(|(path, _)| path.as_bytes().starts_with(folder.as_bytes()));
        for (path, _) in
            below.filter(|(path, change)| change.base.is_some() && path.parent().as_ref() == Some(folder))
        {
            names.extend(path.file_name().map(<[u8]>::to_vec));
        }
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Whether somebody changed something on disk, since the view started, that a change at this path relies on. Then
    /// the view may have an older content than the one that the change would be compared with.
    pub(super) fn changed_meanwhile(
        &mut self,
        path: &WorkspacePath,
        base: Option<&Base>,
    ) -> Result<bool, ShadowError> {
        match base {
            Some(base) if base.is_known => Ok(false),
            Some(base) => Ok(self.is_new(&base.fingerprint)),
            None if self.known.contains_key(path) => Ok(false),
            // It may have been there, and was removed.
            None => path.parent().map_or(Ok(false), |folder| self.folder_changed(&folder)),
        }
    }

    /// Whether names appeared or vanished in the folder, or in the nearest existing one above it.
    fn folder_changed(&mut self, folder: &WorkspacePath) -> Result<bool, ShadowError> {
        if let Some(changed) = self.folders.get(folder) {
            return Ok(*changed);
        }
        let changed = match now(self.tree.metadata(folder)) {
            Ok(found) => self.is_new(&found.fingerprint),
            // The path is below a file, or below a link that leads nowhere; in the view there are folders in its
            // place.
            Err(TreeError::NotFound { .. } | TreeError::NotADirectory { .. } | TreeError::Escapes { .. }) => {
                match folder.parent() {
                    Some(above) => self.folder_changed(&above)?,
                    None => false,
                }
            }
            Err(error) => return Err(error.into()),
        };
        self.folders.insert(folder.clone(), changed);
        Ok(changed)
    }

    fn is_new(&self, seen: &Fingerprint) -> bool {
        !NO_DEVICES.contains(&seen.device) && self.since <= seen.changed_ns
    }
}

/// Waits for a tree. One on a disk or in memory answers at once; for any other this thread sleeps between attempts.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::sleep(std::time::Duration::from_micros(100)),
        }
    }
}
