//! A repository of our own in a private folder: it has the state of another one under a configuration that we wrote,
//! and the user's objects as an alternate.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;

use super::folder;
use super::program::RepositoryPaths;
use crate::{GitError, ObjectFormat};

/// The format of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Layout {
    pub(super) format: ObjectFormat,
    /// Whether refs are kept in tables (`reftable`) instead of files.
    pub(super) is_reftable: bool,
}

/// Completes a folder with copied refs to a repository whose missing objects are in `behind`.
pub(super) fn make(path: &Path, layout: Layout, behind: &Path) -> Result<RepositoryPaths, GitError> {
    let git = folder::open(path)?;
    for name in ["objects", "objects/info", "objects/pack", "refs", "refs/heads", "work"] {
        if !git.exists(name) {
            git.create_dir(name).map_err(folder::io_error(name))?;
        }
    }
    let mut config = String::from("[core]\n\trepositoryformatversion = 1\n\tbare = false\n");
    // An index that is written here is used elsewhere, so it is whole.
    config.push_str("\tsplitIndex = false\n[extensions]\n");
    if layout.format == ObjectFormat::Sha256 {
        config.push_str("\tobjectformat = sha256\n");
    }
    if layout.is_reftable {
        config.push_str("\trefstorage = reftable\n");
    }
    write(&git, "config", config.as_bytes())?;
    let mut alternates = std::os::unix::ffi::OsStrExt::as_bytes(behind.as_os_str()).to_vec();
    if alternates.contains(&b'\n') {
        let reason = "the path of the workspace has an end of line in it".to_owned();
        return Err(GitError::Unsupported { reason });
    }
    // Git reads a line that begins with a quotation mark as a quoted path; an absolute path does not begin with one.
    alternates.push(b'\n');
    write(&git, "objects/info/alternates", &alternates)?;
    let work_tree: PathBuf = path.join("work");
    Ok(RepositoryPaths::new(path.to_owned(), work_tree, layout.format))
}

/// The format of a repository, from its configuration. An extension that is not known is an error.
pub(super) fn layout_of(config: &[u8]) -> Result<Layout, GitError> {
    let text = String::from_utf8_lossy(config);
    let mut layout = Layout::default();
    let mut section = String::new();
    for line in text.lines() {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let (name, rest) = rest.split_once(']').unwrap_or((rest, ""));
            section = name.trim().to_ascii_lowercase();
            if section == "extensions" && !rest.trim().is_empty() {
                return Err(unknown(line));
            }
            continue;
        }
        if section != "extensions" || line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        let value = value.trim().to_ascii_lowercase();
        match (key.trim().to_ascii_lowercase().as_str(), value.as_str()) {
            ("objectformat", "sha1")
            | ("refstorage", "files")
            | ("noop" | "relativeworktrees", _)
            | ("worktreeconfig" | "preciousobjects", "false") => {}
            ("objectformat", "sha256") => layout.format = ObjectFormat::Sha256,
            ("refstorage", "reftable") => layout.is_reftable = true,
            _ => return Err(unknown(line)),
        }
    }
    Ok(layout)
}

fn unknown(line: &str) -> GitError {
    GitError::Unsupported {
        reason: format!("the repository has an extension that is not known ({})", line.escape_debug()),
    }
}

pub(super) fn write(git: &Dir, path: &str, bytes: &[u8]) -> Result<(), GitError> {
    let failed = folder::io_error(path);
    git.create(path).and_then(|mut file| file.write_all(bytes)).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The configuration decides how a repository must be read. An extension that is not known is refused.
    #[test]
    fn what_a_repository_says_of_itself_is_read_or_refused() {
        let plain = layout_of(b"[core]\n\trepositoryformatversion = 0\n[alias]\n\tx = !rm\n").unwrap();
        assert_eq!(plain, Layout::default());
        let new = b"[core]\n\tbare = false\n[Extensions]\n\tobjectFormat = sha256\n\trefStorage=reftable\n";
        assert_eq!(layout_of(new).unwrap(), Layout { format: ObjectFormat::Sha256, is_reftable: true });
        for odd in ["partialClone = origin", "worktreeConfig = true", "else = 1", "objectformat = \"sha256\""]
        {
            assert!(layout_of(format!("[extensions]\n\t{odd}\n").as_bytes()).is_err(), "{odd}");
        }
    }
}
