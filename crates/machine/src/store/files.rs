use std::fs::{self, DirBuilder, File};
use std::io::Write;
use std::path::Path;

use crate::error::CliError;
use crate::system::{self, PrivateFile as _};

/// Only headstart's own files are ignored, because a user may have named a folder that also holds other things.
const IGNORED: &[u8] = b"/.gitignore
/copies/
/git/
/hooks/
/index/
/ledgers/
/logins/
/project-models/
/remote/
/rules/
/sessions/
/tool-servers/
/shadow/
/speculations/
/staging/
/user/
/watchers/
";

/// Creates a folder in the state folder, and the folders above it, for this user alone. A folder to which others can
/// write is refused.
pub fn create_private_folder(path: &Path) -> Result<(), CliError> {
    make_private(path)?;
    if let Some(state) = path.parent() {
        // The state folder may be in a repository, for example if somebody's home folder is one. If the file cannot be
        // written, git only shows the files of the state folder.
        let _ = File::create_new(state.join(".gitignore")).and_then(|mut file| file.write_all(IGNORED));
    }
    Ok(())
}

fn make_private(path: &Path) -> Result<(), CliError> {
    private().recursive(true).create(path).map_err(CliError::state(path))?;
    check_is_ours(path)
}

/// Why this user cannot store files in the state folder or one in it; `None` if they can.
pub fn trouble_with(folder: &Path) -> Option<CliError> {
    if let Err(error) = make_private(folder) {
        return Some(error);
    }
    tempfile::tempfile_in(folder).err().map(CliError::state(folder))
}

/// Refuses a folder in which another user may have written.
pub(super) fn check_is_ours(path: &Path) -> Result<(), CliError> {
    let metadata = fs::symlink_metadata(path).map_err(CliError::io("read", path))?;
    let refused =
        |problem: &str| Err(CliError::UnsafeStateDir { path: path.to_owned(), problem: problem.to_owned() });
    if !metadata.is_dir() {
        return refused("is not a directory; name another state folder with --state-dir");
    }
    system::owner_trouble(path, &metadata).map_or(Ok(()), refused)
}

/// Creates one folder for this user alone. It must not exist yet.
pub(super) fn create_folder(path: &Path) -> Result<(), CliError> {
    private().create(path).map_err(CliError::io("create", path))
}

/// Replaces the file with `bytes`, completely or not at all. They are on the medium when this returns.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let folder = path.parent().expect("works because every file of the store is in a folder");
    let failed = |error| CliError::io("write", path)(error);
    let mut temporary = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    temporary.write_all(bytes).map_err(failed)?;
    temporary.as_file().sync_all().map_err(failed)?;
    temporary.persist(path).map_err(|error| failed(error.error))?;
    sync_folder(folder)
}

/// Writes the names in a folder to the medium.
pub(super) fn sync_folder(folder: &Path) -> Result<(), CliError> {
    system::sync_folder(folder).map_err(CliError::io("write", folder))
}

fn private() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.private();
    builder
}
