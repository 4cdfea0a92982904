//! Closed files that git tracks. A view does not have them, so to git in it they would be gone, and `git add -A` would record that.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use headstart_overlay_fs::WorkspacePath;
use headstart_shadow::Command;

use super::Views;
use super::opening::Opened;

const TIME: Duration = Duration::from_secs(20);
/// So long may all the paths be together, in bytes; of more, a command that records them is a boundary.
const LONGEST: usize = 512 << 10;
/// Git's index in the view takes the files as they were, whatever is in their place, until somebody tells it otherwise.
const LINE: &str = "git ls-files -z -- \"$@\" | git update-index -z --skip-worktree --stdin";

impl Views {
    /// Has git in a view, once, leave these paths as it has them. What a command records of them all the same is found in its commits, where rules about paths
    /// count; so nothing depends on whether this works.
    pub(super) fn keep_tracked(&self, opened: &mut Opened, closed: &[WorkspacePath]) {
        let is_long = LONGEST < closed.iter().map(|path| path.as_bytes().len() + 1).sum();
        let has_git = opened.view.workspace().join(".git").is_dir();
        if closed.is_empty() || is_long || !has_git || opened.git.keeps_tracked {
            return;
        }
        opened.git.keeps_tracked = true;
        let words = ["/bin/sh", "-c", LINE, "sh"].map(OsStr::new).into_iter();
        let paths = closed.iter().map(|path| OsStr::from_bytes(path.as_bytes()));
        let command = Command { environment: self.environment(), ..Command::new(words.chain(paths), TIME) };
        let _ = opened.view.run(&command.with_variable("GIT_LITERAL_PATHSPECS", "1"));
    }
}
