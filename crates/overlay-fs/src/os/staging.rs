use std::ffi::OsString;
use std::io::{self, Write as _};

use cap_fs_ext::DirExt as _;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt as _, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use serde::{Deserialize, Serialize};

use super::sweep::Process;

const PREFIX: &str = ".headstart-staging-";
/// Who made the folder.
const OWNER: &str = "owner";
/// There while the workspace is being changed: the folder holds what was taken out of it.
const APPLYING: &str = "applying";
/// Instead of it when a rollback could not put everything back.
const KEPT: &str = "kept";
/// Keeps the folder out of `git status` without a change to the user's files.
const IGNORE: &str = ".gitignore";

/// Whether a name is that of a staging folder: such names are in no listing and cannot be staged.
pub(super) fn is_staging_name(name: &[u8]) -> bool {
    name.strip_prefix(PREFIX.as_bytes())
        .is_some_and(|rest| rest.len() == 32 && rest.iter().all(u8::is_ascii_hexdigit))
}

/// How far the commit got whose folder it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The workspace was not touched, or the commit is through: nothing in the folder is needed.
    Idle,
    /// The folder may hold the only copy of what was in the workspace.
    Applying,
    /// The folder holds what a rollback could not put back.
    Kept,
}

/// What `owner` says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Owner {
    pub(super) process: Process,
}

/// A private folder in the workspace, on its file system, in which new files wait and old ones are kept until the
/// commit is through.
#[derive(Debug)]
pub(super) struct Staging {
    root: Dir,
    pub(super) folder: Dir,
    pub(super) name: String,
}

impl Staging {
    pub(super) fn create(root: &Dir) -> io::Result<Self> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let name = format!("{PREFIX}{:032x}", u128::from_ne_bytes(random));
        let mut builder = DirBuilder::new();
        builder.mode(0o700);
        root.create_dir_with(&name, &builder)?;
        let folder = root.open_dir_nofollow(&name)?;
        let staging = Self { root: root.try_clone()?, folder, name };
        staging.prepare().inspect_err(|_| {
            // The first error is the one to tell; what is left is for a sweep.
            let _ = staging.remove();
        })?;
        Ok(staging)
    }

    fn prepare(&self) -> io::Result<()> {
        let owner = serde_json::to_vec(&Owner { process: Process::current() })?;
        self.create_file(OWNER, 0o600, &owner)?;
        self.create_file(IGNORE, 0o600, b"*\n")?;
        Ok(())
    }

    /// A staging folder that is there already: ours, private and a folder, or `None`.
    pub(super) fn open(root: &Dir, name: &str) -> io::Result<Option<Self>> {
        if !root.symlink_metadata(name)?.is_dir() {
            return Ok(None);
        }
        let folder = root.open_dir_nofollow(name)?;
        let found = folder.dir_metadata()?;
        let is_ours = found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o777 == 0o700;
        Ok(is_ours.then_some(Self { root: root.try_clone()?, folder, name: name.to_owned() }))
    }

    /// Writes a new file; its permission bits are `mode` without what the process's umask takes.
    pub(super) fn create_file(&self, name: &str, mode: u32, content: &[u8]) -> io::Result<cap_std::fs::File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(mode);
        let mut file = self.folder.open_with(name, &options)?;
        file.write_all(content)?;
        Ok(file)
    }

    pub(super) fn owner(&self) -> Option<Owner> {
        let is_file = self.folder.symlink_metadata(OWNER).ok()?.is_file();
        let content = is_file.then(|| self.folder.read(OWNER).ok())??;
        serde_json::from_slice(&content).ok()
    }

    pub(super) fn phase(&self) -> Phase {
        if self.folder.symlink_metadata(KEPT).is_ok() {
            Phase::Kept
        } else if self.folder.symlink_metadata(APPLYING).is_ok() {
            Phase::Applying
        } else {
            Phase::Idle
        }
    }

    /// From here on the folder may hold what its user cannot miss.
    pub(super) fn mark_applying(&self) -> io::Result<()> {
        self.create_file(APPLYING, 0o600, b"").map(drop)
    }

    /// The workspace is as it should be: nothing in the folder is needed any more.
    pub(super) fn mark_idle(&self) -> io::Result<()> {
        self.folder.remove_file(APPLYING)
    }

    pub(super) fn mark_kept(&self) -> io::Result<()> {
        self.folder.rename(APPLYING, &self.folder, KEPT)
    }

    /// Removes the folder and what a commit puts in it: files, links and empty folders. The owner's record goes
    /// last, so that what is left by a process that dies here is still known.
    pub(super) fn remove(&self) -> io::Result<()> {
        for name in self.names()?.into_iter().filter(|name| name != OWNER) {
            if self.folder.symlink_metadata(&name)?.is_dir() {
                self.folder.remove_dir(&name)?;
            } else {
                self.folder.remove_file(&name)?;
            }
        }
        match self.folder.remove_file(OWNER) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.root.remove_dir(&self.name)
    }

    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        self.folder.entries()?.map(|entry| Ok(entry?.file_name())).collect()
    }
}
