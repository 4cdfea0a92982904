//! Whether the repository of a workspace is its own. A `.git` that came with a project may lead to any repository of the
//! machine, whose history is not the project's to search.

use std::fs;
use std::path::{Path, PathBuf};

use crate::system::{is_inside, read_plain};

/// The most bytes of one of git's small files.
const MAX_BYTES: u64 = 64 * 1024;

/// Whether the history that git shows in a workspace belongs to it: a repository in it, one in a folder above it, or one
/// elsewhere that names this workspace as its own, as those of linked worktrees and submodules do.
pub(super) fn is_own(workspace: &Path) -> bool {
    let dot_git = workspace.join(".git");
    let Ok(metadata) = dot_git.symlink_metadata() else { return true };
    if metadata.is_dir() {
        return keeps_to(&dot_git, workspace);
    }
    if metadata.is_symlink() {
        return false;
    }
    let Some(folder) = target_in(&dot_git, "gitdir: ", workspace).and_then(|at| at.canonicalize().ok())
    else {
        return false;
    };
    if workspace.canonicalize().is_ok_and(|root| is_inside(&folder, &root)) {
        return keeps_to(&folder, workspace);
    }
    let leads_back = |path: Option<PathBuf>, to: &Path| {
        path.and_then(|path| path.canonicalize().ok())
            .is_some_and(|path| to.canonicalize().is_ok_and(|to| path == to))
    };
    // What lies outside of the workspace did not come with it, so what it says counts.
    let of_worktree = target_in(&folder.join("gitdir"), "", &folder);
    let config = text_of(&folder.join("config")).unwrap_or_default();
    let named =
        config.lines().find_map(|line| line.trim().strip_prefix("worktree")?.trim_start().strip_prefix('='));
    leads_back(of_worktree, &dot_git) || leads_back(named.map(|named| folder.join(named.trim())), workspace)
}

/// Whether a folder of git's in the workspace takes nothing from outside of it.
fn keeps_to(folder: &Path, workspace: &Path) -> bool {
    let names = ["HEAD", "refs", "packed-refs", "objects", "objects/info", "logs", "reftable"];
    let is_link = |name: &str| folder.join(name).symlink_metadata().is_ok_and(|found| found.is_symlink());
    if names.into_iter().any(is_link) || fs::symlink_metadata(folder.join("commondir")).is_ok() {
        return false;
    }
    let objects = folder.join("objects");
    let others = text_of(&objects.join("info/alternates")).unwrap_or_default();
    let Ok(root) = workspace.canonicalize() else { return false };
    let is_inside =
        |line: &str| objects.join(line).canonicalize().is_ok_and(|other| is_inside(&other, &root));
    others.lines().filter(|line| !line.starts_with('#')).all(is_inside)
}

/// The path that a file of git's names behind `before`.
fn target_in(file: &Path, before: &str, folder: &Path) -> Option<PathBuf> {
    let text = text_of(file)?;
    Some(folder.join(text.strip_prefix(before)?.trim_end_matches(['\n', '\r'])))
}

fn text_of(file: &Path) -> Option<String> {
    String::from_utf8(read_plain(file, MAX_BYTES).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, arguments: &[&str]) {
        let settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"];
        let mut git = Command::new("git");
        git.arg("-C").arg(folder).args(settings).args(arguments);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        assert!(git.output().unwrap().status.success(), "{arguments:?}");
    }

    #[test]
    fn a_repository_is_that_of_its_workspace_or_says_so_itself() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let make = |name: &str| {
            let path = root.join(name);
            fs::create_dir_all(&path).unwrap();
            path
        };
        let private = make("private");
        git(&private, &["init", "-q"]);
        git(&private, &["commit", "-q", "--allow-empty", "-m", "secret"]);
        let own = make("own");
        assert!(is_own(&own), "there is none");
        git(&own, &["init", "-q"]);
        git(&own, &["commit", "-q", "--allow-empty", "-m", "x"]);
        assert!(is_own(&own));
        assert!(is_own(&make("own/src")), "it is in a folder above");
        git(&own, &["worktree", "add", "-q", "../tree"]);
        assert!(is_own(&root.join("tree")), "a linked worktree");
        git(&own, &["submodule", "add", "-q", private.to_str().unwrap(), "sub"]);
        assert!(is_own(&own.join("sub")), "a submodule");

        let of_private = private.join(".git");
        let evil = make("evil");
        fs::write(evil.join(".git"), format!("gitdir: {}\n", of_private.display())).unwrap();
        assert!(!is_own(&evil), "a file that leads elsewhere");
        let of_tree = own.join(".git/worktrees/tree");
        fs::write(evil.join(".git"), format!("gitdir: {}\n", of_tree.display())).unwrap();
        assert!(!is_own(&evil), "a worktree of somebody else");
        let inner = make("evil/inner");
        fs::write(evil.join(".git"), "gitdir: inner\n").unwrap();
        fs::write(inner.join("commondir"), of_private.to_str().unwrap()).unwrap();
        assert!(!is_own(&evil), "a folder of its own that takes all from elsewhere");

        let lends = make("lends");
        git(&lends, &["init", "-q"]);
        let objects = of_private.join("objects");
        fs::write(lends.join(".git/objects/info/alternates"), objects.to_str().unwrap()).unwrap();
        assert!(!is_own(&lends), "objects of another one");
        #[cfg(unix)]
        for (name, target) in [(".git", of_private.clone()), (".git/refs", of_private.join("refs"))] {
            let linked = make(&format!("linked{}", name.len()));
            if name != ".git" {
                fs::create_dir(linked.join(".git")).unwrap();
            }
            std::os::unix::fs::symlink(target, linked.join(name)).unwrap();
            assert!(!is_own(&linked), "{name} is a link");
        }
    }
}
