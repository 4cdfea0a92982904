//! What commands wrote to paths that are left out of the change set: how much it is, and what is in it.

use std::collections::BTreeSet;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use headstart_overlay_fs::{ChangeKind, EntryKind, LeftOut};
use headstart_workspace_path::WorkspacePath;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};

use super::below::{Base, LowerTree};
use super::entry::{Found, Layer, look};
use super::{Reader, names, open_folder};
use crate::ShadowError;
use crate::folders::BUILD_FOLDERS;
use crate::os::again;
use crate::os::copied::{Original, changed};
use crate::reading::leads_out;

/// The most entries that are looked at in one place, and in a cache, of which only the number of files is of interest.
const MOST_LOOKED_AT: usize = 20_000;
const MOST_IN_CACHE: usize = 2_000;
const DEEPEST: usize = 64;

/// Caches to which people install what their project needs, so that what is written there is missed.
const INSTALLED: [&[u8]; 3] = [b"node_modules", b".venv", b"venv"];
/// Names of caches that tools keep in these folders.
const CACHES_INSIDE: [&[u8]; 3] = [b".cache", b".vite", b"__pycache__"];

/// The topmost path of something that is left out.
#[derive(Debug, Clone)]
pub(super) struct LeftOutRoot {
    pub(super) path: WorkspacePath,
    pub(super) is_folder: bool,
    pub(super) purpose: Purpose,
}

/// What a path is for, judging by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Nothing is known about it.
    Unknown,
    /// It is build output, but people also use this name.
    BuildOutput,
    /// A tool keeps in it what it can make again.
    Cache,
}

impl Purpose {
    fn of(path: &WorkspacePath) -> Self {
        let rows =
            path.names().filter_map(|name| BUILD_FOLDERS.iter().find(|row| row.name.as_bytes() == name));
        rows.map(|row| if row.is_common { Self::BuildOutput } else { Self::Cache })
            .max_by_key(|purpose| *purpose == Self::Cache)
            .unwrap_or(Self::Unknown)
    }
}

/// A file or link that was written.
#[derive(Debug, Clone)]
pub(super) struct WrittenFile {
    pub(super) path: WorkspacePath,
    pub(super) len: u64,
    /// The time of its last change, in nanoseconds.
    pub(super) changed: i64,
    pub(super) purpose: Purpose,
}

/// Everything that was written below one such path.
pub(super) struct WrittenFiles {
    pub(super) root: LeftOutRoot,
    pub(super) files: Vec<WrittenFile>,
    pub(super) removed: u64,
    /// Whether nothing was passed over.
    pub(super) is_whole: bool,
}

/// What a change does, and the permission bits that it gives.
pub(super) type KindAndBits = (ChangeKind, Option<u32>);

/// What a written file would be as a change.
pub(super) enum AsChange {
    /// The disk has the same.
    Unchanged,
    /// This change.
    Change(Option<Base>, KindAndBits),
    /// A change set cannot express it.
    Impossible,
}

impl WrittenFiles {
    /// The files of it that are still left out.
    pub(super) fn still<'f>(
        &'f self,
        still: &BTreeSet<WorkspacePath>,
    ) -> impl Iterator<Item = &'f WrittenFile> {
        self.files.iter().filter(|file| still.contains(&file.path))
    }

    /// The row that names it, with what of it is still left out.
    pub(super) fn row(&self, still: &BTreeSet<WorkspacePath>) -> Option<LeftOut> {
        let written = self.still(still).count() as u64;
        if written == 0 && self.removed == 0 {
            return None;
        }
        Some(LeftOut {
            path: self.root.path.to_string(),
            folder: self.root.is_folder,
            written,
            more: !self.is_whole,
            cache: self.root.purpose == Purpose::Cache && !self.has_installed(),
            removed: self.removed,
            obstacle: None,
        })
    }

    /// Whether packages may have been installed or removed.
    fn has_installed(&self) -> bool {
        let is_in_cache = |file: &WrittenFile| file.path.names().any(|name| CACHES_INSIDE.contains(&name));
        let is_for_packages = self.root.path.names().any(|name| INSTALLED.contains(&name));
        is_for_packages && (0 < self.removed || !self.files.iter().all(is_in_cache))
    }
}

impl Reader<'_> {
    /// Notes the topmost path of something that is left out.
    pub(super) fn note_left_out(&mut self, path: &WorkspacePath, is_folder: bool) {
        let is_configured = self.rules.build.iter().any(|build| path.starts_with(build));
        let purpose = if is_configured { Purpose::Cache } else { Purpose::of(path) };
        self.left_out.push(LeftOutRoot { path: path.clone(), is_folder, purpose });
    }

    /// Looks for everything that was written below such a path. `is_thorough` is for a cache in which something is
    /// looked for.
    pub(super) fn written_below(&self, root: &LeftOutRoot, is_thorough: bool) -> WrittenFiles {
        let is_counted = root.purpose == Purpose::Cache && !is_thorough;
        let mut walk = Walk {
            original: self.from.original,
            below: &self.below,
            hidden: self.from.hidden,
            purpose: root.purpose,
            left: if is_counted { MOST_IN_CACHE } else { MOST_LOOKED_AT },
            found: WrittenFiles { root: root.clone(), files: Vec::new(), removed: 0, is_whole: true },
        };
        let (upper, relative) = self.place(&root.path);
        match relative.file_name() {
            None => match open_folder(upper, b".") {
                Ok(folder) => walk.folder(&folder, &root.path, 0, i64::MIN),
                Err(_) => walk.found.is_whole = false,
            },
            Some(name) => match open_parent(upper, &relative) {
                Some(folder) => walk.entry(folder.as_fd(), name, &root.path, 0, i64::MIN),
                // A folder above it was removed as a whole.
                None => walk.found.removed += 1,
            },
        }
        walk.found
    }

    /// What a written file would be as a change. A file longer than `limit` bytes is none.
    pub(super) fn as_change(&self, file: &WrittenFile, limit: u64) -> Result<AsChange, ShadowError> {
        let path = &file.path;
        let layer = if self.from.original.is_copy() { Layer::Plain } else { Layer::Overlay };
        let (upper, relative) = self.place(path);
        let Some((folder, name)) = open_parent(upper, &relative).zip(relative.file_name()) else {
            return Ok(AsChange::Impossible);
        };
        let found = look(folder.as_fd(), name, path, limit, layer);
        let (Ok(Some(found)), Ok(base)) = (found, self.below.at(path)) else {
            return Ok(AsChange::Impossible);
        };
        if self.is_below_a_file(path)?
            || base.as_ref().is_some_and(|base| base.kind() == EntryKind::Directory || base.has_several_names)
        {
            return Ok(AsChange::Impossible);
        }
        // A copy does not have what git ignores, so nobody has seen the file that is on disk.
        let is_unseen = self.from.original.is_copy() && !self.from.original.holds_unread(path);
        let is_same = |is: &dyn Fn(&Base) -> bool| base.as_ref().is_some_and(is);
        Ok(match found {
            Found::File { content, mode, .. } if is_same(&|base| base.is_file(&content, mode)) => {
                AsChange::Unchanged
            }
            Found::Link { target } if is_same(&|base| base.is_link(&target)) => AsChange::Unchanged,
            Found::File { .. } | Found::Link { .. } if is_unseen && base.is_some() => AsChange::Impossible,
            Found::File { content, mode, .. } => {
                let executable = mode & 0o100 != 0;
                let kind = ChangeKind::Write { content: content.into(), executable, moved_from: None };
                let mode = self.given_bits(path, base.as_ref(), mode);
                AsChange::Change(base, (kind, mode))
            }
            Found::Link { target } if !leads_out(&target, path.names().count() - 1) => {
                AsChange::Change(base, (ChangeKind::Link { target, moved_from: None }, None))
            }
            Found::Whiteout | Found::Folder { .. } => AsChange::Unchanged,
            Found::Link { .. } | Found::Other(_) => AsChange::Impossible,
        })
    }

    /// Whether the disk has something else than a folder above a path.
    fn is_below_a_file(&self, path: &WorkspacePath) -> Result<bool, ShadowError> {
        let mut above = path.parent();
        while let Some(folder) = above.filter(|folder| !folder.is_root()) {
            match self.below.kind(&folder) {
                Ok(None | Some(EntryKind::Directory)) => {}
                Ok(Some(_)) => return Ok(true),
                Err(error) => return Err(error),
            }
            above = folder.parent();
        }
        Ok(false)
    }

    /// The layer that has what was written at a path, and the path in it.
    fn place(&self, path: &WorkspacePath) -> (BorrowedFd<'_>, WorkspacePath) {
        let mut separate = self.from.separate.iter().rev();
        let in_layer = separate.find_map(|(at, upper)| Some((upper, path.strip_prefix(at)?)));
        let (upper, relative) = in_layer.unwrap_or_else(|| (&self.from.upper, path.clone()));
        (upper.as_fd(), relative)
    }
}

struct Walk<'a> {
    original: &'a Original,
    below: &'a LowerTree<'a>,
    hidden: &'a BTreeSet<WorkspacePath>,
    purpose: Purpose,
    /// How many more entries are looked at.
    left: usize,
    found: WrittenFiles,
}

impl Walk<'_> {
    /// `above` is the time of the last change of the folders above, which in a copy is that of a file which came here
    /// with its folder.
    fn folder(&mut self, folder: &OwnedFd, path: &WorkspacePath, depth: usize, above: i64) {
        let Some(names) = names(folder).ok().filter(|_| depth < DEEPEST) else {
            self.found.is_whole = false;
            return;
        };
        for name in names {
            match path.join_bytes(&name) {
                Ok(path) if 0 < self.left => self.entry(folder.as_fd(), &name, &path, depth + 1, above),
                _ => self.found.is_whole = false,
            }
        }
    }

    fn entry(&mut self, folder: BorrowedFd<'_>, name: &[u8], path: &WorkspacePath, depth: usize, above: i64) {
        self.left = self.left.saturating_sub(1);
        if self.hidden.iter().any(|hidden| path.starts_with(hidden)) {
            return;
        }
        let Ok(stat) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
            self.found.removed += 1;
            return;
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => match open_folder(folder, name) {
                Ok(inner) => self.folder(&inner, path, depth, changed(&stat).max(above)),
                Err(_) => self.found.is_whole = false,
            },
            FileType::CharacterDevice if !self.original.is_copy() && stat.st_rdev == 0 => {
                self.found.removed += 1;
            }
            FileType::RegularFile | FileType::Symlink if !self.is_old(folder, name, path) => {
                let above = if self.original.is_copy() { above } else { i64::MIN };
                self.found.files.push(WrittenFile {
                    path: path.clone(),
                    len: stat.st_size.cast_unsigned(),
                    changed: changed(&stat).max(above),
                    purpose: self.purpose,
                });
            }
            _ => {}
        }
    }

    /// Whether a file of a copy was copied, and nobody wrote it since.
    fn is_old(&self, folder: BorrowedFd<'_>, name: &[u8], path: &WorkspacePath) -> bool {
        self.original.holds_unread(path)
            && !self.original.is_newer(folder, name, 0)
            && self.below.kind(path).is_ok_and(|kind| kind.is_some())
    }
}

/// The folder of an upper layer, or of a view, that contains a path; no link is followed.
pub(super) fn open_parent(upper: BorrowedFd<'_>, path: &WorkspacePath) -> Option<OwnedFd> {
    let parent = path.parent()?;
    if parent.is_root() {
        return open_folder(upper, b".").ok();
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    again(|| rustix::fs::openat2(upper, parent.as_bytes(), flags, Mode::empty(), resolve)).ok()
}
