//! Closed files that git tracks. They are missing in a view, so git there would consider them deleted, and `git add -A`
//! would record that.

use std::ffi::OsString;
use std::time::Duration;

use headstart_overlay_fs::WorkspacePath;
use headstart_shadow::Command;

use super::Views;
use super::opening::OpenedView;
use crate::system::path_of_bytes;

const TIME: Duration = Duration::from_secs(20);
/// The most bytes of all these paths together. If there are more, a command that records the files is a boundary.
const MAX_LENGTH: usize = 512 << 10;
/// Makes git's index in the view treat the files as unchanged, whatever is in their place, until a command tells it
/// otherwise.
const LINE: &str = "git ls-files -z -- \"$@\" | git update-index -z --skip-worktree --stdin";

impl Views {
    /// Makes git in a view treat these paths as unchanged; this is done once. If a command records them nevertheless,
    /// that is found in its commits, to which rules about paths apply, so nothing depends on the success of this.
    pub(super) fn keep_tracked(&self, opened: &mut OpenedView, closed: &[WorkspacePath]) {
        let is_long = MAX_LENGTH < closed.iter().map(|path| path.as_bytes().len() + 1).sum();
        let has_git = opened.view.workspace().join(".git").is_dir();
        if closed.is_empty() || is_long || !has_git || opened.git.keeps_tracked {
            return;
        }
        opened.git.keeps_tracked = true;
        let words = ["/bin/sh", "-c", LINE, "sh"].map(OsString::from).into_iter();
        let paths = closed.iter().filter_map(|path| path_of_bytes(path.as_bytes()).ok()).map(OsString::from);
        let command = Command { environment: self.environment(), ..Command::new(words.chain(paths), TIME) };
        let _ = opened.view.run(&command.with_variable("GIT_LITERAL_PATHSPECS", "1"));
    }
}
