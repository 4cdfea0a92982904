//! File systems that are made for one view: a tmpfs for everything that is written, and overlays with their upper
//! layers in it.

use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, XattrFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string,
    fsmount, fsopen,
};

use crate::Refusal;
use crate::os::{again, refused};

/// An attribute in overlayfs's namespace that has no meaning to it.
const MARK: &str = "user.overlay.tried";

/// A new file system with these options, not mounted yet. An option without a value is a flag.
pub(super) fn mounted(
    kind: &str,
    options: &[(&str, Option<&str>)],
    attributes: MountAttrFlags,
) -> Result<OwnedFd, Refusal> {
    let made = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC).map_err(|error| refused("fsopen", kind, error))?;
    for (name, value) in options {
        match value {
            Some(value) => fsconfig_set_string(made.as_fd(), *name, *value),
            None => fsconfig_set_flag(made.as_fd(), *name),
        }
        .map_err(|error| refused("fsconfig", format!("{kind}, option {name}"), error))?;
    }
    fsconfig_create(made.as_fd()).map_err(|error| refused("fsconfig", format!("{kind}, create"), error))?;
    fsmount(made.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)
        .map_err(|error| refused("fsmount", kind, error))
}

/// An overlay of these layers, the topmost first. What is written goes to `upper`, with `work` beside it.
pub(super) fn overlay(
    layers: &[OwnedFd],
    place: impl AsFd,
    upper: &str,
    work: &str,
) -> Result<OwnedFd, Refusal> {
    for folder in [upper, work] {
        make_folder(place.as_fd(), Path::new(folder))?;
    }
    keeps_marks(place.as_fd(), upper)?;
    // Named by descriptors, so that neither a `:` in a path nor a folder that was moved meanwhile makes another layer
    // of it.
    let path = |fd: &dyn AsFd| format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd());
    let lower: Vec<String> = layers.iter().map(|layer| path(layer)).collect();
    let base = path(&place);
    let (upper, work) = (format!("{base}/{upper}"), format!("{base}/{work}"));
    let options = [
        ("lowerdir", Some(lower.join(":"))),
        ("upperdir", Some(upper)),
        ("workdir", Some(work)),
        ("userxattr", None),
        ("volatile", None),
    ];
    let options: Vec<_> = options.iter().map(|(name, value)| (*name, value.as_deref())).collect();
    mounted("overlay", &options, MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV)
}

/// Checks that attributes can be set. Overlayfs also mounts without them, and then cannot mark a folder that hides
/// the one below.
fn keeps_marks(place: impl AsFd, upper: &str) -> Result<(), Refusal> {
    let about = "overlay, an attribute of a user's in the file system for what is written";
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(place, upper, folder, Mode::empty())
        .and_then(|folder| {
            rustix::fs::fsetxattr(&folder, MARK, b"y", XattrFlags::empty())?;
            rustix::fs::fremovexattr(&folder, MARK)
        })
        .map_err(|error| refused("fsetxattr", about, error))
}

/// Makes a folder and those above it, relative to a handle, unless they exist.
pub(super) fn make_folder(at: impl AsFd, path: &Path) -> Result<(), Refusal> {
    let mode = Mode::from_raw_mode(0o755);
    let mut above = std::path::PathBuf::new();
    for name in path {
        above.push(name);
        match rustix::fs::mkdirat(at.as_fd(), &above, mode) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(refused("mkdirat", above.as_os_str().as_encoded_bytes(), error)),
        }
    }
    Ok(())
}

/// A handle to a folder in another one, to use it as a layer; `None` if it does not exist or a link is on the way.
pub(super) fn folder_in(at: impl AsFd, path: &Path) -> Result<Option<OwnedFd>, Refusal> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match again(|| rustix::fs::openat2(at.as_fd(), path, flags, Mode::empty(), resolve)) {
        Ok(folder) => Ok(Some(folder)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(refused("openat2", path.as_os_str().as_encoded_bytes(), error)),
    }
}

/// A handle to a folder, to use it as a layer.
pub(super) fn folder(path: &Path) -> Result<OwnedFd, Refusal> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    again(|| rustix::fs::open(path, flags, Mode::empty()))
        .map_err(|error| refused("open", path.as_os_str().as_encoded_bytes(), error))
}
