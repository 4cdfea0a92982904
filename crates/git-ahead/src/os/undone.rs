//! What an undo of files has to know of the repository around them, and to leave in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use headstart_overlay_fs::{ContentHash, WorkspacePath};

use super::index;
use super::program::{Git, RepositoryPaths};
use crate::{GitError, ObjectFormat, ObjectName, Staged, Unstaged};

/// The longest `.git` file of a linked work tree, in bytes.
const LONGEST_LINK: u64 = 4096;

/// What is staged and not committed, by path: what the last commit has, and what is staged.
type StagedPaths = BTreeMap<Vec<u8>, (Option<Staged>, Staged)>;

/// The repository around the files of a workspace: its own, one that begins in a folder above, or that of a linked work
/// tree.
#[derive(Debug, Clone)]
pub struct Surroundings {
    pub(super) git: Git,
    pub(super) at: RepositoryPaths,
    /// The path from the top of the work tree to the workspace; empty or with a `/` at its end.
    prefix: Vec<u8>,
}

impl Surroundings {
    /// The repository around the workspace at this absolute path; `None` if there is none.
    pub fn find(git: Git, workspace: &Path) -> Result<Option<Self>, GitError> {
        let found = workspace.ancestors().find_map(|top| Some((top, git_folder(top)?)));
        let Some((top, folder)) = found else { return Ok(None) };
        let mut prefix =
            workspace.strip_prefix(top).unwrap_or(Path::new("")).as_os_str().as_encoded_bytes().to_vec();
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        let mut at = RepositoryPaths::new(folder, top.to_owned(), ObjectFormat::Sha1);
        let format = git.try_ask(&at, "config", &["config", "--get", "extensions.objectformat"], b"")?;
        if format.is_ok_and(|format| format.trim_ascii() == b"sha256") {
            at.format = ObjectFormat::Sha256;
        }
        Ok(Some(Self { git, at, prefix }))
    }

    /// The last commit that changed what work wrote and was made after it: its short name and its subject. `written` are
    /// the hashes of the contents that the work wrote, by path, none for one that it removed; `seconds` is the time at
    /// which it wrote the first, since the Unix epoch. Commits that these ones (`except`) contain do not count.
    pub fn committed_since(
        &self,
        written: &BTreeMap<WorkspacePath, Vec<ContentHash>>,
        seconds: u64,
        except: &[ObjectName],
    ) -> Result<Option<String>, GitError> {
        if let Some(later) = self.last_commit(written, seconds + 1, except)? {
            return Ok(Some(later));
        }
        // Git counts whole seconds. A commit of the same one came after the work if it has what that wrote.
        match self.last_commit(written, seconds, except)? {
            Some(commit) if self.has_committed(written)? => Ok(Some(commit)),
            _ => Ok(None),
        }
    }

    /// A branch of another repository that had this commit when git last asked, `origin/main` say: it was pushed, and
    /// somebody else may have it.
    pub fn pushed_to(&self, commit: &ObjectName) -> Result<Option<String>, GitError> {
        let contains = format!("--contains={commit}");
        let words = ["for-each-ref", "--count=1", "--format=%(refname:short)", &contains, "refs/remotes"];
        // A commit that is not there was pushed to nobody.
        let Ok(told) = self.git.try_ask(&self.at, "for-each-ref", &words, b"")? else { return Ok(None) };
        let told = String::from_utf8_lossy(&told).trim().to_owned();
        Ok(Some(told).filter(|told| !told.is_empty()))
    }

    fn last_commit(
        &self,
        written: &BTreeMap<WorkspacePath, Vec<ContentHash>>,
        seconds: u64,
        except: &[ObjectName],
    ) -> Result<Option<String>, GitError> {
        let mut input = b"HEAD\n".to_vec();
        for name in except {
            input.extend_from_slice(format!("^{name}\n").as_bytes());
        }
        input.extend_from_slice(b"--\n");
        let start = input.len();
        // A line holds one path.
        for path in written.keys().filter(|path| !path.as_bytes().contains(&b'\n')) {
            input.extend_from_slice(&self.prefix);
            input.extend_from_slice(path.as_bytes());
            input.push(b'\n');
        }
        if input.len() == start {
            return Ok(None);
        }
        let since = format!("--since=@{seconds}");
        let words = [
            "--literal-pathspecs",
            "log",
            "-1",
            "--format=%h %s",
            "--no-show-signature",
            "--ignore-missing",
            &since,
            "--stdin",
        ];
        // Before the first commit there is no HEAD, and nothing was committed.
        let Ok(told) = self.git.try_ask(&self.at, "log", &words, &input)? else { return Ok(None) };
        let told = String::from_utf8_lossy(&told);
        let told: String = told.chars().filter(|letter| !letter.is_control()).collect();
        Ok(Some(told).filter(|told| !told.is_empty()))
    }

    /// Whether the last commit has one of these paths as the work left it.
    fn has_committed(&self, written: &BTreeMap<WorkspacePath, Vec<ContentHash>>) -> Result<bool, GitError> {
        for (path, contents) in written {
            let name = [&self.prefix, path.as_bytes()].concat();
            let Ok(name) = str::from_utf8(&name) else { continue };
            let words = ["cat-file", "blob", &format!("HEAD:{name}")];
            let is_as_left = match self.git.try_ask(&self.at, "cat-file", &words, b"")? {
                Ok(content) => contents.contains(&ContentHash::of(&content)),
                Err(_) => contents.is_empty(),
            };
            if is_as_left {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes back what was staged for git of work whose files were taken back. `written` are the hashes of the contents
    /// that the work wrote, by path. Where one of them is staged, the file is staged as it is now if that content is in
    /// the repository, because it was staged or committed before; otherwise what the last commit has. What the user
    /// staged otherwise stays.
    pub fn unstage(
        &self,
        written: &BTreeMap<WorkspacePath, Vec<ContentHash>>,
    ) -> Result<Vec<Unstaged>, GitError> {
        let mut staged = self.staged()?;
        let (mut input, mut unstaged) = (Vec::new(), Vec::new());
        for (path, contents) in written {
            let name = [&self.prefix, path.as_bytes()].concat();
            let Some((committed, staged)) = staged.remove(&name) else { continue };
            let words = ["cat-file", "blob", staged.object.as_str()];
            let Ok(content) = self.git.try_ask(&self.at, "cat-file", &words, b"")? else { continue };
            if !contents.contains(&ContentHash::of(&content)) {
                continue;
            }
            let before = self.in_repository(&name, &staged)?;
            if before.as_ref() == Some(&staged) {
                continue;
            }
            unstaged
                .push(Unstaged { path: path.clone(), is_staged: before.is_some() && before != committed });
            index::add_line(&mut input, &name, before.or(committed).as_ref(), &self.at);
        }
        if !input.is_empty() {
            self.git.ask(&self.at, "update-index", &["update-index", "-z", "--index-info"], &input)?;
        }
        Ok(unstaged)
    }

    /// What is staged and not committed.
    fn staged(&self) -> Result<StagedPaths, GitError> {
        let diff = |against: &str| {
            let words =
                ["diff-index", "--cached", "--no-renames", "--ignore-submodules", "-z", against, "--"];
            self.git.try_ask(&self.at, "diff-index", &words, b"")
        };
        let listed = match diff("HEAD")? {
            Ok(listed) => listed,
            // Before the first commit everything is new.
            Err(_) => diff(self.at.format.empty_tree())?.unwrap_or_default(),
        };
        let mut staged = StagedPaths::new();
        let mut parts = listed.split(|byte| *byte == 0);
        while let (Some(about), Some(path)) = (parts.next(), parts.next()) {
            let about = String::from_utf8_lossy(about);
            let mut words = about.trim_start_matches(':').split(' ');
            let (Some(old_mode), Some(mode), Some(old), Some(object)) =
                (words.next(), words.next(), words.next(), words.next())
            else {
                continue;
            };
            let entry = |mode: &str, object: &str| match mode {
                "000000" => Ok(None),
                _ => Ok(Some(Staged { mode: mode.to_owned(), object: ObjectName::parse(object)? })),
            };
            let committed = entry(old_mode, old)?;
            if let Some(now) = entry(mode, object)? {
                staged.insert(path.to_vec(), (committed, now));
            }
        }
        Ok(staged)
    }

    /// The file as it is now, if the repository has its content.
    fn in_repository(&self, name: &[u8], staged: &Staged) -> Result<Option<Staged>, GitError> {
        let Ok(name) = str::from_utf8(name) else { return Ok(None) };
        let words = ["hash-object", "--no-filters", "--", name];
        // This fails where nothing is.
        let Ok(object) = self.git.try_ask(&self.at, "hash-object", &words, b"")? else { return Ok(None) };
        let object = ObjectName::parse(String::from_utf8_lossy(&object).trim())?;
        let words = ["cat-file", "-e", object.as_str()];
        let is_there = self.git.try_ask(&self.at, "cat-file", &words, b"")?.is_ok();
        Ok(is_there.then(|| Staged { mode: staged.mode.clone(), object }))
    }
}

/// The folder of the repository that begins here, with a work tree or without one.
pub(super) fn git_folder(top: &Path) -> Option<PathBuf> {
    let folder = Dir::open_ambient_dir(top, ambient_authority()).ok()?;
    let Ok(found) = folder.symlink_metadata(".git") else {
        let is_bare = ["HEAD", "objects", "refs"].iter().all(|name| folder.exists(name));
        return is_bare.then(|| top.to_owned());
    };
    if found.is_dir() {
        return folder.exists(".git/HEAD").then(|| top.join(".git"));
    }
    Some(top.join(target_of(&top.join(".git"), "gitdir: ")?))
}

/// The path that a small file of git's names behind `before`.
pub(super) fn target_of(file: &Path, before: &str) -> Option<PathBuf> {
    let folder = Dir::open_ambient_dir(file.parent()?, ambient_authority()).ok()?;
    let name = file.file_name()?;
    let found = folder.symlink_metadata(name).ok()?;
    if !found.is_file() || LONGEST_LINK < found.len() {
        return None;
    }
    Some(PathBuf::from(folder.read_to_string(name).ok()?.trim_end().strip_prefix(before)?))
}
