//! Finds folders of build output that no pattern of git's names: by their names, by what is beside and in them, and
//! by git's index.

use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::path::Path;

use headstart_overlay_fs::EntryKind;
use headstart_workspace_path::WorkspacePath;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};

use super::below::LowerTree;
use super::tracked::Tracked;
use crate::ShadowError;
use crate::folders::{BUILD_FOLDERS, BuildFolder};
use crate::os::again;

/// Files with which a tool marks a folder as its own.
const MARKS: [&str; 2] = ["CACHEDIR.TAG", "pyvenv.cfg"];
/// The depth down to which those names are looked for that are not looked for at any depth.
const DEEPEST: usize = 2;

/// Answers questions during one reading.
pub(in crate::os) struct BuildOutput<'a> {
    view: BorrowedFd<'a>,
    workspace: &'a Path,
    /// Read when the first name of the table is met, because most commands do not write to such folders.
    tracked: Option<Tracked>,
    answers: HashMap<WorkspacePath, Option<&'static BuildFolder>>,
}

impl<'a> BuildOutput<'a> {
    pub(in crate::os) fn new(view: BorrowedFd<'a>, workspace: &'a Path) -> Self {
        Self { view, workspace, tracked: None, answers: HashMap::new() }
    }

    /// The row of the table by which a folder is build output.
    pub(super) fn row(
        &mut self,
        path: &WorkspacePath,
        base: &LowerTree<'_>,
    ) -> Result<Option<&'static BuildFolder>, ShadowError> {
        let name = path.file_name().unwrap_or_default();
        let Some(row) = BUILD_FOLDERS.iter().find(|row| row.name.as_bytes() == name) else { return Ok(None) };
        if let Some(answer) = self.answers.get(path) {
            return Ok(*answer);
        }
        let answer = Some(row).filter(|_| row.is_deep || path.names().count() <= DEEPEST);
        let answer = match answer {
            Some(row) if self.is_output(path, row, base)? => Some(row),
            _ => None,
        };
        self.answers.insert(path.clone(), answer);
        Ok(answer)
    }

    fn is_output(
        &mut self,
        path: &WorkspacePath,
        row: &BuildFolder,
        base: &LowerTree<'_>,
    ) -> Result<bool, ShadowError> {
        if !self.is_told(path, row) || self.may_be_tracked(path) {
            return Ok(false);
        }
        // If git does not track any file yet, a folder that existed before may be the user's own work.
        let may_be_theirs = row.is_common && matches!(self.tracked(), Tracked::Nothing);
        Ok(!may_be_theirs || self.is_marked(path) || base.kind(path)? != Some(EntryKind::Directory))
    }

    /// Whether something beside or in the folder shows that its name comes from a build tool.
    pub(in crate::os) fn is_told(&self, path: &WorkspacePath, row: &BuildFolder) -> bool {
        let above = path.parent().unwrap_or_else(WorkspacePath::root);
        let is_beside = || row.beside.iter().any(|file| self.has_file(&above, file));
        row.beside.is_empty() || is_beside() || self.is_marked(path)
    }

    fn is_marked(&self, path: &WorkspacePath) -> bool {
        MARKS.iter().any(|mark| self.has_file(path, mark))
    }

    /// Whether git tracks something in the folder, or this cannot be told.
    pub(in crate::os) fn may_be_tracked(&mut self, path: &WorkspacePath) -> bool {
        match self.tracked() {
            Tracked::Nothing => false,
            Tracked::Unknown => true,
            tracked @ Tracked::Paths(_) => tracked.has_below(path),
        }
    }

    pub(super) fn tracked(&mut self) -> &Tracked {
        self.tracked.get_or_insert_with(|| Tracked::of(self.workspace))
    }

    /// Whether the view has a regular file of this name in a folder. No link is followed.
    pub(in crate::os) fn has_file(&self, folder: &WorkspacePath, name: &str) -> bool {
        let Ok(path) = folder.join(name) else { return false };
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let opened = again(|| rustix::fs::openat2(self.view, path.as_bytes(), flags, Mode::empty(), resolve));
        opened
            .and_then(|file| rustix::fs::fstat(&file))
            .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile)
    }
}
