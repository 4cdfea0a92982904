//! Finds the folders of a workspace that hold much build output, and removes such folders.

use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use headstart_workspace_path::WorkspacePath;

use super::ignored::Ignored;
use super::read::BuildOutput;
use super::show;
use crate::folders::BUILD_FOLDERS;

/// The most folders of a workspace in which folders of build output are looked for.
const MOST_LOOKED_AT: usize = 1_000;

/// The folders of a workspace that hold much build output, at depth one and two, and those of `more` that exist: git
/// tracks nothing in them, and either ignores them or they are build output by their names. They are worth a place in
/// [`BuildRoom::layers`](crate::BuildRoom::layers). Cargo's folder is included even before it exists.
pub fn build_folders(workspace: &Path, more: &[WorkspacePath]) -> Vec<WorkspacePath> {
    let Ok(root) = fs::File::open(workspace) else { return Vec::new() };
    let mut search = Search {
        workspace,
        ignored: Ignored::new(root.as_fd(), workspace),
        output: BuildOutput::new(root.as_fd(), workspace),
        found: Vec::new(),
    };
    search.folder(&WorkspacePath::root());
    for name in names(workspace).into_iter().take(MOST_LOOKED_AT) {
        let Ok(path) = WorkspacePath::root().join_bytes(&name) else { continue };
        let is_output = BUILD_FOLDERS.iter().any(|row| row.name.as_bytes() == name);
        if !is_output && name != b".git" && search.is_folder(&path) {
            search.folder(&path);
        }
    }
    for path in more {
        let is_known = search.found.iter().any(|known| known.starts_with(path) || path.starts_with(known));
        if !is_known && search.is_folder(path) && !search.output.may_be_tracked(path) {
            search.found.push(path.clone());
        }
    }
    search.found
}

struct Search<'a> {
    workspace: &'a Path,
    ignored: Ignored<'a>,
    output: BuildOutput<'a>,
    found: Vec<WorkspacePath>,
}

impl Search<'_> {
    fn folder(&mut self, folder: &WorkspacePath) {
        self.ignored.enter(folder);
        for row in BUILD_FOLDERS.iter().filter(|row| row.is_large) {
            let Ok(path) = folder.join(row.name) else { continue };
            let said = self.ignored.says_of(&path, true);
            let is_cargos = row.name == "target" && self.output.has_file(folder, "Cargo.toml");
            let is_there = self.is_folder(&path);
            let is_coming = is_cargos && folder.is_root() && self.at(&path).symlink_metadata().is_err();
            if (is_there || is_coming)
                && said != Some(false)
                && !self.output.may_be_tracked(&path)
                && (said == Some(true) || self.output.is_told(&path, row))
            {
                self.found.push(path);
            }
        }
    }

    fn at(&self, path: &WorkspacePath) -> std::path::PathBuf {
        self.workspace.join(std::ffi::OsStr::from_bytes(path.as_bytes()))
    }

    /// Whether a folder is at the path, without a link on the way to it.
    fn is_folder(&self, path: &WorkspacePath) -> bool {
        let mut at = self.workspace.to_owned();
        path.names().all(|name| {
            at.push(std::ffi::OsStr::from_bytes(name));
            at.symlink_metadata().is_ok_and(|found| found.is_dir())
        })
    }
}

fn names(folder: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().as_bytes().to_vec()).collect();
    names.sort();
    names
}

/// Removes a folder and everything that a command may have left in it. Overlayfs makes a folder of its own without
/// any permission, which is removed too. A missing folder is no error.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no folder that could be removed"));
    };
    match fs::File::open(above) {
        Ok(above) => Ok(show::remove_tree(above.as_fd(), name.as_bytes(), None)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
