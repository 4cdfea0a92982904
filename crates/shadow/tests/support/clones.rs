//! A file system whose files can share their blocks (xfs), which is made in an image file for these tests.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

static MOUNTED: OnceLock<(TempDir, PathBuf)> = OnceLock::new();

/// The root of this file system. It is made at the first call, which needs root and the programs of xfs.
pub(crate) fn folder() -> &'static Path {
    let (_, at) = MOUNTED.get_or_init(|| {
        let place = tempfile::Builder::new().prefix("shadow-clones-").tempdir_in("/var/tmp").unwrap();
        let (image, at) = (place.path().join("image"), place.path().join("mounted"));
        std::fs::create_dir(&at).unwrap();
        let file = std::fs::File::create(&image).unwrap();
        file.set_len(1 << 30).unwrap();
        run("mkfs.xfs", &["-q", image.to_str().unwrap()]);
        run("mount", &["-o", "loop", image.to_str().unwrap(), at.to_str().unwrap()]);
        for folder in [place.path(), &at] {
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o1777)).unwrap();
        }
        (place, at)
    });
    at
}

/// Unmounts and removes the file system, if it was made.
pub(crate) fn remove() {
    if let Some((place, at)) = MOUNTED.get() {
        run("umount", &["-l", at.to_str().unwrap()]);
        let _ = std::fs::remove_dir_all(place.path());
    }
}

fn run(program: &str, words: &[&str]) {
    let done = Command::new(program).args(words).output();
    let done = done.unwrap_or_else(|error| panic!("these tests need {program}: {error}"));
    assert!(done.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&done.stderr));
}
