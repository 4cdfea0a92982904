//! Lists what a folder holds, so that two states of it can be compared.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Everything below a folder: path, type and mode, time of the last change, content.
pub(crate) fn state(folder: &Path) -> Vec<String> {
    let mut rows = Vec::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(path) = todo.pop() {
        let found = path.symlink_metadata().unwrap();
        let content = match () {
            () if found.is_dir() => {
                todo.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                Vec::new()
            }
            () if found.is_symlink() => path.read_link().unwrap().into_os_string().into_encoded_bytes(),
            () if found.is_file() => fs::read(&path).unwrap(),
            () => Vec::new(),
        };
        let time = (found.ctime(), found.ctime_nsec());
        rows.push(format!(
            "{} {:o} {time:?} {:?}",
            path.display(),
            found.mode(),
            content.escape_ascii().to_string()
        ));
    }
    rows.sort();
    rows
}
