//! What a folder gives to whatever is made in it. New files are made elsewhere and renamed to their place, so the
//! kernel does not do this.

use std::ffi::OsStr;

use cap_std::fs::Dir;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Gid, chownat, fchown};
use rustix::io::Result;

use crate::EntryKind;
use crate::os::disk::calls::{self, Location, Stat};

const SET_GROUP: u32 = 0o2000;

/// What a folder gives to new files and folders.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(in crate::os) struct Inherited {
    /// The folder's group, which replaces that of the process.
    group: Option<u32>,
    /// The access list for new files and folders, in the system's format.
    list: Option<Vec<u8>>,
}

impl Inherited {
    pub(in crate::os) fn from(folder: &Dir) -> Result<Self> {
        let found = calls::look_at(folder)?;
        let gives_group =
            found.mode & SET_GROUP != 0 || cfg!(not(any(target_os = "linux", target_os = "android")));
        Ok(Self { group: gives_group.then_some(found.owner.1), list: list::of_new(folder) })
    }

    /// Whether a new folder has all that this folder gives already.
    pub(in crate::os) fn is_plain(&self, new: &Stat) -> bool {
        self.group.is_none() && self.list.is_none() && new.owner.1 == rustix::process::getegid().as_raw()
    }

    /// Whether a new file has all that this folder gives already.
    pub(in crate::os) fn gives_nothing_to(&self, new: &Stat) -> bool {
        let group = self.group.unwrap_or_else(|| rustix::process::getegid().as_raw());
        self.list.is_none() && new.owner.1 == group
    }

    /// Gives a new file or folder what it would have if the process had made it in this folder; `wanted` are its bits
    /// before a umask. Returns whether anything was changed.
    pub(in crate::os) fn give(&self, new: &OwnedFd, found: &Stat, wanted: u32) -> Result<bool> {
        let mut is_touched = self.give_group(found, |group| {
            // A user who is no member of the group cannot set it, so the file keeps their own.
            let _ = fchown(new, None, Some(group));
        });
        if found.kind == EntryKind::Directory && self.group.is_some() && found.mode & SET_GROUP == 0 {
            calls::set_mode(new, found.mode | SET_GROUP)?;
            is_touched = true;
        }
        if let Some(list) = &self.list {
            list::give(new, list, found.kind, wanted)?;
            is_touched = true;
        }
        Ok(is_touched)
    }

    /// As [`give`](Self::give) for a link, which has no bits of its own.
    pub(in crate::os) fn give_link(&self, at: Location<'_>, found: &Stat) -> bool {
        self.give_group(found, |group| {
            let _ = chownat(at.folder, at.name, None, Some(group), AtFlags::SYMLINK_NOFOLLOW);
        })
    }

    fn give_group(&self, found: &Stat, give: impl FnOnce(Gid)) -> bool {
        let group = self.group.map_or_else(rustix::process::getegid, Gid::from_raw);
        let is_another = found.owner.1 != group.as_raw();
        if is_another {
            give(group);
        }
        is_another
    }
}

/// Removes a folder's default access list and its set-group-ID bit, so that only the umask decides about what is made in it.
pub(in crate::os) fn make_plain(folder: &Dir) -> Result<()> {
    let open = calls::open(Location { folder, name: OsStr::new(".") })?;
    let found = calls::look_at(&open)?;
    list::remove_of_new(&open);
    if found.mode & SET_GROUP != 0 {
        calls::set_mode(&open, 0o700)?;
    }
    Ok(())
}

/// POSIX access lists, as Linux keeps them in an extended attribute.
#[cfg(any(target_os = "linux", target_os = "android"))]
mod list {
    use std::ffi::OsStr;

    use cap_std::fs::Dir;
    use rustix::fd::OwnedFd;
    use rustix::fs::{XattrFlags, fgetxattr, fremovexattr, fsetxattr};
    use rustix::io::Result;

    use crate::EntryKind;
    use crate::os::disk::calls::{self, Location};

    const OF_NEW: &str = "system.posix_acl_default";
    const ACCESS: &str = "system.posix_acl_access";

    /// The list starts with a version number, followed by entries: a tag, the permissions, and a user or group.
    const HEADER: usize = 4;
    const ENTRY: usize = 8;

    const USER_OWNER: u16 = 0x01;
    const GROUP_OWNER: u16 = 0x04;
    const MASK: u16 = 0x10;
    const OTHERS: u16 = 0x20;

    pub(in crate::os) fn of_new(folder: &Dir) -> Option<Vec<u8>> {
        let folder = calls::open(Location { folder, name: OsStr::new(".") }).ok()?;
        let mut list = vec![0; 256];
        let len = match fgetxattr(&folder, OF_NEW, &mut list[..]) {
            Err(rustix::io::Errno::RANGE) => {
                list.resize(64 * 1024, 0);
                fgetxattr(&folder, OF_NEW, &mut list[..])
            }
            got => got,
        };
        list.truncate(len.ok().filter(|len| *len != 0)?);
        Some(list)
    }

    pub(in crate::os) fn remove_of_new(folder: &OwnedFd) {
        // The folder has none, or its file system does not support them.
        let _ = fremovexattr(folder, OF_NEW);
    }

    pub(in crate::os) fn give(new: &OwnedFd, list: &[u8], kind: EntryKind, wanted: u32) -> Result<()> {
        let Some((access, bits)) = access(list, wanted) else { return Ok(()) };
        let set_group = calls::look_at(new)?.mode & super::SET_GROUP;
        calls::set_mode(new, set_group | bits)?;
        if list.len() != HEADER + 3 * ENTRY {
            fsetxattr(new, ACCESS, &access, XattrFlags::empty())?;
        }
        if kind == EntryKind::Directory {
            fsetxattr(new, OF_NEW, list, XattrFlags::empty())?;
        }
        Ok(())
    }

    /// The access list of a new file that is made with these bits, and the bits that it then shows: no more than
    /// either permits.
    fn access(list: &[u8], wanted: u32) -> Option<(Vec<u8>, u32)> {
        let mut access = list.to_vec();
        let entries = access.get_mut(HEADER..)?;
        let tag_of = |entry: &[u8]| u16::from_le_bytes([entry[0], entry[1]]);
        if entries.is_empty() || entries.len() % ENTRY != 0 {
            return None;
        }
        let has_mask = entries.chunks_exact(ENTRY).any(|entry| tag_of(entry) == MASK);
        let mut bits = 0;
        for entry in entries.chunks_exact_mut(ENTRY) {
            let shift = match tag_of(entry) {
                USER_OWNER => 6,
                // If there is a mask, the bits of the group are those of the mask.
                GROUP_OWNER if !has_mask => 3,
                MASK => 3,
                OTHERS => 0,
                _ => continue,
            };
            let permits = u16::from_le_bytes([entry[2], entry[3]]);
            let permits = permits & u16::try_from(wanted >> shift & 0o7).unwrap_or(0);
            entry[2..4].copy_from_slice(&permits.to_le_bytes());
            bits |= u32::from(permits) << shift;
        }
        Some((access, bits))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
            let mut list = 2_u32.to_le_bytes().to_vec();
            for (tag, permits, who) in entries {
                list.extend(tag.to_le_bytes());
                list.extend(permits.to_le_bytes());
                list.extend(who.to_le_bytes());
            }
            list
        }

        /// The access list that a new file gets from its folder is reduced to the permission bits that the file is
        /// meant to have.
        #[test]
        fn a_new_file_has_no_more_than_was_wanted_and_the_list_allows() {
            let short = list(&[(USER_OWNER, 7, 0), (GROUP_OWNER, 5, 0), (OTHERS, 0, 0)]);
            let expected = list(&[(USER_OWNER, 6, 0), (GROUP_OWNER, 4, 0), (OTHERS, 0, 0)]);
            assert_eq!(access(&short, 0o666), Some((expected, 0o640)));
            let named =
                [(USER_OWNER, 7, 0), (2, 7, 1_001), (GROUP_OWNER, 7, 0), (MASK, 7, 0), (OTHERS, 5, 0)];
            let expected =
                [(USER_OWNER, 6, 0), (2, 7, 1_001), (GROUP_OWNER, 7, 0), (MASK, 6, 0), (OTHERS, 4, 0)];
            assert_eq!(access(&list(&named), 0o666), Some((list(&expected), 0o664)));
            assert_eq!(access(&list(&named), 0o777), Some((list(&named), 0o775)));
        }

        #[test]
        fn what_is_no_list_is_left() {
            for damaged in [&b""[..], b"\x02\0\0", b"\x02\0\0\0", b"\x02\0\0\0\x01\0\x07"] {
                assert_eq!(access(damaged, 0o666), None, "{damaged:?}");
            }
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod list {
    use cap_std::fs::Dir;
    use rustix::fd::OwnedFd;
    use rustix::io::Result;

    use crate::EntryKind;

    pub(in crate::os) fn of_new(_folder: &Dir) -> Option<Vec<u8>> {
        None
    }

    pub(in crate::os) fn remove_of_new(_folder: &OwnedFd) {}

    #[expect(clippy::unnecessary_wraps, reason = "elsewhere the system may refuse")]
    pub(in crate::os) fn give(_new: &OwnedFd, _list: &[u8], _kind: EntryKind, _wanted: u32) -> Result<()> {
        Ok(())
    }
}
