use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use cap_fs_ext::DirExt as _;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt as _};
use headstart_workspace_path::WorkspacePath;

use super::calls;
use super::orphans;
use super::staging;
use crate::EntryKind;

/// The folder, in a host's state folder, for the staging folders of all workspaces.
pub(super) const STAGING: &str = "staging";

/// Where the staging folders of one workspace are: in the host's state folder, as long as a rename reaches the workspace
/// from there, else in the workspace's own folder, where no view shows them.
#[derive(Debug)]
pub(super) struct Homes {
    root: Dir,
    state: Option<PathBuf>,
    /// Where the workspace was opened, if that is known, for a sweep after it is gone.
    opened_at: Option<PathBuf>,
    /// Tells this workspace from others, wherever it is moved.
    pub(super) workspace: String,
}

/// One folder in which staging folders are.
#[derive(Debug)]
pub(super) struct Home {
    pub(super) folder: Dir,
    /// Where it is; `None`: it is the workspace.
    pub(super) path: Option<PathBuf>,
}

impl Homes {
    pub(super) fn new(root: Dir, opened_at: Option<PathBuf>, state: Option<PathBuf>) -> io::Result<Self> {
        let workspace = identity(&root)?;
        Ok(Self { root, state, opened_at, workspace })
    }

    /// Those that are there. A folder that is not private to this user is none of ours.
    pub(super) fn existing(&self) -> io::Result<Vec<Home>> {
        let state = match &self.state {
            Some(state) => match self.in_state(state, false) {
                // Not there, or something else that is none of ours.
                Err(error) if is_no_folder(&error) => None,
                home => home?,
            },
            None => None,
        };
        Ok(state.into_iter().chain([self.inside()?]).collect())
    }

    /// The one for a new staging folder.
    pub(super) fn for_new(&self) -> io::Result<Home> {
        match self.outside()? {
            Some(home) => Ok(home),
            None => self.inside(),
        }
    }

    /// The one in the host's state folder, if a rename reaches the workspace from there.
    pub(super) fn outside(&self) -> io::Result<Option<Home>> {
        if let Some(state) = &self.state
            && let Ok(Some(home)) = self.in_state(state, true)
            && reaches(&home.folder, &self.root)?
        {
            return Ok(Some(home));
        }
        Ok(None)
    }

    fn inside(&self) -> io::Result<Home> {
        Ok(Home { folder: self.root.try_clone()?, path: None })
    }

    /// `None`: not there, or not private.
    fn in_state(&self, state: &Path, make: bool) -> io::Result<Option<Home>> {
        if make {
            Dir::create_ambient_dir_all(state, ambient_authority())?;
        }
        let mut folder = Dir::open_ambient_dir(state, ambient_authority())?;
        for name in [STAGING, self.workspace.as_str()] {
            if make {
                make_private(&folder, name)?;
            }
            folder = folder.open_dir_nofollow(name)?;
            if !is_private(&folder)? {
                return Ok(None);
            }
        }
        if let Some(opened_at) = &self.opened_at {
            // Without it a sweep leaves what is here, so this is no reason to refuse the work.
            let _ = orphans::note(&folder, opened_at);
        }
        Ok(Some(Home { folder, path: Some(state.join(STAGING).join(&self.workspace)) }))
    }
}

impl Home {
    /// The names of the staging folders, sorted.
    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in self.folder.entries()? {
            let name = entry?.file_name();
            names.extend(
                name.to_str().filter(|name| staging::is_staging_name(name.as_bytes())).map(str::to_owned),
            );
        }
        names.sort();
        Ok(names)
    }

    /// A staging folder as a person is told of it.
    pub(super) fn told(&self, name: &str) -> String {
        match &self.path {
            Some(path) => path.join(name).display().to_string(),
            None => name.to_owned(),
        }
    }
}

/// Whether a folder belongs to this user, and nobody else can look into it or write to it.
pub(super) fn is_private(folder: &Dir) -> io::Result<bool> {
    let found = calls::look_at(folder)?;
    Ok(found.kind == EntryKind::Directory
        && found.owner.0 == rustix::process::geteuid().as_raw()
        && found.mode & 0o777 == 0o700)
}

/// The host's state folder as a path of the workspace, if it is one. It need not be there yet.
pub(super) fn within(root: &Path, state: &Path) -> Option<WorkspacePath> {
    let state = std::path::absolute(state).ok()?;
    let mut missing = Vec::new();
    let mut at = state.as_path();
    let mut found = loop {
        match at.canonicalize() {
            Ok(found) => break found,
            Err(error) if is_no_folder(&error) => {
                missing.push(at.file_name()?);
                at = at.parent()?;
            }
            Err(_) => return None,
        }
    };
    found.extend(missing.into_iter().rev());
    let inside = found.strip_prefix(root).ok()?;
    WorkspacePath::from_bytes(inside.as_os_str().as_bytes()).ok().filter(|path| !path.is_root())
}

pub(super) fn is_no_folder(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP)
}

fn make_private(folder: &Dir, name: &str) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    match folder.create_dir_with(name, &builder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Inode and, where the system has it, time of birth: no later folder has both.
#[cfg(target_os = "linux")]
pub(super) fn identity(root: &Dir) -> io::Result<String> {
    use rustix::fs::{AtFlags, StatxFlags, statx};
    let wanted = StatxFlags::INO | StatxFlags::BTIME;
    let born = match statx(root, "", AtFlags::EMPTY_PATH, wanted) {
        Ok(found) => (found.stx_btime.tv_sec, found.stx_btime.tv_nsec),
        Err(rustix::io::Errno::NOSYS) => (0, 0),
        Err(error) => return Err(error.into()),
    };
    Ok(format!("{:x}-{:x}-{:x}", calls::look_at(root)?.inode, born.0, born.1))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn identity(root: &Dir) -> io::Result<String> {
    Ok(format!("{:x}", calls::look_at(root)?.inode))
}

/// Whether the kernel renames from one folder to the other: it does only within one mount of one file system.
#[cfg(target_os = "linux")]
fn reaches(from: &Dir, to: &Dir) -> io::Result<bool> {
    use rustix::fs::{AtFlags, StatxFlags, statx};
    if calls::look_at(from)?.device != calls::look_at(to)?.device {
        return Ok(false);
    }
    let mount = |folder| statx(folder, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID);
    match (mount(from), mount(to)) {
        (Ok(from), Ok(to)) => Ok(from.stx_mnt_id == to.stx_mnt_id),
        // Too old a kernel to tell.
        _ => Ok(false),
    }
}

#[cfg(not(target_os = "linux"))]
fn reaches(from: &Dir, to: &Dir) -> io::Result<bool> {
    Ok(calls::look_at(from)?.device == calls::look_at(to)?.device)
}
