//! What is mounted, and with which flags, from `/proc/self/mountinfo`.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mount::MountFlags;

use super::again;

/// One mount: its path, and the flags that a remount has to keep.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) at: PathBuf,
    pub(super) flags: MountFlags,
}

/// The mounts of this process's namespace, and whether they changed since.
#[derive(Debug)]
pub(super) struct Mounts {
    all: Vec<Mount>,
    /// Without the file it is not known whether something changes.
    file: Option<File>,
}

impl Mounts {
    pub(super) fn read() -> Self {
        let mut text = Vec::new();
        let opened = File::open("/proc/self/mountinfo");
        let file = opened.and_then(|mut file| file.read_to_end(&mut text).map(|_| file)).ok();
        Self { all: mounts(&text), file }
    }

    pub(super) fn all(&self) -> &[Mount] {
        &self.all
    }

    /// Whether something was mounted, moved or unmounted since they were read.
    pub(super) fn have_changed(&self) -> bool {
        let Some(file) = &self.file else { return true };
        let mut changed = [PollFd::new(file, PollFlags::PRI)];
        // The kernel reports a change once for each open file.
        again(|| poll(&mut changed, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))) != Ok(0)
    }
}

/// All mounts in the text, except lines that are not understood.
pub(super) fn mounts(text: &[u8]) -> Vec<Mount> {
    text.split(|byte| *byte == b'\n').filter_map(mount).collect()
}

/// The mounts below a folder, without the folder itself.
pub(super) fn below<'a>(mounts: &'a [Mount], folder: &'a Path) -> impl Iterator<Item = &'a Path> {
    let places = mounts.iter().map(|mount| mount.at.as_path());
    places.filter(move |at| at.starts_with(folder) && *at != folder)
}

fn mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let at = fields.nth(4)?;
    let mut flags = MountFlags::empty();
    for option in fields.next()?.split(|byte| *byte == b',') {
        flags |= match option {
            b"ro" => MountFlags::RDONLY,
            b"nosuid" => MountFlags::NOSUID,
            b"nodev" => MountFlags::NODEV,
            b"noexec" => MountFlags::NOEXEC,
            b"noatime" => MountFlags::NOATIME,
            b"nodiratime" => MountFlags::NODIRATIME,
            b"relatime" => MountFlags::RELATIME,
            b"nosymfollow" => MountFlags::NOSYMFOLLOW,
            _ => MountFlags::empty(),
        };
    }
    Some(Mount { at: PathBuf::from(OsString::from_vec(unescaped(at))), flags })
}

/// Blanks, tabs, line ends and backslashes are written as three octal digits.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| byte == b'\\');
        let value = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        plain.push(value.unwrap_or(byte));
        rest = if value.is_some() { &after[3..] } else { after };
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let text =
            b"36 35 98:0 /mnt1 /a\\040b\\134\\012c rw,nosuid,noexec,relatime master:1 - ext3 /dev/root rw\n\
            37 35 98:0 / / ro,nodev - tmpfs tmpfs rw\nbroken\n\n";
        let expected = [
            Mount {
                at: "/a b\\\nc".into(),
                flags: MountFlags::NOSUID | MountFlags::NOEXEC | MountFlags::RELATIME,
            },
            Mount { at: "/".into(), flags: MountFlags::RDONLY | MountFlags::NODEV },
        ];
        assert_eq!(mounts(text), expected);
    }
}
