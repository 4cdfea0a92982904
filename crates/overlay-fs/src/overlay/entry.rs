use headstart_workspace_path::WorkspacePath;

use crate::content::Content;
use crate::metadata::with_executable;
use crate::{Change, ChangeKind, EntryKind, Fingerprint, Metadata, Observation};

/// A staged path.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// What the base had at the path; `None` for nothing.
    pub(super) base: Option<Base>,
    pub(super) now: StagedState,
    /// The path in the base from which the content was moved, if it was.
    pub(super) moved_from: Option<WorkspacePath>,
    /// The permission bits that were given to what is there now, if any were.
    pub(super) mode: Option<u32>,
}

/// What the base had at a path when it was first staged.
#[derive(Debug, Clone)]
pub(super) struct Base {
    pub(super) fingerprint: Fingerprint,
    /// The content of a file, or the target of a link.
    pub(super) content: Option<Content>,
}

/// What is staged at a path.
#[derive(Debug, Clone)]
pub(super) enum StagedState {
    File {
        content: Content,
        executable: bool,
    },
    Link {
        target: Content,
    },
    /// `implied`: it takes the place of something that was removed, and exists only because something staged is in
    /// it.
    Directory {
        implied: bool,
    },
    Removed,
}

impl Entry {
    pub(super) fn removed(base: Option<Base>) -> Self {
        Self { base, now: StagedState::Removed, moved_from: None, mode: None }
    }

    /// The observation of the base at this path, if something was there.
    pub(super) fn base_seen(&self, path: &WorkspacePath) -> Option<Observation> {
        let base = self.base.as_ref()?;
        let content = base.content.as_ref().map(Content::hash);
        Some(Observation { path: path.clone(), seen: Some(base.fingerprint.clone()), content, names: None })
    }

    /// The bytes of memory that this path takes.
    pub(super) fn bytes(&self) -> u64 {
        let base =
            self.base.as_ref().and_then(|base| base.content.as_ref()).map_or(0, |content| content.len());
        let now = match &self.now {
            StagedState::File { content: now, .. } | StagedState::Link { target: now } => now.len(),
            StagedState::Directory { .. } | StagedState::Removed => 0,
        };
        (base + now) as u64
    }

    /// Whether an accept would do something here.
    pub(super) fn is_change(&self) -> bool {
        let Some(base) = &self.base else { return !matches!(self.now, StagedState::Removed) };
        match &self.now {
            StagedState::Removed => true,
            StagedState::Directory { .. } => base.fingerprint.kind != EntryKind::Directory,
            StagedState::Link { target } => {
                base.fingerprint.kind != EntryKind::Symlink || base.content.as_ref() != Some(target)
            }
            StagedState::File { content, executable } => {
                base.fingerprint.kind != EntryKind::File
                    || base.fingerprint.is_executable() != *executable
                    || base.content.as_ref() != Some(content)
                    || self.mode.is_some_and(|mode| (base.fingerprint.mode ^ mode) & 0o777 != 0)
            }
        }
    }

    /// Whether the kept base is what the first look saw. If the user changed it in between, the first look has to
    /// stay in the read set.
    pub(super) fn rests_on(&self, read: &Observation) -> bool {
        match (&self.base, &read.seen) {
            (None, None) => true,
            (Some(base), Some(seen)) => match read.content {
                // The content decides, and not what the looks show: the base was looked at, saved by the user, and
                // then read.
                Some(content) => {
                    base.fingerprint.kind == seen.kind
                        && base.content.as_ref().map(Content::hash) == Some(content)
                }
                // If there is no content, only what the looks show can be compared.
                None => seen.shows_same(&base.fingerprint),
            },
            _ => false,
        }
    }

    pub(super) fn metadata(&self) -> Option<Metadata> {
        let (kind, content, executable) = match &self.now {
            StagedState::Removed => return None,
            StagedState::Directory { .. } => {
                return Some(Metadata { fingerprint: self.fingerprint(), ..folder_metadata() });
            }
            StagedState::File { content, executable } => (EntryKind::File, content, *executable),
            StagedState::Link { target } => (EntryKind::Symlink, target, false),
        };
        let len = content.len() as u64;
        Some(Metadata { kind, len, executable, links: 1, fingerprint: self.fingerprint() })
    }

    /// The fingerprint of staged content. An overlay above cannot tell what was removed and made again from what was
    /// never touched.
    fn fingerprint(&self) -> Fingerprint {
        let as_it_was = self.base.as_ref().filter(|_| !self.is_change());
        match (as_it_was, &self.now) {
            (Some(base), _) => base.fingerprint.clone(),
            (None, StagedState::File { content, executable }) => {
                Fingerprint::staged(EntryKind::File, content, content.hash(), self.bits(*executable))
            }
            (None, StagedState::Link { target }) => {
                Fingerprint::staged(EntryKind::Symlink, target, target.hash(), 0o644)
            }
            (None, StagedState::Directory { .. } | StagedState::Removed) => {
                let plain = Fingerprint::directory();
                Fingerprint { mode: self.mode.unwrap_or(plain.mode), ..plain }
            }
        }
    }

    /// The permission bits of a staged file, as far as they are known before a umask.
    fn bits(&self, executable: bool) -> u32 {
        let of_base = self.base.as_ref().map(|base| &base.fingerprint);
        let of_base = of_base.filter(|base| base.kind == EntryKind::File).map(|base| base.mode & 0o777);
        self.mode.unwrap_or_else(|| with_executable(of_base.unwrap_or(0o644), executable))
    }

    pub(super) fn from_change(change: &Change) -> Self {
        let content = change.base_content.clone();
        let base = change.base.clone().map(|fingerprint| Base { fingerprint, content });
        let (now, moved_from) = match &change.kind {
            ChangeKind::Delete => (StagedState::Removed, None),
            ChangeKind::CreateDirectory => (StagedState::Directory { implied: false }, None),
            ChangeKind::Link { target, moved_from } => {
                (StagedState::Link { target: Content::from(target.clone()) }, moved_from.clone())
            }
            ChangeKind::Write { content, executable, moved_from } => {
                let content = content.clone();
                (StagedState::File { content, executable: *executable }, moved_from.clone())
            }
        };
        Self { base, now, moved_from, mode: change.mode }
    }

    pub(super) fn to_change(
        &self,
        path: &WorkspacePath,
        is_removed: impl Fn(&WorkspacePath) -> bool,
    ) -> Change {
        let moved_from = self.moved_from.clone().filter(is_removed);
        let kind = match &self.now {
            StagedState::Removed => ChangeKind::Delete,
            StagedState::Directory { .. } => ChangeKind::CreateDirectory,
            StagedState::Link { target } => ChangeKind::Link { target: target.to_vec(), moved_from },
            StagedState::File { content, executable } => {
                ChangeKind::Write { content: content.clone(), executable: *executable, moved_from }
            }
        };
        Change {
            path: path.clone(),
            base: self.base.as_ref().map(|base| base.fingerprint.clone()),
            base_content: self.base.as_ref().and_then(|base| base.content.clone()),
            kind,
            mode: self.mode,
        }
    }
}

impl Base {
    /// The content of the base, as if it were staged.
    pub(super) fn as_now(&self) -> StagedState {
        let content = || self.content.clone().unwrap_or_else(|| Content::from(Vec::new()));
        match self.fingerprint.kind {
            EntryKind::Directory => StagedState::Directory { implied: false },
            EntryKind::Symlink => StagedState::Link { target: content() },
            _ => StagedState::File { content: content(), executable: self.fingerprint.is_executable() },
        }
    }
}

impl StagedState {
    /// The kind of what is there; `None` for nothing.
    pub(super) fn kind(&self) -> Option<EntryKind> {
        match self {
            Self::File { .. } => Some(EntryKind::File),
            Self::Link { .. } => Some(EntryKind::Symlink),
            Self::Directory { .. } => Some(EntryKind::Directory),
            Self::Removed => None,
        }
    }
}

/// The metadata of a folder that is staged and not in the base.
pub(super) fn folder_metadata() -> Metadata {
    let fingerprint = Fingerprint::directory();
    Metadata { kind: EntryKind::Directory, len: 0, executable: false, links: 1, fingerprint }
}
