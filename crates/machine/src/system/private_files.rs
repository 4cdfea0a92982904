//! Files and folders of this user alone. On Unix their mode says so; on Windows the access list of the user's profile,
//! below which they have to be.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

/// Something that is created for this user alone.
pub trait PrivateFile {
    fn private(&mut self) -> &mut Self;
}

impl PrivateFile for OpenOptions {
    fn private(&mut self) -> &mut Self {
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(self, 0o600);
        self
    }
}

impl PrivateFile for DirBuilder {
    fn private(&mut self) -> &mut Self {
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(self, 0o700);
        self
    }
}

/// Why another user may have written in a folder; `None` if none can have.
#[cfg(unix)]
pub fn owner_trouble(_folder: &Path, found: &Metadata) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt as _;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Some("belongs to another user; name another state folder with --state-dir");
    }
    (found.mode() & 0o022 != 0).then_some("can be written by others; run `chmod 700` on it")
}

/// Why another user may have written in a folder; `None` if none can have.
#[cfg(windows)]
pub fn owner_trouble(folder: &Path, _found: &Metadata) -> Option<&'static str> {
    let is_below = |home: &Path| {
        let real = |path: &Path| path.canonicalize().ok();
        real(folder).zip(real(home)).is_some_and(|(folder, home)| folder.starts_with(home))
    };
    let homes = [std::env::home_dir(), std::env::var_os("LOCALAPPDATA").map(Into::into)];
    (!homes.into_iter().flatten().any(|home| is_below(&home))).then_some(
        "is not in your user folder, and others could write to it; name another state folder with --state-dir",
    )
}

/// Whether files can be created in a folder.
#[cfg(unix)]
pub fn can_write(folder: &Path) -> io::Result<()> {
    use rustix::fs::{Access, access};
    Ok(access(folder, Access::WRITE_OK | Access::EXEC_OK)?)
}

/// Whether files can be created in a folder. Only creating one shows that.
#[cfg(windows)]
pub fn can_write(folder: &Path) -> io::Result<()> {
    tempfile::tempfile_in(folder).map(drop)
}

/// Writes the names in a folder to the medium.
#[cfg(unix)]
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Nothing: the system keeps a journal of the names in folders, and no program can write it.
#[cfg(windows)]
#[expect(clippy::unnecessary_wraps, reason = "on Unix the folder may refuse")]
pub fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Opens a regular file for reading; `None` if it is something else. A link is an error, and nothing is waited for.
pub fn open_plain(path: &Path) -> io::Result<Option<File>> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    #[cfg(windows)]
    {
        /// The system's constant by which a link is opened itself.
        const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
        std::os::windows::fs::OpenOptionsExt::custom_flags(&mut options, FILE_FLAG_OPEN_REPARSE_POINT);
    }
    let file = options.open(path)?;
    Ok(file.metadata()?.is_file().then_some(file))
}

/// The content of a regular file of at most this many bytes. Anything else in its place is an error, whatever a
/// project may have put there: a link, a pipe, a device, a file without an end.
pub fn read_plain(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let file = open_plain(path)?.ok_or_else(|| io::Error::other("is not a regular file"))?;
    let mut bytes = Vec::new();
    file.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if most_bytes < bytes.len() as u64 {
        return Err(io::Error::other(format!("is larger than {most_bytes} bytes")));
    }
    Ok(bytes)
}

/// Lets a file be run as a program, by this user alone.
pub fn make_executable(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o700));
    // The ending of its name says what runs.
    #[cfg(windows)]
    path.metadata().map(drop)
}

/// Temporary files with the permissions of the mode, as far as the umask allows. On Windows the folder decides.
pub fn with_permissions<'a>(mut builder: tempfile::Builder<'a, 'a>, mode: u32) -> tempfile::Builder<'a, 'a> {
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(windows)]
    let _ = (&mut builder, mode);
    builder
}
