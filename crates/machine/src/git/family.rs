//! What git reads outside of a workspace for the workspace's own repository. A `.git` that came with a project may lead
//! to any repository of the machine, whose history is not the project's.

use std::fs;
use std::path::{Path, PathBuf};

use super::{holds_token, odd_file};
use crate::system::{is_inside, read_plain};

/// The most bytes of one of git's small files.
const MAX_BYTES: u64 = 64 * 1024;
/// The most folders of objects that one repository may take from others.
const MAX_ALTERNATES: usize = 16;

/// The folders outside of the workspace that belong to its repository; none if the repository is in the workspace, or
/// there is none.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Family {
    /// Folders of git's own.
    pub folders: Vec<PathBuf>,
    /// The top of the working tree, if the workspace is a folder below it.
    pub top: Option<PathBuf>,
}

impl Family {
    /// Finds it; the error says why the repository is not the workspace's own as far as its files show. `home` is the
    /// user's home folder. `workspace` is a path without links.
    ///
    /// A repository is that of a workspace if it is in it, or in a folder above it that is neither the home nor above
    /// the home, or if it names the workspace as its own, as those of linked worktrees and submodules do.
    pub fn of(workspace: &Path, home: Option<&Path>) -> Result<Self, &'static str> {
        let dot_git = workspace.join(".git");
        let Ok(found) = dot_git.symlink_metadata() else { return Self::above(workspace, home) };
        if found.is_symlink() {
            return Err("its .git is a link, and nothing shows that the repository belongs to this folder");
        }
        if found.is_dir() {
            return keeps_to(&dot_git, workspace).then(Self::default).ok_or(
                "the repository takes objects or references from outside the workspace, and nothing shows that those belong to it",
            );
        }
        let unproven = "its .git leads to a repository that does not name this folder as its own";
        let folder = target_in(&dot_git, "gitdir: ", workspace).and_then(|at| at.canonicalize().ok());
        let folder = folder.ok_or(unproven)?;
        if is_inside(&folder, workspace) {
            return keeps_to(&folder, workspace).then(Self::default).ok_or(unproven);
        }
        let leads_back = |path: Option<PathBuf>, to: &Path| {
            path.and_then(|path| path.canonicalize().ok())
                .is_some_and(|path| to.canonicalize().is_ok_and(|to| path == to))
        };
        // What lies outside of the workspace did not come with it, so what it says counts.
        let of_worktree = target_in(&folder.join("gitdir"), "", &folder);
        let config = text_of(&folder.join("config")).unwrap_or_default();
        let named = config
            .lines()
            .find_map(|line| line.trim().strip_prefix("worktree")?.trim_start().strip_prefix('='));
        let named = named.map(|named| folder.join(named.trim()));
        if !leads_back(of_worktree, &dot_git) && !leads_back(named, workspace) {
            return Err(unproven);
        }
        let common = target_in(&folder.join("commondir"), "", &folder).and_then(|at| at.canonicalize().ok());
        let mut folders = vec![folder];
        folders.extend(common);
        for at in 0..folders.len() {
            add_alternates(&folders[at].join("objects"), &mut folders);
        }
        folders.retain(|folder| !is_inside(folder, workspace));
        folders.dedup();
        Ok(Self { folders, top: None })
    }

    pub(crate) fn is_in_workspace(&self) -> bool {
        self.folders.is_empty() && self.top.is_none()
    }

    /// Whether a configuration of the repository holds a password or a token, or cannot be read.
    pub(crate) fn holds_token(&self) -> bool {
        let of_top = self.top.as_ref().map(|top| top.join(".git")).filter(|folder| folder.is_dir());
        let mut folders = self.folders.iter().chain(&of_top);
        folders.any(|folder| ["config", "config.worktree"].iter().any(|name| holds_token(&folder.join(name))))
    }

    /// Whether a path outside the workspace is one of git's own for this repository.
    pub(crate) fn has(&self, path: &Path) -> bool {
        let of_top = self.top.as_ref().map(|top| top.join(".git"));
        self.folders.iter().chain(&of_top).any(|folder| path.starts_with(folder))
    }

    fn above(workspace: &Path, home: Option<&Path>) -> Result<Self, &'static str> {
        let has_git = |above: &&Path| above.join(".git").symlink_metadata().is_ok();
        let Some(top) = workspace.ancestors().skip(1).find(has_git) else { return Ok(Self::default()) };
        if top.parent().is_none() || home.is_some_and(|home| home.starts_with(top)) {
            return Err("the repository is that of the home folder or of one above it");
        }
        if odd_file(top).is_some() {
            return Err("the repository above the workspace has a file that is none");
        }
        let mut family = Self::of(top, home)?;
        family.folders.retain(|folder| !is_inside(folder, top));
        family.top = Some(top.to_owned());
        Ok(family)
    }
}

/// Adds the folders from which a folder of objects takes some.
fn add_alternates(objects: &Path, folders: &mut Vec<PathBuf>) {
    let others = text_of(&objects.join("info/alternates")).unwrap_or_default();
    for line in others.lines().filter(|line| !line.starts_with('#')) {
        let Ok(other) = objects.join(line).canonicalize() else { continue };
        if folders.len() < MAX_ALTERNATES && !folders.contains(&other) {
            folders.push(other.clone());
            add_alternates(&other, folders);
        }
    }
}

/// Whether a folder of git's in the workspace takes nothing from outside of it.
fn keeps_to(folder: &Path, workspace: &Path) -> bool {
    let names = ["HEAD", "refs", "packed-refs", "objects", "objects/info", "logs", "reftable"];
    if names.iter().any(|name| leads_out(&folder.join(name), workspace))
        || fs::symlink_metadata(folder.join("commondir")).is_ok()
    {
        return false;
    }
    let objects = folder.join("objects");
    let others = text_of(&objects.join("info/alternates")).unwrap_or_default();
    let Ok(root) = workspace.canonicalize() else { return false };
    let is_inside =
        |line: &str| objects.join(line).canonicalize().is_ok_and(|other| is_inside(&other, &root));
    others.lines().filter(|line| !line.starts_with('#')).all(is_inside)
}

/// Whether a path is a link out of the workspace. The `HEAD` of an old repository is a link to a branch, which may not
/// exist yet.
fn leads_out(path: &Path, workspace: &Path) -> bool {
    use std::path::Component::Normal;
    let Ok(target) = path.read_link() else { return false };
    match path.canonicalize() {
        Ok(real) => !workspace.canonicalize().is_ok_and(|root| is_inside(&real, &root)),
        Err(_) => !target.components().all(|part| matches!(part, Normal(_))),
    }
}

/// The path that a file of git's names behind `before`.
pub(super) fn target_in(file: &Path, before: &str, folder: &Path) -> Option<PathBuf> {
    let text = text_of(file)?;
    Some(folder.join(text.strip_prefix(before)?.trim_end_matches(['\n', '\r'])))
}

/// Whether the `.git` of a work tree is a file that names a folder which is not there.
pub fn leads_nowhere(dot_git: &Path) -> bool {
    let target = target_in(dot_git, "gitdir: ", dot_git.parent().unwrap_or(Path::new("/")));
    target.is_some_and(|target| target.symlink_metadata().is_err())
}

/// The repositories in the folders of git's own of these ones, at which no working tree of theirs leads: those of submodules
/// that were taken out, whose objects git keeps. At most `most` and one more are looked for.
pub fn without_working_tree(tops: &[PathBuf], most: usize) -> Vec<PathBuf> {
    let real = |path: PathBuf| path.canonicalize().ok();
    let folder_of = |top: &PathBuf| {
        let dot_git = top.join(".git");
        let led_to = target_in(&dot_git, "gitdir: ", top).filter(|_| dot_git.is_file());
        real(led_to.or_else(|| dot_git.is_dir().then_some(dot_git)).unwrap_or_else(|| top.clone()))
    };
    let known: Vec<_> = tops.iter().filter_map(folder_of).collect();
    let mut found = Vec::new();
    let mut waiting: Vec<_> =
        tops.iter().map(|top| top.join(".git")).filter(|folder| folder.is_dir()).collect();
    while let Some(folder) = waiting.pop().filter(|_| found.len() <= most) {
        let is_repository =
            ["HEAD", "objects", "refs"].iter().all(|name| folder.join(name).symlink_metadata().is_ok());
        if is_repository && real(folder.clone()).is_some_and(|folder| !known.contains(&folder)) {
            found.push(folder.clone());
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let is_stored =
                is_repository && ["objects", "refs", "logs"].iter().any(|name| entry.file_name() == *name);
            if !is_stored && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(entry.path());
            }
        }
    }
    found.sort();
    found
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
        let of = |path: &Path| Family::of(path, Some(&root.join("home")));
        let in_it = Ok(Family::default());
        let private = make("private");
        git(&private, &["init", "-q"]);
        git(&private, &["commit", "-q", "--allow-empty", "-m", "secret"]);
        let own = make("own");
        assert_eq!(of(&own), in_it, "there is none");
        git(&own, &["init", "-q"]);
        git(&own, &["commit", "-q", "--allow-empty", "-m", "x"]);
        assert_eq!(of(&own), in_it);
        assert_eq!(of(&make("own/src")), Ok(Family { top: Some(own.clone()), ..Family::default() }));
        git(&own, &["worktree", "add", "-q", "../tree"]);
        let of_tree = own.join(".git/worktrees/tree");
        let folders = vec![of_tree.clone(), own.join(".git")];
        assert_eq!(of(&root.join("tree")), Ok(Family { folders: folders.clone(), top: None }));
        let top = Some(root.join("tree"));
        assert_eq!(of(&make("tree/src")), Ok(Family { folders, top }), "a folder of a linked worktree");
        git(&own, &["submodule", "add", "-q", private.to_str().unwrap(), "sub"]);
        let folders = vec![own.join(".git/modules/sub")];
        assert_eq!(of(&own.join("sub")), Ok(Family { folders, top: None }));

        // What a proven repository takes from others belongs to it.
        let of_private = private.join(".git");
        let shared = make("shared");
        git(&root, &["clone", "-q", "--shared", "private", "shared"]);
        git(&shared, &["worktree", "add", "-q", "../wide"]);
        let folders =
            vec![shared.join(".git/worktrees/wide"), shared.join(".git"), of_private.join("objects")];
        assert_eq!(of(&root.join("wide")), Ok(Family { folders, top: None }));
        assert!(of(&shared).is_err(), "its own list of other repositories proves nothing");

        let evil = make("evil");
        fs::write(evil.join(".git"), format!("gitdir: {}\n", of_private.display())).unwrap();
        assert!(of(&evil).is_err(), "a file that leads elsewhere");
        assert!(of(&make("evil/src")).is_err(), "nor in a folder below it");
        fs::write(evil.join(".git"), format!("gitdir: {}\n", of_tree.display())).unwrap();
        assert!(of(&evil).is_err(), "a worktree of somebody else");
        let inner = make("evil/inner");
        fs::write(evil.join(".git"), "gitdir: inner\n").unwrap();
        fs::write(inner.join("commondir"), of_private.to_str().unwrap()).unwrap();
        assert!(of(&evil).is_err(), "a folder of its own that takes all from elsewhere");

        let home = make("home");
        git(&home, &["init", "-q"]);
        assert!(of(&make("home/notes")).is_err(), "the repository of a home");
        #[cfg(unix)]
        {
            use std::os::unix::fs::symlink;
            let linked = make("linked");
            symlink(&of_private, linked.join(".git")).unwrap();
            assert!(of(&linked).is_err(), ".git is a link");
            let old = make("old");
            git(&old, &["init", "-q"]);
            fs::remove_file(old.join(".git/HEAD")).unwrap();
            symlink("refs/heads/main", old.join(".git/HEAD")).unwrap();
            assert_eq!(of(&old), in_it, "HEAD is a link to a branch");
            fs::remove_dir_all(old.join(".git/refs")).unwrap();
            symlink(of_private.join("refs"), old.join(".git/refs")).unwrap();
            assert!(of(&old).is_err(), "its branches are those of another one");
        }
    }
}
