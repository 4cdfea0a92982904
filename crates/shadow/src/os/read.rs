//! Reads back what was written in a view, from the folder in which overlayfs keeps it. A command may have put
//! anything there, so everything is reached from handles, no link is followed, nothing is opened that could block,
//! and limits are checked during the walk.

mod below;
mod entry;
mod half_moves;
mod left_out;
mod lost;
mod moved;
mod output;
#[cfg(test)]
mod tests;
mod tracked;

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use headstart_overlay_fs::{Change, ChangeKind, ChangeSet, EntryKind, Observation, Tree, TreeError};
use headstart_workspace_path::WorkspacePath;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use self::below::{Base, LowerTree};
pub(super) use self::entry::is_opaque;
use self::entry::{Found, Layer, look};
pub(super) use self::half_moves::settle;
use self::left_out::LeftOutRoot;
pub(super) use self::lost::Settled;
pub(super) use self::output::BuildOutput;
pub(super) use self::tracked::Tracked;
use super::again;
use super::copied::Original;
use super::ignored::Ignored;
use super::show::{PLAIN_FOLDER, file_bits};
use crate::reading::leads_out;
use crate::{NotStaged, NotStagedReason, ReadBack, ReadRules, ShadowError};

/// What is read, and with what it is compared.
pub(super) struct ReadSource<'a> {
    /// The upper layer, or the whole copy.
    pub(super) upper: OwnedFd,
    /// What the copy contained, and what steps below wrote.
    pub(super) original: &'a Original,
    /// Upper layers of folders that have their own: build output.
    pub(super) separate: BTreeMap<WorkspacePath, OwnedFd>,
    /// The root of the mounted view.
    pub(super) view: BorrowedFd<'a>,
    /// The tree below.
    pub(super) base: &'a dyn Tree,
    /// The workspace on disk, where git's index is the user's own.
    pub(super) workspace: &'a Path,
    /// When the view was started.
    pub(super) since: i64,
    /// The changes that were shown in the view, or found in it earlier.
    pub(super) known: &'a BTreeMap<WorkspacePath, Change>,
    pub(super) hidden: &'a BTreeSet<WorkspacePath>,
    /// When the last command was started.
    pub(super) ran_at: i64,
    /// Files outside the workspace that may hold a content of one of these lengths.
    pub(super) forgotten: &'a dyn Fn(&BTreeSet<u64>) -> Vec<String>,
    /// What was found out when the view was read the last time.
    pub(super) settled: Option<&'a Settled>,
}

/// Opens a folder in a folder.
pub(super) fn folder(at: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, ShadowError> {
    open_folder(at, name.as_bytes()).map_err(|error| read_error(&WorkspacePath::root(), error))
}

fn open_folder(at: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, rustix::io::Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    again(|| rustix::fs::openat(at, name, flags, Mode::empty()))
}

pub(super) fn read(from: &ReadSource<'_>, rules: &ReadRules) -> Result<(ReadBack, Settled), ShadowError> {
    let mut reader = Reader {
        below: LowerTree::new(from.base, from.known, from.since, rules.quota),
        rules,
        from,
        ignored: Ignored::new(from.view, from.workspace),
        output: BuildOutput::new(from.view, from.workspace),
        changes: BTreeMap::new(),
        listed: BTreeMap::new(),
        left_out: Vec::new(),
        bytes: 0,
        back: ReadBack::default(),
    };
    let root = FolderContext { is_in_base: true, hides_base: false, is_ignored: false };
    reader.folder(&from.upper, &WorkspacePath::root(), root)?;
    for (path, upper) in &from.separate {
        reader.separate(path, upper)?;
    }
    let settled = reader.keep_moves_whole()?;
    Ok((reader.finish(), settled))
}

/// What is known of the folder that is being read.
#[derive(Clone, Copy)]
struct FolderContext {
    /// Whether the tree below has a folder here too, so that their contents are compared.
    is_in_base: bool,
    /// Whether the content of the folder in the tree below is hidden, by this folder's mark or by one above.
    hides_base: bool,
    /// Whether the folder or one above it is ignored.
    is_ignored: bool,
}

struct Reader<'a> {
    from: &'a ReadSource<'a>,
    rules: &'a ReadRules,
    below: LowerTree<'a>,
    ignored: Ignored<'a>,
    output: BuildOutput<'a>,
    changes: BTreeMap<WorkspacePath, Change>,
    /// Folders from which something was removed, with the names that the tree below has in them.
    listed: BTreeMap<WorkspacePath, Vec<Vec<u8>>>,
    /// The topmost paths that are left out.
    left_out: Vec<LeftOutRoot>,
    /// The size of all contents, new and old.
    bytes: u64,
    back: ReadBack,
}

impl Reader<'_> {
    /// Reads one folder of the upper layer.
    fn folder(
        &mut self,
        folder: &OwnedFd,
        path: &WorkspacePath,
        inside: FolderContext,
    ) -> Result<(), ShadowError> {
        self.check_depth(path)?;
        let names = names(folder).map_err(|error| read_error(path, error))?;
        self.ignored.enter(path);
        for name in &names {
            self.entry(folder, name, join(path, name)?, inside)?;
            self.ignored.leave_to(path);
        }
        for gone in self.from.original.names(path) {
            let name = gone.file_name().unwrap_or_default();
            if names.binary_search_by(|known| known.as_slice().cmp(name)).is_err() {
                self.gone(gone, inside)?;
            }
        }
        if inside.is_in_base && inside.hides_base {
            self.removed_from(path, inside.is_ignored, |name| {
                names.binary_search_by(|known| known.as_slice().cmp(name)).is_err()
            })?;
        }
        Ok(())
    }

    /// Reads a folder of build output: it is reported if something was written there, and read as far as it was shown
    /// or asked for.
    fn separate(&mut self, path: &WorkspacePath, upper: &OwnedFd) -> Result<(), ShadowError> {
        if names(upper).map_err(|error| read_error(path, error))?.is_empty() {
            return Ok(());
        }
        let keep = &self.rules.keep;
        let is_kept = keep.iter().any(|kept| path.starts_with(kept) || kept.starts_with(path));
        if !is_kept && !self.knows_below(path) {
            self.back.ignored.push(path.clone());
            self.note_left_out(path, true);
            return Ok(());
        }
        let is_in_base = self.below.kind(path)? == Some(EntryKind::Directory);
        self.folder(upper, path, FolderContext { is_in_base, hides_base: false, is_ignored: true })
    }

    /// Handles something that was copied, or written by a step below, and is gone now.
    fn gone(&mut self, path: &WorkspacePath, inside: FolderContext) -> Result<(), ShadowError> {
        if self.is_elsewhere(path) {
            return Ok(());
        }
        if path.as_bytes() == b".git" {
            self.back.git = true;
            return Ok(());
        }
        let base = if inside.is_in_base { self.below.at(path)? } else { None };
        let Some(base) = base else { return Ok(()) };
        if self.is_left_out(path, base.kind() == EntryKind::Directory, inside)? {
            return Ok(());
        }
        let is_ignored = inside.is_ignored || self.is_ignored(path, base.kind() == EntryKind::Directory)?;
        self.removed(path.clone(), base, is_ignored).map(drop)
    }

    /// Whether a path is hidden, or has an upper layer of its own.
    fn is_elsewhere(&self, path: &WorkspacePath) -> bool {
        self.from.hidden.iter().any(|hidden| path.starts_with(hidden))
            || self.from.separate.contains_key(path)
    }

    fn entry(
        &mut self,
        folder: &OwnedFd,
        name: &[u8],
        path: WorkspacePath,
        inside: FolderContext,
    ) -> Result<(), ShadowError> {
        if self.is_elsewhere(&path) {
            return Ok(());
        }
        let original = self.from.original;
        if path.as_bytes() == b".git" {
            self.back.git |= if original.is_copy() {
                original.is_newer(folder.as_fd(), name, 0)
            } else {
                holds_a_file(folder.as_fd(), name, 0)
            };
            return Ok(());
        }
        if original.is_unchanged(folder.as_fd(), name, &path) {
            return Ok(());
        }
        let limit = self.rules.quota.file_bytes;
        // Ignored paths are not read, because build output is large.
        let Some(kind) = kind_of(folder.as_fd(), name) else { return Ok(()) };
        let is_folder = match kind {
            FileType::CharacterDevice if inside.is_in_base && !original.is_copy() => {
                self.below.kind(&path)? == Some(EntryKind::Directory)
            }
            kind => kind == FileType::Directory,
        };
        if self.is_left_out(&path, is_folder, inside)? {
            return Ok(());
        }
        let layer = if original.is_copy() { Layer::Plain } else { Layer::Overlay };
        let Some(found) = look(folder.as_fd(), name, &path, limit, layer)? else { return Ok(()) };
        let is_ignored = inside.is_ignored || self.is_ignored(&path, is_folder)?;
        let base = if inside.is_in_base { self.below.at(&path)? } else { None };
        match found {
            Found::Whiteout => match base {
                Some(base) => self.removed(path, base, is_ignored).map(drop),
                None => Ok(()),
            },
            Found::Folder { handle, opaque, mode } => {
                let is_in_base = base.as_ref().is_some_and(|base| base.kind() == EntryKind::Directory);
                let hides_base = inside.hides_base || opaque;
                let before = self.changes.len();
                self.folder(&handle, &path, FolderContext { is_in_base, hides_base, is_ignored })?;
                // A folder that exists only because something shown is in it goes with that, and is not a change of
                // its own.
                let is_plain = mode & 0o777 == PLAIN_FOLDER;
                let is_implied = base.is_none()
                    && before < self.changes.len()
                    && is_plain
                    && !self.from.known.contains_key(&path)
                    && self.knows_below(&path);
                if let Some(base) = base.as_ref().filter(|_| is_in_base) {
                    self.compare_folder(&path, base, mode);
                }
                if is_in_base || is_implied || original.had_folder(&path) {
                    return Ok(());
                }
                let is_shown =
                    is_plain && self.from.known.get(&path).is_some_and(|known| known.mode.is_none());
                let mode = (!is_shown).then_some(mode);
                self.change(path, base, (ChangeKind::CreateDirectory, mode))
            }
            Found::File { content, mode, special_bits } => {
                if special_bits {
                    self.back
                        .not_staged
                        .push(NotStaged { path: path.clone(), why: NotStagedReason::SpecialBits });
                }
                if base.as_ref().is_some_and(|base| base.is_file(&content, mode)) {
                    return Ok(());
                }
                self.replaced(&path, base.as_ref(), is_ignored)?;
                let executable = mode & 0o100 != 0;
                let kind = ChangeKind::Write { content: content.into(), executable, moved_from: None };
                let mode = self.given_bits(&path, base.as_ref(), mode);
                self.change(path, base, (kind, mode))
            }
            Found::Link { target } => {
                if base.as_ref().is_some_and(|base| base.is_link(&target)) {
                    return Ok(());
                }
                if leads_out(&target, path.names().count() - 1) {
                    return self.left_out(path, base, is_ignored, NotStagedReason::LinkLeadsOut);
                }
                self.replaced(&path, base.as_ref(), is_ignored)?;
                self.change(path, base, (ChangeKind::Link { target, moved_from: None }, None))
            }
            // The user could not read it in the workspace either.
            Found::Other(NotStagedReason::Unreadable) if original.had_folder(&path) => Ok(()),
            Found::Other(why) => self.left_out(path, base, is_ignored, why),
        }
    }

    /// The permission bits that a command gave a file; `None` if they are those that it was shown with, or that the
    /// file in its place has.
    fn given_bits(&self, path: &WorkspacePath, base: Option<&Base>, mode: u32) -> Option<u32> {
        let known = self.from.known.get(path);
        if let Some(known) = known.filter(|known| file_bits(known) == mode) {
            return known.mode;
        }
        let of_base = base.filter(|base| base.kind() == EntryKind::File);
        (of_base.map(|base| base.fingerprint.bits()) != Some(mode)).then_some(mode)
    }

    /// Reports the bits that a command gave to a folder that exists, because no change can have them.
    fn compare_folder(&mut self, path: &WorkspacePath, base: &Base, mode: u32) {
        if base.fingerprint.device != 0 && base.fingerprint.bits() != mode & 0o777 {
            self.back.not_staged.push(NotStaged { path: path.clone(), why: NotStagedReason::FolderBits });
        }
    }

    /// Handles something that cannot be staged. What was there before is gone, unless it is a file that cannot be
    /// read: that is still there.
    fn left_out(
        &mut self,
        path: WorkspacePath,
        base: Option<Base>,
        is_ignored: bool,
        why: NotStagedReason,
    ) -> Result<(), ShadowError> {
        self.back.not_staged.push(NotStaged { path: path.clone(), why });
        match base {
            Some(base) if why != NotStagedReason::Unreadable => {
                self.removed(path, base, is_ignored).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Whether git ignores the path, or it is build output, and nobody asked for it or showed it. Then it is reported
    /// (unless something above it is) and not read.
    fn is_left_out(
        &mut self,
        path: &WorkspacePath,
        is_folder: bool,
        inside: FolderContext,
    ) -> Result<bool, ShadowError> {
        if !(inside.is_ignored || self.is_ignored(path, is_folder)?) {
            return Ok(false);
        }
        let kept = &self.rules.keep;
        let is_kept = kept.iter().any(|kept| path.starts_with(kept) || kept.starts_with(path));
        if is_kept || self.from.known.contains_key(path) || self.knows_below(path) {
            return Ok(false);
        }
        self.note_left_out(path, is_folder);
        if !inside.is_ignored {
            self.back.ignored.push(path.clone());
            let is_said = self.ignored.says_of(path, is_folder).is_some();
            if !is_said && self.output.row(path, &self.below)?.is_some_and(|row| row.is_common) {
                self.back
                    .not_staged
                    .push(NotStaged { path: path.clone(), why: NotStagedReason::BuildOutput });
            }
        }
        Ok(true)
    }

    /// Whether something below the path was shown.
    fn knows_below(&self, path: &WorkspacePath) -> bool {
        let from = self.from.known.range(path.clone()..).map(|(known, _)| known);
        // Between the paths in the folder there are others that only begin with the same bytes.
        let mut alike = from.take_while(|known| known.as_bytes().starts_with(path.as_bytes()));
        alike.any(|known| known != path && known.starts_with(path))
    }

    fn is_ignored(&mut self, path: &WorkspacePath, is_folder: bool) -> Result<bool, ShadowError> {
        if !self.rules.ignore {
            return Ok(false);
        }
        if self.rules.build.contains(path) {
            return Ok(true);
        }
        if let Some(said) = self.ignored.says_of(path, is_folder) {
            return Ok(said);
        }
        Ok(is_folder && self.output.row(path, &self.below)?.is_some())
    }

    /// Handles the former content of a folder that is a file or a link now.
    fn replaced(
        &mut self,
        path: &WorkspacePath,
        base: Option<&Base>,
        is_ignored: bool,
    ) -> Result<(), ShadowError> {
        match base {
            Some(base) if base.kind() == EntryKind::Directory => {
                // A rule for a folder does not speak of a file with its name, but of what was in the folder it does.
                let is_ignored = is_ignored || self.is_ignored(path, true)?;
                self.removed_from(path, is_ignored, |_| true).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Handles something of the tree below that is gone, with everything in it. What git ignores in it is left out,
    /// and then the folder stays too; returns whether it does.
    fn removed(&mut self, path: WorkspacePath, base: Base, is_ignored: bool) -> Result<bool, ShadowError> {
        let stays = base.kind() == EntryKind::Directory && self.removed_from(&path, is_ignored, |_| true)?;
        if !stays {
            self.change(path, Some(base), (ChangeKind::Delete, None))?;
        }
        Ok(stays)
    }

    /// Handles the names that the tree below has in a folder and the view has not. Returns whether something of it is
    /// ignored and stays.
    fn removed_from(
        &mut self,
        path: &WorkspacePath,
        is_ignored: bool,
        is_gone: impl Fn(&[u8]) -> bool,
    ) -> Result<bool, ShadowError> {
        self.check_depth(path)?;
        let mut keeps = false;
        self.ignored.enter(path);
        let names = self.below.names(path)?;
        self.listed.insert(path.clone(), names.clone());
        for name in names.into_iter().filter(|name| is_gone(name)) {
            let child = join(path, &name)?;
            let Some(base) = self.below.at(&child)? else { continue };
            let is_folder = base.kind() == EntryKind::Directory;
            let is_ignored = is_ignored || self.is_ignored(&child, is_folder)?;
            let is_known = self.from.known.contains_key(&child)
                || self.knows_below(&child)
                || self.rules.keep.iter().any(|kept| child.starts_with(kept) || kept.starts_with(&child));
            if is_ignored && !is_known {
                keeps = true;
                self.note_left_out(&child, is_folder);
                continue;
            }
            keeps |= self.removed(child, base, is_ignored)?;
            self.ignored.leave_to(path);
        }
        Ok(keeps)
    }

    /// Folders are read one within another, so there may not be more than a thread has stack for.
    fn check_depth(&self, path: &WorkspacePath) -> Result<(), ShadowError> {
        let limit = self.rules.quota.depth;
        if path.names().count() as u64 <= limit {
            return Ok(());
        }
        Err(TreeError::Quota { path: path.clone(), limit, unit: "names in a path" }.into())
    }

    fn change(
        &mut self,
        path: WorkspacePath,
        base: Option<Base>,
        (kind, mode): (ChangeKind, Option<u32>),
    ) -> Result<(), ShadowError> {
        if self.below.changed_meanwhile(&path, base.as_ref())? {
            self.back.changed_meanwhile.push(path);
            return Ok(());
        }
        if base.as_ref().is_some_and(|base| base.has_several_names) {
            return Err(ShadowError::HardLinks { path });
        }
        let (base, base_content) = base.map_or((None, None), |base| (Some(base.fingerprint), base.content));
        let new = match &kind {
            ChangeKind::Write { content, .. } => content.len(),
            ChangeKind::Link { target, .. } => target.len(),
            ChangeKind::CreateDirectory | ChangeKind::Delete => 0,
        };
        self.bytes += (new + base_content.as_ref().map_or(0, |content| content.len())) as u64;
        let quota = self.rules.quota;
        let rows =
            [(quota.files, self.changes.len() as u64 + 1, "files"), (quota.bytes, self.bytes, "bytes")];
        if let Some((limit, _, unit)) = rows.into_iter().find(|(limit, now, _)| limit < now) {
            return Err(TreeError::Quota { path, limit, unit }.into());
        }
        self.changes.insert(path.clone(), Change { path, base, base_content, kind, mode });
        Ok(())
    }

    fn finish(mut self) -> ReadBack {
        moved::find(&mut self.changes);
        // If something new appears in a folder that is removed or replaced, that is a conflict, and it is not removed
        // too.
        let reads = self.listed.into_iter().filter_map(|(path, names)| {
            let seen = self.changes.get(&path)?.base.clone();
            Some(Observation { path, seen, content: None, names: Some(names) })
        });
        let reads = reads.collect();
        let (mut removals, rest): (Vec<_>, Vec<_>) =
            self.changes.into_values().partition(|change| change.kind == ChangeKind::Delete);
        removals.reverse();
        removals.extend(rest);
        self.back.changes = ChangeSet { changes: removals, reads };
        // Removed paths were found after the existing ones.
        self.back.changed_meanwhile.sort();
        self.back.ignored.sort();
        self.back
    }
}

fn join(path: &WorkspacePath, name: &[u8]) -> Result<WorkspacePath, ShadowError> {
    path.join_bytes(name).map_err(|error| ShadowError::unstaged(path, error.to_string()))
}

fn kind_of(folder: BorrowedFd<'_>, name: &[u8]) -> Option<FileType> {
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(found.st_mode))
}

fn names(folder: &OwnedFd) -> Result<Vec<Vec<u8>>, rustix::io::Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_vec());
        }
    }
    names.sort();
    Ok(names)
}

/// Whether there is anything but folders. Folders that cannot be opened or are too deep count as such.
fn holds_a_file(at: BorrowedFd<'_>, name: &[u8], depth: usize) -> bool {
    const DEEPEST: usize = 16;
    let Ok(folder) = open_folder(at, name) else { return true };
    let Ok(names) = names(&folder) else { return true };
    names.iter().any(|name| DEEPEST < depth || holds_a_file(folder.as_fd(), name, depth + 1))
}

fn read_error(path: &WorkspacePath, error: rustix::io::Errno) -> ShadowError {
    ShadowError::read(path, &error.into())
}
