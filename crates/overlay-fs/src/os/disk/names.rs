use std::io;

use cap_std::fs::Dir;

use super::calls;
use super::system::for_each_name;

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
