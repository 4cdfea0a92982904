use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cap_fs_ext::DirExt as _;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use headstart_workspace_path::WorkspacePath;

use crate::EntryKind;
use crate::os::disk::calls::{self, Stat};
use crate::os::disk::names::names_in;
use crate::os::disk::seen::place;
use crate::os::disk::system::{self, Errno};

/// The folder in a host's state folder that holds the staging folders of all workspaces.
pub(in crate::os) const STAGING: &str = "staging";

/// The prefix of a staging folder's name; a random number follows.
pub(in crate::os) const PREFIX: &str = ".headstart-staging-";

/// A file beside the staging folders of a workspace in the host's state folder. It says where the workspace was last
/// opened.
pub(in crate::os) const NOTE: &str = "workspace";
/// That file while it is being written.
pub(in crate::os) const NOTE_DRAFT: &str = "workspace-draft";

/// Where the staging folders of one workspace are: in the host's state folder if a rename reaches the workspace from
/// there, else in the workspace itself, where no view shows them.
#[derive(Debug)]
pub(in crate::os) struct StagingHomes {
    root: Arc<Dir>,
    state: Option<PathBuf>,
    /// The path at which the workspace was opened, if it is known, for a sweep after the workspace is gone.
    opened_at: Option<PathBuf>,
    /// Tells this workspace from others, also after it was moved.
    pub(in crate::os) workspace: String,
    /// The folder in the state folder, as it was last found.
    found: Mutex<Option<StagingHome>>,
    /// Whether the names of the folders above those in the state folder were synced.
    is_synced: AtomicBool,
}

/// One folder that holds staging folders.
#[derive(Debug, Clone)]
pub(in crate::os) struct StagingHome {
    pub(in crate::os) folder: Arc<Dir>,
    /// Its path; `None` if it is the workspace.
    pub(in crate::os) path: Option<PathBuf>,
    /// Whether the kernel renames from here into the workspace.
    pub(in crate::os) reaches: bool,
}

impl StagingHomes {
    pub(in crate::os) fn new(
        root: Dir,
        opened_at: Option<PathBuf>,
        state: Option<PathBuf>,
    ) -> io::Result<Self> {
        let workspace = identity(&root)?;
        let root = Arc::new(root);
        Ok(Self {
            root,
            state,
            opened_at,
            workspace,
            found: Mutex::default(),
            is_synced: AtomicBool::new(false),
        })
    }

    /// Those that exist. A folder that is not private to this user is left out.
    pub(in crate::os) fn existing(&self) -> io::Result<Vec<StagingHome>> {
        let state = match &self.state {
            Some(state) => match self.in_state(state, false) {
                // It does not exist, or is something else.
                Err(error) if is_no_folder(&error) => None,
                home => home?,
            },
            None => None,
        };
        Ok(state.into_iter().chain([self.inside()]).collect())
    }

    /// The one for a new staging folder.
    pub(in crate::os) fn for_new(&self) -> StagingHome {
        self.outside().unwrap_or_else(|| self.inside())
    }

    /// The one in the host's state folder, if a rename reaches the workspace from there.
    pub(in crate::os) fn outside(&self) -> Option<StagingHome> {
        let home = self.in_state(self.state.as_ref()?, true).ok()?;
        home.filter(|home| home.reaches)
    }

    /// As [`outside`](Self::outside), if it exists already.
    pub(in crate::os) fn outside_if_there(&self) -> io::Result<Option<StagingHome>> {
        match &self.state {
            Some(state) => Ok(self.in_state(state, false)?.filter(|home| home.reaches)),
            None => Ok(None),
        }
    }

    /// Syncs the names of the staging folders, and of the folders that lead to them. After a loss of power, a journal
    /// that nobody finds is worth no more than none.
    pub(in crate::os) fn sync(&self, home: &StagingHome) -> io::Result<()> {
        calls::sync_folder(&home.folder)?;
        let Some(state) = self.state.as_ref().filter(|_| home.path.is_some()) else { return Ok(()) };
        if self.is_synced.load(Ordering::Relaxed) {
            return Ok(());
        }
        let state = Dir::open_ambient_dir(state, ambient_authority())?;
        calls::sync_folder(&state.open_dir_nofollow(STAGING)?)?;
        calls::sync_folder(&state)?;
        // The folder above is the host's, and this process may not be permitted to open it.
        let _ = state.open_parent_dir(ambient_authority()).map(|above| calls::sync_folder(&above));
        self.is_synced.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn inside(&self) -> StagingHome {
        StagingHome { folder: self.root.clone(), path: None, reaches: true }
    }

    /// Opens the folder in the host's state folder; `None` if it does not exist or is not private.
    fn in_state(&self, state: &Path, make: bool) -> io::Result<Option<StagingHome>> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.as_ref().is_none_or(|home| !home.is_where_it_was()) {
            *found = self.open_in_state(state, make)?;
        }
        Ok(found.clone())
    }

    fn open_in_state(&self, state: &Path, make: bool) -> io::Result<Option<StagingHome>> {
        if make {
            make_state(state)?;
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
            // Without the note a sweep leaves the staging folders alone, so this is no reason to refuse the work.
            let _ = note(&folder, opened_at);
        }
        let path = Some(state.join(STAGING).join(&self.workspace));
        let reaches = reaches(&folder, &self.root)?;
        Ok(Some(StagingHome { folder: Arc::new(folder), path, reaches }))
    }
}

impl StagingHome {
    /// Whether the folder that was found is still the one at its path, and private.
    fn is_where_it_was(&self) -> bool {
        let Some(path) = &self.path else { return true };
        let (Ok(there), Ok(open)) = (calls::look_through(path), calls::look_at(&*self.folder)) else {
            return false;
        };
        (there.device, there.inode) == (open.device, open.inode) && is_private_folder(&there)
    }

    /// The names of the staging folders, sorted.
    pub(in crate::os) fn names(&self) -> io::Result<Vec<String>> {
        names_in(&self.folder, |name| {
            let is_ours = is_staging_name(name);
            Ok(str::from_utf8(name).ok().filter(|_| is_ours).map(str::to_owned))
        })
    }

    /// The name of a staging folder as people are told it.
    pub(in crate::os) fn told(&self, name: &str) -> String {
        match &self.path {
            Some(path) => path.join(name).display().to_string(),
            None => name.to_owned(),
        }
    }
}

/// Whether a folder belongs to this user, and nobody else can read or write it.
pub(in crate::os) fn is_private(folder: &Dir) -> io::Result<bool> {
    Ok(is_private_folder(&calls::look_at(folder)?))
}

fn is_private_folder(found: &Stat) -> bool {
    found.kind == EntryKind::Directory && found.owner.0 == system::user() && found.mode & 0o777 == 0o700
}

/// The host's state folder as a path of the workspace, if it is inside. It need not exist yet.
pub(in crate::os) fn within(root: &Path, state: &Path) -> Option<WorkspacePath> {
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
    system::workspace_path(inside).filter(|path| !path.is_root())
}

pub(in crate::os) fn is_no_folder(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || Errno::from_io_error(error) == Some(Errno::LOOP)
}

/// Makes the host's folder and the folders above it, where they are missing.
fn make_state(path: &Path) -> io::Result<()> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name().and_then(OsStr::to_str)) else {
        return Dir::create_ambient_dir_all(path, ambient_authority());
    };
    if path.is_dir() {
        return Ok(());
    }
    let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
    Dir::create_ambient_dir_all(above, ambient_authority())?;
    let above = Dir::open_ambient_dir(above, ambient_authority())?;
    Ok(calls::make_folder_if_missing(place(&above, name), 0o777)?)
}

fn make_private(folder: &Dir, name: &str) -> io::Result<()> {
    Ok(calls::make_folder_if_missing(place(folder, name), 0o700)?)
}

/// Inode and, if the system has it, time of birth, because no later folder has both.
#[cfg(target_os = "linux")]
pub(in crate::os) fn identity(root: &Dir) -> io::Result<String> {
    use rustix::fs::{AtFlags, StatxFlags, statx};
    let wanted = StatxFlags::INO | StatxFlags::BTIME;
    let born = match statx(root, "", AtFlags::EMPTY_PATH, wanted) {
        Ok(found) => (found.stx_btime.tv_sec, found.stx_btime.tv_nsec),
        Err(Errno::NOSYS) => (0, 0),
        Err(error) => return Err(error.into()),
    };
    Ok(format!("{:x}-{:x}-{:x}", calls::look_at(root)?.inode, born.0, born.1))
}

#[cfg(not(target_os = "linux"))]
pub(in crate::os) fn identity(root: &Dir) -> io::Result<String> {
    Ok(format!("{:x}", calls::look_at(root)?.inode))
}

/// Whether the kernel renames from one folder to the other, which it does only within one mount of one file system.
#[cfg(target_os = "linux")]
fn reaches(from: &Dir, to: &Dir) -> io::Result<bool> {
    use rustix::fs::{AtFlags, StatxFlags, statx};
    if calls::look_at(from)?.device != calls::look_at(to)?.device {
        return Ok(false);
    }
    let mount = |folder| statx(folder, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID);
    match (mount(from), mount(to)) {
        (Ok(from), Ok(to)) => Ok(from.stx_mnt_id == to.stx_mnt_id),
        // The kernel is too old to tell.
        _ => Ok(false),
    }
}

/// Never on Windows: there a file that is moved keeps the access list of the folder in which it was made, and the
/// project's is the right one.
#[cfg(windows)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere the system is asked")]
fn reaches(_from: &Dir, _to: &Dir) -> io::Result<bool> {
    Ok(false)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn reaches(from: &Dir, to: &Dir) -> io::Result<bool> {
    Ok(calls::look_at(from)?.device == calls::look_at(to)?.device)
}

/// Whether a name is that of a staging folder. Such names are in no listing and cannot be staged. Letters count without
/// their case, because some file systems open the folder by either.
pub(in crate::os) fn is_staging_name(name: &[u8]) -> bool {
    name.split_at_checked(PREFIX.len()).is_some_and(|(prefix, rest)| {
        prefix.eq_ignore_ascii_case(PREFIX.as_bytes())
            && rest.len() == 32
            && rest.iter().all(u8::is_ascii_hexdigit)
    })
}

/// Notes for which workspace a folder is.
pub(in crate::os) fn note(home: &Dir, workspace: &Path) -> io::Result<()> {
    let path = system::path_to_bytes(workspace);
    if home.read(NOTE).is_ok_and(|noted| noted == path) {
        return Ok(());
    }
    calls::remove_file_if_there(place(home, NOTE_DRAFT))?;
    let draft = calls::create(place(home, NOTE_DRAFT), 0o600, path)?;
    // After a loss of power, half a path would be that of a workspace that does not exist.
    calls::sync(&draft, OsStr::new(NOTE_DRAFT))?;
    Ok(calls::rename_over(home, NOTE_DRAFT, NOTE)?)
}
