//! Paths that must not be in a view, because a rule closes them.
//!
//! They are searched for before each command. A folder's times change when a name in it appears or disappears, so a
//! folder whose times are the same as at the last search is not listed again.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use headstart_overlay_fs::WorkspacePath;
use headstart_tool_gate::DenyRules;
use headstart_toolbox::{CommandOutput, SecretAccess};

use super::lock;
use super::other_names::{may_hide_names, with_other_names};
use crate::git::{settings_with_tokens, without_working_tree};
use crate::system::{FileNumbers as _, path_in, workspace_path};

/// Folders that are not searched for the user's files with secrets, because package managers and compilers wrote their
/// content. Deny rules do apply there.
const NOT_SEARCHED: [&str; 4] = [".git", "node_modules", ".venv", "target"];
/// The names in a repository's own folder, also where it has no work tree.
const PARTS_OF_GIT: [&str; 3] = ["HEAD", "objects", "refs"];
/// The most names that are searched before a command.
const MAX_NAMES: usize = 1_000_000;
/// The most names in folders that only repositories are looked for in.
const MAX_NAMES_OF_PACKAGES: usize = 4_000_000;
/// The most repositories below a workspace that git is asked about before a command.
const MAX_REPOSITORIES: usize = 100;
/// The most closed paths that are named at once.
const MAX_NAMED: usize = 3;
/// A folder that changed so shortly before it was listed may have changed again afterwards, and still show the same
/// times.
const RACY_WINDOW: Duration = Duration::from_secs(1);

/// The result of the last search.
#[derive(Debug)]
pub(crate) struct ClosedPathCache {
    last: Mutex<Option<CachedScan>>,
    racy_window: Duration,
}

impl Default for ClosedPathCache {
    fn default() -> Self {
        Self { last: Mutex::default(), racy_window: RACY_WINDOW }
    }
}

#[derive(Debug)]
struct CachedScan {
    workspace: PathBuf,
    deny: DenyRules,
    secrets: SecretAccess,
    folders: HashMap<WorkspacePath, CachedFolder>,
}

/// One folder at the time it was listed.
#[derive(Debug)]
struct CachedFolder {
    /// `None` if the folder's times would not show a change.
    stamp: Option<Stamp>,
    names: usize,
    closed: Vec<WorkspacePath>,
    folders: Vec<WorkspacePath>,
    /// Those of `closed` that are links.
    links: Vec<WorkspacePath>,
    /// Whether a repository begins here, with a work tree or without one.
    is_repository: bool,
}

/// What is closed in a workspace, and where git may keep more of the kind.
#[derive(Debug)]
pub(crate) struct Closed {
    pub(crate) paths: Vec<WorkspacePath>,
    /// The workspace, the folders below it that begin a repository, and those of submodules that are gone.
    pub(crate) repositories: Vec<PathBuf>,
    /// The folders in which neither closed files nor repositories were looked for.
    pub(super) not_searched: Vec<WorkspacePath>,
}

/// Identifies a state of a folder. No program can set this back, because the time of the last change of an inode cannot
/// be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    changed: (i64, i64),
}

impl ClosedPathCache {
    /// What is closed on disk. If a folder is closed, nothing below it is listed.
    pub(super) fn closed(
        &self,
        workspace: &Path,
        deny: &DenyRules,
        secrets: SecretAccess,
    ) -> io::Result<Closed> {
        let mut last = lock(&self.last);
        let mut search = self.scan(&mut last, workspace, deny, secrets, MAX_NAMES);
        search.folders_from(&[WorkspacePath::root()], secrets == SecretAccess::Closed)?;
        let ClosedPathScan { now: folders, mut found, links, not_searched, .. } = search;
        if secrets == SecretAccess::Closed {
            found.extend(settings_of_nested_repositories(workspace, &folders)?);
        }
        let found = with_targets(workspace, found, &links)?;
        let paths = with_other_names(workspace, found, MAX_NAMES)?;
        // What is hidden there would count as a change of the repository by the command.
        let is_gits =
            |path: &&WorkspacePath| path.names().next() == Some(b".git") && path.names().nth(1).is_some();
        if let Some(path) = paths.iter().find(is_gits) {
            let message = format!(
                "{path} is closed, or is another name of a closed file, and a view shows git's own folder as a whole"
            );
            return Err(io::Error::other(message));
        }
        let closed = Closed { paths, repositories: repositories(workspace, &folders)?, not_searched };
        *last = Some(CachedScan { workspace: workspace.to_owned(), deny: deny.clone(), secrets, folders });
        Ok(closed)
    }

    /// The names that are closed on disk, and other names of the same files.
    pub(crate) fn paths(
        &self,
        workspace: &Path,
        deny: &DenyRules,
        secrets: SecretAccess,
    ) -> io::Result<Vec<WorkspacePath>> {
        let mut last = lock(&self.last);
        let mut search = self.scan(&mut last, workspace, deny, secrets, MAX_NAMES);
        search.folders_from(&[WorkspacePath::root()], secrets == SecretAccess::Closed)?;
        let ClosedPathScan { now: folders, found, .. } = search;
        *last = Some(CachedScan { workspace: workspace.to_owned(), deny: deny.clone(), secrets, folders });
        with_other_names(workspace, found, MAX_NAMES)
    }

    /// The tops of the repositories below folders that were not searched.
    pub(super) fn repositories_below(
        &self,
        workspace: &Path,
        folders: &[WorkspacePath],
    ) -> io::Result<Vec<PathBuf>> {
        let mut last = lock(&self.last);
        let deny = DenyRules::default();
        let mut search = self.scan(&mut last, workspace, &deny, SecretAccess::Open, MAX_NAMES_OF_PACKAGES);
        search.is_for_repositories = true;
        search.folders_from(folders, false)?;
        let folders = search.now;
        let tops = folders.iter().filter(|(_, folder)| folder.is_repository);
        let mut tops = tops.map(|(path, _)| path_in(workspace, path)).collect::<io::Result<Vec<_>>>()?;
        tops.sort();
        *last = Some(CachedScan {
            workspace: workspace.to_owned(),
            deny: deny.clone(),
            secrets: SecretAccess::Open,
            folders,
        });
        Ok(tops)
    }

    /// A search that lists only what has changed since the last one of its kind.
    fn scan<'a>(
        &self,
        last: &mut Option<CachedScan>,
        workspace: &'a Path,
        deny: &'a DenyRules,
        secrets: SecretAccess,
        most_names: usize,
    ) -> ClosedPathScan<'a> {
        let is_same =
            |look: &CachedScan| look.workspace == workspace && look.deny == *deny && look.secrets == secrets;
        ClosedPathScan {
            workspace,
            deny,
            racy_window: self.racy_window,
            keeps_times: keeps_times(workspace),
            before: last.take().filter(is_same).map(|look| look.folders).unwrap_or_default(),
            now: HashMap::new(),
            looked_at: 0,
            most_names,
            found: Vec::new(),
            links: Vec::new(),
            not_searched: Vec::new(),
            is_for_repositories: false,
        }
    }
}

/// The closed paths, and those to which closed links lead in the workspace.
fn with_targets(
    workspace: &Path,
    mut closed: Vec<WorkspacePath>,
    links: &[WorkspacePath],
) -> io::Result<Vec<WorkspacePath>> {
    for link in links {
        let Ok(target) = path_in(workspace, link)?.canonicalize() else { continue };
        let Some(target) = target.strip_prefix(workspace).ok().and_then(workspace_path) else { continue };
        if link.starts_with(&target) || target.names().any(|name| name == b".git") {
            let to = if target.is_root() { "the workspace itself".to_owned() } else { target.to_string() };
            return Err(io::Error::other(format!("{link} is closed, and leads to {to}")));
        }
        if !closed.iter().any(|known| target.starts_with(known)) {
            closed.retain(|known| !known.starts_with(&target));
            closed.push(target);
        }
    }
    Ok(closed)
}

/// What the model is told of closed paths that the output of a command names which failed: it may have failed because
/// they are hidden from it.
pub(super) fn hidden_note(closed: &[WorkspacePath], done: &CommandOutput) -> Option<String> {
    let is_named = |path: &&WorkspacePath| {
        let name = path.file_name().and_then(|name| str::from_utf8(name).ok());
        name.is_some_and(|name| done.output.contains(name))
    };
    let named: Vec<_> = closed.iter().filter(is_named).take(MAX_NAMED).map(ToString::to_string).collect();
    let is_failure = done.exit_code != Some(0);
    (is_failure && !named.is_empty()).then(|| {
        format!(
            "hidden from this command, which may have failed for that: {} (what may hold a secret, or what a rule closes)",
            named.join(", ")
        )
    })
}

/// The workspace, the folders below it that begin a repository, and those of submodules that are gone.
fn repositories(
    workspace: &Path,
    folders: &HashMap<WorkspacePath, CachedFolder>,
) -> io::Result<Vec<PathBuf>> {
    let is_below = |(path, folder): &(&WorkspacePath, &CachedFolder)| folder.is_repository && !path.is_root();
    let mut below: Vec<_> = folders.iter().filter(is_below).map(|(path, _)| path).collect();
    below.sort();
    let below = below.into_iter().take(MAX_REPOSITORIES + 1).map(|path| path_in(workspace, path));
    let mut tops = [Ok(workspace.to_owned())].into_iter().chain(below).collect::<io::Result<Vec<_>>>()?;
    tops.extend(without_working_tree(&tops, MAX_REPOSITORIES));
    if MAX_REPOSITORIES + 1 < tops.len() {
        let message = format!(
            "it holds more than {MAX_REPOSITORIES} repositories, too many to ask each what it keeps of closed files"
        );
        return Err(io::Error::other(message));
    }
    Ok(tops)
}

/// The settings of repositories below the workspace that hold a token. They are read each time, because nothing about
/// the folders above them shows that they changed. Over a token in the workspace's own repository there is no view.
fn settings_of_nested_repositories(
    workspace: &Path,
    folders: &HashMap<WorkspacePath, CachedFolder>,
) -> io::Result<Vec<WorkspacePath>> {
    let all = folders.values().flat_map(|folder| &folder.folders);
    let nested = all.filter(|path| path.file_name() == Some(b".git") && path.names().nth(1).is_some());
    let mut found = Vec::new();
    for dot_git in nested {
        for file in settings_with_tokens(&path_in(workspace, dot_git)?) {
            let below = file.strip_prefix(workspace).ok().and_then(workspace_path);
            found.extend(below);
        }
    }
    Ok(found)
}

struct ClosedPathScan<'a> {
    workspace: &'a Path,
    deny: &'a DenyRules,
    racy_window: Duration,
    keeps_times: bool,
    before: HashMap<WorkspacePath, CachedFolder>,
    now: HashMap<WorkspacePath, CachedFolder>,
    looked_at: usize,
    most_names: usize,
    found: Vec<WorkspacePath>,
    links: Vec<WorkspacePath>,
    not_searched: Vec<WorkspacePath>,
    /// Whether nothing is looked for but where repositories begin.
    is_for_repositories: bool,
}

impl ClosedPathScan<'_> {
    /// Looks at folders and all below them. They wait in a list, because there may be more in one another than a thread
    /// has stack for.
    fn folders_from(&mut self, roots: &[WorkspacePath], for_secrets: bool) -> io::Result<()> {
        let mut waiting: Vec<_> = roots.iter().map(|root| (root.clone(), for_secrets)).collect();
        while let Some((path, for_secrets)) = waiting.pop() {
            let is_git = path.file_name() == Some(b".git");
            if self.deny.is_empty() && !for_secrets && (is_git || !self.is_for_repositories) {
                self.not_searched.extend((!is_git && !path.is_root()).then_some(path));
                continue;
            }
            let listed = self.folder(&path, for_secrets)?;
            for below in &listed.folders {
                let is_searched =
                    !NOT_SEARCHED.iter().any(|known| below.file_name() == Some(known.as_bytes()));
                waiting.push((below.clone(), for_secrets && is_searched));
            }
            self.now.insert(path, listed);
        }
        Ok(())
    }

    fn folder(&mut self, path: &WorkspacePath, for_secrets: bool) -> io::Result<CachedFolder> {
        let folder = path_in(self.workspace, path)?;
        // The stamp is taken before the folder is listed, so that names which appear meanwhile are seen at the next
        // search.
        let stamp = self.stamp(&folder);
        let known = self.before.remove(path).filter(|known| known.stamp.is_some() && known.stamp == stamp);
        let listed = match known {
            Some(known) => known,
            None => self.list(&folder, path, stamp, for_secrets)?,
        };
        self.looked_at += listed.names;
        if self.most_names < self.looked_at {
            let most = self.most_names;
            let message =
                format!("it holds more than {most} files, too many to look for closed ones among them");
            return Err(io::Error::other(message));
        }
        self.found.extend(listed.closed.iter().cloned());
        self.links.extend(listed.links.iter().cloned());
        Ok(listed)
    }

    fn list(
        &self,
        folder: &Path,
        path: &WorkspacePath,
        stamp: Option<Stamp>,
        for_secrets: bool,
    ) -> io::Result<CachedFolder> {
        let mut listed = CachedFolder {
            stamp,
            names: 0,
            closed: Vec::new(),
            folders: Vec::new(),
            links: Vec::new(),
            is_repository: false,
        };
        let Ok(entries) = fs::read_dir(folder) else {
            // Nobody can say what is in such a folder, so all of it is closed.
            let closed = (!path.is_root() && may_hide_names(folder)).then(|| path.clone());
            return Ok(CachedFolder { stamp: None, closed: closed.into_iter().collect(), ..listed });
        };
        let mut parts_of_git = 0;
        for entry in entries.take(self.most_names + 1) {
            let entry = entry?;
            listed.names += 1;
            listed.is_repository |= entry.file_name() == ".git";
            parts_of_git += usize::from(PARTS_OF_GIT.iter().any(|part| entry.file_name() == *part));
            let below = path.join_bytes(entry.file_name().as_encoded_bytes()).map_err(io::Error::other)?;
            let is_secret = for_secrets && self.deny.secret(&below).is_some();
            if is_secret || self.deny.matching(&below).is_some() {
                listed.links.extend(entry.file_type()?.is_symlink().then(|| below.clone()));
                listed.closed.push(below);
            } else if entry.file_type()?.is_dir() {
                listed.folders.push(below);
            }
        }
        let is_inside_git = path.names().any(|name| name == b".git");
        listed.is_repository |= parts_of_git == PARTS_OF_GIT.len() && !is_inside_git;
        Ok(listed)
    }

    fn stamp(&self, folder: &Path) -> Option<Stamp> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let found = folder.symlink_metadata().ok().filter(|_| self.keeps_times)?;
        let changed = (found.ctime(), found.ctime_nsec());
        let at = Duration::new(u64::try_from(changed.0).ok()?, u32::try_from(changed.1).ok()?);
        // A time in the future comes from another clock.
        (at + self.racy_window < now).then(|| Stamp { device: found.dev(), inode: found.ino(), changed })
    }
}

/// Whether a folder's times are set by this machine's own kernel, which changes them with each name that appears or
/// disappears.
#[cfg(target_os = "linux")]
pub(super) fn keeps_times(workspace: &Path) -> bool {
    // These are ext2 to ext4, btrfs, xfs, f2fs, bcachefs, tmpfs and overlayfs.
    const KNOWN: [u32; 7] =
        [0xEF53, 0x9123_683E, 0x5846_5342, 0xF2F5_2010, 0xCA45_1A4E, 0x0102_1994, 0x794C_7630];
    let kind = rustix::fs::statfs(workspace).ok().and_then(|found| u32::try_from(found.f_type).ok());
    kind.is_some_and(|kind| KNOWN.contains(&kind))
}

/// Other systems have no views, so that nothing is searched more than once.
#[cfg(not(target_os = "linux"))]
pub(super) fn keeps_times(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_paths_are_found_also_where_git_ignores_them() {
        let folder = tempfile::tempdir().unwrap();
        for file in [
            ".env",
            ".gitignore",
            "sub/.env.local",
            "keys/a",
            "keys/deep/b",
            "target/x/server.pem",
            "target/keys/c",
            "src/lib.rs",
        ] {
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, ".env\n").unwrap();
        }
        let found = |deny: &[&str], secrets| {
            let deny = DenyRules::from_patterns(deny.iter().copied()).unwrap();
            names(&ClosedPathCache::default().closed(folder.path(), &deny, secrets).unwrap().paths)
        };
        assert_eq!(found(&[], SecretAccess::Closed), [".env", "sub/.env.local"]);
        assert_eq!(found(&["keys"], SecretAccess::Closed), [".env", "keys", "sub/.env.local", "target/keys"]);
        assert_eq!(found(&["keys"], SecretAccess::Open), ["keys", "target/keys"]);
        assert_eq!(found(&[], SecretAccess::Open), [""; 0]);
    }

    fn names(paths: &[WorkspacePath]) -> Vec<String> {
        let mut names: Vec<_> = paths.iter().map(ToString::to_string).collect();
        names.sort();
        names
    }

    /// After this time a folder's times show every later change.
    const TICK: Duration = Duration::from_millis(20);

    #[test]
    fn only_what_has_changed_is_listed_again() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        for below in ["quiet", "busy"] {
            fs::create_dir(folder.path().join(below)).unwrap();
            fs::write(folder.path().join(below).join(".env"), "").unwrap();
        }
        let looks = ClosedPathCache { racy_window: TICK, ..ClosedPathCache::default() };
        let look =
            |deny: &DenyRules| names(&looks.closed(folder.path(), deny, SecretAccess::Closed).unwrap().paths);
        let deny = DenyRules::default();
        std::thread::sleep(2 * TICK);
        assert_eq!(look(&deny), ["busy/.env", "quiet/.env"]);
        // Changes the stored number, so that its use can be seen for a folder that has not changed.
        let count = |listed: &mut CachedFolder| listed.names += 100;
        lock(&looks.last).as_mut().unwrap().folders.values_mut().for_each(count);
        fs::write(folder.path().join("busy/.envrc"), "").unwrap();
        assert_eq!(look(&deny), ["busy/.env", "busy/.envrc", "quiet/.env"]);
        let names_in = |path: &str| {
            lock(&looks.last).as_ref().unwrap().folders[&WorkspacePath::parse(path).unwrap()].names
        };
        assert_eq!((names_in("quiet"), names_in("busy")), (101, 2));
        // Other rules close other paths.
        assert_eq!(look(&DenyRules::from_patterns(["busy"]).unwrap()), ["busy", "quiet/.env"]);
        assert_eq!(names_in("quiet"), 1);
    }

    /// As many folders in one another as a path can name, which any repository may bring.
    #[test]
    fn folders_in_one_another_take_no_stack() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().to_owned();
        for above in ["", ".ssh"] {
            let deepest = workspace.join(above).join("d/".repeat(1_900));
            fs::create_dir_all(&deepest).unwrap();
            fs::write(deepest.join(".env"), "").unwrap();
        }
        let looked = std::thread::Builder::new().stack_size(256 << 10).spawn(move || {
            let looks = ClosedPathCache::default();
            looks.closed(&workspace, &DenyRules::default(), SecretAccess::Closed).unwrap().paths.len()
        });
        assert_eq!(looked.unwrap().join().unwrap(), 2);
    }

    #[test]
    fn a_folder_that_has_just_changed_is_listed_again() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let looks = ClosedPathCache::default();
        for round in 0..100 {
            fs::write(folder.path().join(format!(".env{round}")), "").unwrap();
            let found = looks.closed(folder.path(), &DenyRules::default(), SecretAccess::Closed).unwrap();
            assert_eq!(found.paths.len(), round + 1);
        }
    }

    #[test]
    fn whatever_happens_to_folders_the_next_look_finds_what_a_first_one_would() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let looks = ClosedPathCache { racy_window: TICK, ..ClosedPathCache::default() };
        let deny = DenyRules::from_patterns(["b/c", "*.no"]).unwrap();
        let mut dice = 7_u64;
        let mut throw = |sides: u64| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            usize::try_from(dice % sides).unwrap()
        };
        for round in 0..150 {
            for _ in 0..throw(4) {
                let mut path = || {
                    let parts = (0..=throw(3)).map(|_| ["a", "b", "c", ".env", "x.no"][throw(5)]);
                    folder.path().join(parts.collect::<PathBuf>())
                };
                let (one, other) = (path(), path());
                // Most of these calls fail, which does no harm.
                let _ = match throw(6) {
                    0 | 1 => fs::create_dir_all(&one),
                    2 => fs::write(&one, ""),
                    3 => fs::remove_file(&one).or_else(|_| fs::remove_dir_all(&one)),
                    4 => fs::rename(&one, &other),
                    _ => std::os::unix::fs::symlink(&one, &other),
                };
            }
            if throw(3) == 0 {
                std::thread::sleep(2 * TICK);
            }
            let fresh =
                ClosedPathCache::default().closed(folder.path(), &deny, SecretAccess::Closed).unwrap();
            let found = looks.closed(folder.path(), &deny, SecretAccess::Closed).unwrap();
            assert_eq!(names(&found.paths), names(&fresh.paths), "round {round}");
        }
    }
}
