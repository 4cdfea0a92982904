use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Gid, Uid, fchown, fgetxattr, flistxattr, fsetxattr};
use rustix::io::Errno;

use crate::os::disk::calls::{self, Location, Stat};

/// Gives a file the owner of another one; returns whether it has the group. Only the superuser, or a member of the
/// group, can do this. For everybody else the file becomes their own, as with every editor that saves by renaming.
pub(in crate::os) fn keep_owner(file: &OwnedFd, old: &Stat) -> bool {
    let (user, group) = (Uid::from_raw(old.owner.0), Gid::from_raw(old.owner.1));
    fchown(file, Some(user), Some(group)).or_else(|_| fchown(file, None, Some(group))).is_ok()
}

/// Attributes that describe the content, and are wrong for another one: capabilities of a program, and checksums that
/// the kernel verifies.
const OF_CONTENT: [&[u8]; 3] = [b"security.capability", b"security.ima", b"security.evm"];

/// Copies extended attributes, including access lists, as far as the system permits; returns whether there were any.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(in crate::os) fn keep_attributes(file: &OwnedFd, old: Location<'_>, is_same_content: bool) -> bool {
    let Ok(old) = calls::open(old) else { return false };
    copy_attributes(old, file, |name| is_same_content || !OF_CONTENT.contains(&name))
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(in crate::os) fn copy_attributes(
    from: impl AsFd,
    to: impl AsFd,
    is_wanted: impl Fn(&[u8]) -> bool,
) -> bool {
    let mut names = vec![0; 1024];
    let listed = match flistxattr(&from, &mut names[..]) {
        Err(Errno::RANGE) => {
            names.resize(64 * 1024, 0);
            flistxattr(&from, &mut names[..])
        }
        listed => listed,
    };
    let Ok(len) = listed else { return false };
    let mut value = Vec::new();
    let names = names[..len].split(|byte| *byte == 0);
    for name in names.filter(|name| !name.is_empty() && is_wanted(name)) {
        value.resize(64 * 1024, 0);
        if let Ok(len) = fgetxattr(&from, name, &mut value[..]) {
            // What only the superuser may set is left out, as when copying a file.
            let _ = fsetxattr(&to, name, &value[..len], rustix::fs::XattrFlags::empty());
        }
    }
    len != 0
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(in crate::os) fn copy_attributes(
    _from: impl AsFd,
    _to: impl AsFd,
    _is_wanted: impl Fn(&[u8]) -> bool,
) -> bool {
    false
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(in crate::os) fn keep_attributes(_file: &OwnedFd, _old: Location<'_>, _is_same_content: bool) -> bool {
    false
}
