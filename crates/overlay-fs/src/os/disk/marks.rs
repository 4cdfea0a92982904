//! What overlayfs notes in the layer to which it writes.

#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd as _;
#[cfg(target_os = "linux")]
use std::os::unix::ffi::OsStrExt as _;

use super::calls::Location;

/// What stands before the name of each of its attributes.
#[cfg(target_os = "linux")]
const PREFIX: &[u8] = b"user.overlay.";

/// Whether it says that what the layer below has there was removed.
#[cfg(target_os = "linux")]
pub(in crate::os) fn is_removal(at: Location<'_>) -> bool {
    let found = rustix::fs::statat(at.folder, at.name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
    found.is_ok_and(|found| {
        rustix::fs::FileType::from_raw_mode(found.st_mode) == rustix::fs::FileType::CharacterDevice
            && found.st_rdev == 0
    })
}

/// Whether a folder hides the one in the layer below.
#[cfg(target_os = "linux")]
pub(in crate::os) fn hides_below(at: Location<'_>) -> bool {
    let mut value = [0_u8; 4];
    let len = rustix::fs::lgetxattr(path_of(at), "user.overlay.opaque", &mut value[..]);
    len.is_ok_and(|len| &value[..len] == b"y")
}

/// Removes its attributes from something that leaves the layer.
#[cfg(target_os = "linux")]
pub(in crate::os) fn remove(at: Location<'_>) {
    let path = path_of(at);
    let mut names = [0_u8; 4096];
    // Without attributes there is nothing to remove, and with too many to list they are not overlayfs's alone.
    let Ok(len) = rustix::fs::llistxattr(&path, &mut names[..]) else { return };
    for name in names[..len].split(|byte| *byte == 0).filter(|name| name.starts_with(PREFIX)) {
        let _ = rustix::fs::lremovexattr(&path, name);
    }
}

/// A path for calls that take no folder: what is at its end may have bits with which nobody can open it.
#[cfg(target_os = "linux")]
fn path_of(at: Location<'_>) -> Vec<u8> {
    let folder = format!("/proc/self/fd/{}/", rustix::fd::AsFd::as_fd(at.folder).as_raw_fd());
    [folder.as_bytes(), at.name.as_bytes()].concat()
}

#[cfg(not(target_os = "linux"))]
pub(in crate::os) fn is_removal(_at: Location<'_>) -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
pub(in crate::os) fn hides_below(_at: Location<'_>) -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
pub(in crate::os) fn remove(_at: Location<'_>) {}
