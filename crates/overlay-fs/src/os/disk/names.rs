use std::io;
#[cfg(target_os = "linux")]
use std::mem::MaybeUninit;

use cap_std::fs::Dir;
use rustix::fd::AsFd;
use rustix::fs::FileType;
#[cfg(target_os = "linux")]
use rustix::fs::RawDir;

use super::calls;

/// Large enough for the names of most folders to come with one system call.
#[cfg(target_os = "linux")]
const NAMES: usize = 16 * 1024;

/// Calls back for every name in a folder that is open for reading, including `.` and `..`, with its kind as far as
/// the system tells.
#[cfg(target_os = "linux")]
pub(in crate::os) fn for_each_name(
    folder: impl AsFd,
    mut each: impl FnMut(&[u8], FileType) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffer = [const { MaybeUninit::uninit() }; NAMES];
    let mut entries = RawDir::new(folder, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        each(entry.file_name().to_bytes(), entry.file_type())?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub(in crate::os) fn for_each_name(
    folder: impl AsFd,
    mut each: impl FnMut(&[u8], FileType) -> io::Result<()>,
) -> io::Result<()> {
    for entry in rustix::fs::Dir::read_from(folder)? {
        let entry = entry?;
        each(entry.file_name().to_bytes(), entry.file_type())?;
    }
    Ok(())
}

/// The names in a folder that `choose` keeps, sorted.
pub(in crate::os) fn names_in(
    folder: &Dir,
    mut choose: impl FnMut(&[u8]) -> io::Result<Option<String>>,
) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for_each_name(calls::open_folder(folder)?, |name, _| {
        if !matches!(name, b"." | b"..") {
            names.extend(choose(name)?);
        }
        Ok(())
    })?;
    names.sort_unstable();
    Ok(names)
}
