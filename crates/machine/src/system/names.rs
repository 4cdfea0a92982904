//! Names of files: bytes below a workspace, and what the system takes.

use std::io;
use std::path::{Path, PathBuf};

use headstart_overlay_fs::WorkspacePath;

/// The path of what is below a folder; an error for a path that the system would take for something else.
pub fn path_in(root: &Path, path: &WorkspacePath) -> io::Result<PathBuf> {
    Ok(if path.is_root() { root.to_owned() } else { root.join(path_of_bytes(path.as_bytes())?) })
}

/// A path of bytes, as a program of the same system wrote them.
#[cfg(unix)]
pub fn path_of_bytes(bytes: &[u8]) -> io::Result<PathBuf> {
    Ok(PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes)))
}

/// A path of bytes, as a program of the same system wrote them.
#[cfg(windows)]
pub fn path_of_bytes(bytes: &[u8]) -> io::Result<PathBuf> {
    // A colon names a stream of a file, or another drive.
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains(['\\', ':']));
    text.map(PathBuf::from).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it is no name here"))
}

/// Whether a folder is in a workspace by its path, and on Windows, where one folder has many spellings, in truth.
pub fn is_inside(folder: &Path, workspace: &Path) -> bool {
    let is_in_truth = || {
        let real = |path: &Path| path.canonicalize().ok();
        real(folder).zip(real(workspace)).is_some_and(|(folder, workspace)| folder.starts_with(workspace))
    };
    folder.starts_with(workspace) || cfg!(windows) && is_in_truth()
}

/// A relative path as one below a workspace; `None` if it leads out of it.
pub fn workspace_path(relative: &Path) -> Option<WorkspacePath> {
    if relative.as_os_str().is_empty() {
        return Some(WorkspacePath::root());
    }
    #[cfg(unix)]
    return WorkspacePath::from_bytes(relative.as_os_str().as_encoded_bytes()).ok();
    #[cfg(windows)]
    return WorkspacePath::parse(&relative.to_str()?.replace('\\', "/")).ok();
}
