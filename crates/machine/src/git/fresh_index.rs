//! An index that knows which files are unchanged. Where git cannot tell that from a file's times, as after each clone, it
//! reads the file, and a confined git may not read one that holds a secret: it would call the file changed, or fail.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use headstart_overlay_fs::WorkspacePath;

use super::{output, output_with};

/// The most bytes of an index that is copied before a command.
const MAX_BYTES: u64 = 64 << 20;
/// Git reads files that were written in the second in which the index was, or later.
const AFTER: Duration = Duration::from_secs(2);

/// Writes a fresh copy of the index of a workspace's repository into `folder`, if git tracks a file that is closed.
pub fn fresh_index(
    workspace: &Path,
    closes: impl Fn(&WorkspacePath) -> bool,
    folder: &Path,
) -> Option<PathBuf> {
    let tracked = output(workspace, &["ls-files", "-z", "--full-name", "--", ":(top)"])?;
    let mut tracked = tracked.split('\0').filter_map(|name| WorkspacePath::parse(name).ok());
    if !tracked.any(|path| closes(&path)) {
        return None;
    }
    let index = output(workspace, &["rev-parse", "--path-format=absolute", "--git-path", "index"])?;
    let index = Path::new(index.trim_end_matches('\n'));
    let found = index.symlink_metadata().ok().filter(|found| found.is_file() && found.len() <= MAX_BYTES)?;
    let copy = folder.join("index");
    fs::copy(index, &copy).ok()?;
    // By this time git knows which files it has to read.
    File::options().write(true).open(&copy).and_then(|file| file.set_modified(found.modified()?)).ok()?;
    let arguments = ["status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"];
    let variables = [("GIT_INDEX_FILE", copy.as_os_str()), ("GIT_OPTIONAL_LOCKS", "1".as_ref())];
    output_with(workspace, &arguments, &variables)?;
    // Git has marked what it could not tell, so all the rest is as the index says.
    let now = SystemTime::now() + AFTER;
    File::options().write(true).open(&copy).and_then(|file| file.set_modified(now)).ok()?;
    Some(copy)
}
