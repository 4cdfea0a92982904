use std::io;

use cap_std::fs::Dir;

use super::calls::{self, Stat};
use crate::{EntryKind, Fingerprint};

const SECOND: i64 = 1_000_000_000;
/// How long two changes may show the same time: a tick of the slowest kernel's clock.
const TICK: i64 = SECOND / 100;
/// The same for a file system that keeps no fractions of a second.
const COARSE_TICK: i64 = 2 * SECOND;

/// Tells how old a change was at a look, if the file system permits that.
#[derive(Debug)]
pub(in crate::os) struct Clock {
    /// The file system whose change times come from this system's clock, if the workspace is on one.
    device: Option<u64>,
}

impl Clock {
    pub(in crate::os) fn of(root: &Dir) -> io::Result<Self> {
        let device = calls::look_at(root)?.device;
        Ok(Self { device: is_from_our_clock(root)?.then_some(device) })
    }

    /// Whether every change of what was `found` shows that is made after `moment`; the clock was read at that moment,
    /// and the look came after it.
    pub(in crate::os) fn shows_changes_since(&self, moment: i64, found: &Stat) -> bool {
        let (seconds, part) = found.changed;
        let changed = seconds.saturating_mul(SECOND).saturating_add(part);
        self.device == Some(found.device) && is_old(changed, moment)
    }

    /// Notes whether what is there had changed just before the look, by a clock that was read before the look.
    pub(in crate::os) fn date(&self, seen: &mut Fingerprint, looked_at: i64) {
        let is_content = matches!(seen.kind, EntryKind::File | EntryKind::Symlink);
        seen.racy = is_content && !(self.device == Some(seen.device) && is_old(seen.changed_ns, looked_at));
    }
}

/// Whether every change from `moment` on shows a later time than this.
fn is_old(changed: i64, moment: i64) -> bool {
    let tick = if changed % SECOND == 0 { COARSE_TICK } else { TICK };
    changed.saturating_add(tick) <= moment
}

/// Whether this kernel writes the change times. Not so over a network, where another machine's clock counts, and not
/// if the file system has no such time (FAT) or a program answers for it (FUSE).
#[cfg(any(target_os = "linux", target_os = "android"))]
fn is_from_our_clock(root: &Dir) -> io::Result<bool> {
    const KNOWN: [u64; 11] = [
        0xef53,      // ext2, ext3, ext4
        0x5846_5342, // XFS
        0x9123_683e, // Btrfs
        0x0102_1994, // tmpfs
        0x794c_7630, // overlayfs
        0xf2f5_2010, // F2FS
        0x2fc1_2fc1, // ZFS
        0xca45_1a4e, // bcachefs
        0x3153_464a, // JFS
        0x5265_4973, // ReiserFS
        0x8584_58f6, // ramfs
    ];
    let found = rustix::fs::fstatfs(root)?;
    Ok(u64::try_from(found.f_type).is_ok_and(|kind| KNOWN.contains(&kind)))
}

/// Windows tells no time that no program can set.
#[cfg(windows)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere the system is asked")]
fn is_from_our_clock(_root: &Dir) -> io::Result<bool> {
    Ok(false)
}

#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere the system is asked")]
fn is_from_our_clock(_root: &Dir) -> io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(kind: EntryKind, device: u64, changed_ns: i64) -> Fingerprint {
        Fingerprint { kind, device, changed_ns, ..Fingerprint::directory() }
    }

    /// A file that changed within a tick of the clock before it was looked at is racy: another change could have the
    /// same time.
    #[test]
    fn what_changed_within_a_tick_of_the_look_is_young() {
        let now = 1_700_000_000 * SECOND + 123_456_789;
        let whole = 1_700_000_000 * SECOND;
        let (file, folder, link) = (EntryKind::File, EntryKind::Directory, EntryKind::Symlink);
        let here = Clock { device: Some(7) };
        let nowhere = Clock { device: None };
        for (clock, seen, racy) in [
            (&here, seen(file, 7, now), true),
            (&here, seen(file, 7, now - TICK + 1), true),
            (&here, seen(file, 7, now - TICK), false),
            (&here, seen(link, 7, now - TICK + 1), true),
            (&here, seen(folder, 7, now), false),
            (&here, seen(file, 7, now + SECOND), true),
            (&here, seen(file, 7, whole), true),
            (&here, seen(file, 7, whole - SECOND), true),
            (&here, seen(file, 7, whole - 2 * SECOND), false),
            (&here, seen(file, 8, 1), true),
            (&nowhere, seen(file, 7, 1), true),
            (&nowhere, seen(folder, 7, now), false),
        ] {
            let mut dated = seen.clone();
            clock.date(&mut dated, now);
            assert_eq!(dated.racy, racy, "{clock:?} {seen:?}");
        }
    }
}
