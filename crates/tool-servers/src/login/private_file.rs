//! Files that only this user can read. On Unix their mode says so; on Windows it is the access list of the user's
//! profile, in which they are.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

/// The most bytes of a file.
const MAX_FILE: u64 = 1024 * 1024;

/// Opens a file for a lock, and makes it first if there is none.
pub(super) fn open_lock(path: &Path) -> io::Result<File> {
    new_private_file().create(true).truncate(false).write(true).open(path)
}

/// The text of a file; `None` if it does not exist. A link counts as no private file.
pub(super) fn read(path: &Path) -> Result<Option<String>, String> {
    let file = match without_links().read(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() || !is_private(&metadata) {
        return Err("it is not this user's alone (0600); log out, and in once more".to_owned());
    }
    let mut text = String::new();
    file.take(MAX_FILE).read_to_string(&mut text).map_err(|error| error.to_string())?;
    Ok(Some(text))
}

/// Replaces a file as a whole. Nobody else can read it at any time.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(folder)
}

#[cfg(unix)]
fn new_private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(unix)]
fn without_links() -> OpenOptions {
    let mut options = OpenOptions::new();
    let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags);
    options
}

#[cfg(unix)]
fn is_private(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let others_can_read = metadata.mode() & 0o077 != 0;
    !others_can_read && metadata.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(windows)]
fn new_private_file() -> OpenOptions {
    OpenOptions::new()
}

#[cfg(windows)]
fn without_links() -> OpenOptions {
    /// The system's constant by which a link is opened itself.
    const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
    let mut options = OpenOptions::new();
    std::os::windows::fs::OpenOptionsExt::custom_flags(&mut options, FILE_FLAG_OPEN_REPARSE_POINT);
    options
}

#[cfg(windows)]
fn is_private(_metadata: &Metadata) -> bool {
    true
}

/// The names in a folder are on the medium when the system has renamed the file, because NTFS keeps a journal of them.
#[cfg(windows)]
#[expect(clippy::unnecessary_wraps, reason = "on Unix the folder may refuse")]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
