//! What a repository keeps of files, beyond those of its work tree.

use super::undone::Surroundings;
use crate::GitError;

/// Files of a repository's folder that change when other objects can be reached from it.
const CHANGE_WITH_IT: [&str; 5] = ["HEAD", "index", "packed-refs", "logs/HEAD", "logs/refs/stash"];

impl Surroundings {
    /// Whether a path for which `is_meant` is true is in a commit, a stash or the index, or was and can still be
    /// reached. Paths are relative to the top of the work tree.
    pub fn keeps(&self, is_meant: impl Fn(&[u8]) -> bool) -> Result<bool, GitError> {
        let words = ["rev-list", "--objects", "--all", "--reflog", "--indexed-objects", "--ignore-missing"];
        let objects = self.git.ask(&self.at, "rev-list", &words, b"")?;
        let mut paths = objects.split(|byte| *byte == b'\n').filter_map(|line| {
            let at = line.iter().position(|byte| *byte == b' ')?;
            line.get(at + 1..).filter(|path| !path.is_empty())
        });
        Ok(paths.any(is_meant))
    }

    /// A text that differs as soon as [`keeps`](Self::keeps) may answer otherwise.
    pub fn state(&self) -> Result<Vec<u8>, GitError> {
        let words = ["for-each-ref", "--format=%(objectname) %(refname)"];
        let mut state = self.git.ask(&self.at, "for-each-ref", &words, b"")?;
        for name in CHANGE_WITH_IT {
            if let Ok(found) = self.at.folder.join(name).metadata() {
                state.extend(format!("{name} {} {:?}\n", found.len(), found.modified()).into_bytes());
            }
        }
        Ok(state)
    }
}
