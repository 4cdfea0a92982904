use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use futures::executor::block_on;
use headstart_git_ahead::{Git, GitChange, GitError, Reader, Repository, Snapshot};
use headstart_overlay_fs::{
    ChangeSet, CommitOptions, CommitOutcome, Committed, ConflictKind, ContentHash, OsOptions, OsTree,
    Overlay, Quota, TreeError, UndoLimit, UndoOutcome, Workspace as _, WorkspacePath,
};
use tempfile::TempDir;

/// A workspace of a user, a view of it, and a state folder.
pub(crate) struct World {
    pub(crate) path: PathBuf,
    /// Deletes the folder when it is dropped. `None` if the folder belongs to another process.
    _folder: Option<TempDir>,
}

/// The work of a view that waits for a decision.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Work {
    pub(crate) changes: ChangeSet,
    pub(crate) git: Option<GitChange>,
}

/// What the user sees of a repository and its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) refs: String,
    pub(crate) head: String,
    pub(crate) index: String,
    pub(crate) files: BTreeMap<String, (u32, ContentHash)>,
}

impl World {
    /// A repository with one commit of two files on the branch main.
    pub(crate) fn new() -> Self {
        Self::with(&["init", "-q", "-b", "main"])
    }

    pub(crate) fn with(init: &[&str]) -> Self {
        let world = Self::empty(init);
        world.commit_first();
        world
    }

    /// A repository without a commit.
    pub(crate) fn empty(init: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let world = Self { path: folder.path().canonicalize().unwrap(), _folder: Some(folder) };
        world.make(init);
        world
    }

    /// As [`new`](Self::new), in a folder that the caller deletes.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        let world = Self::at(folder);
        world.make(&["init", "-q", "-b", "main"]);
        world.commit_first();
        world
    }

    fn make(&self, init: &[&str]) {
        for name in ["user", "state"] {
            fs::create_dir(self.path.join(name)).unwrap();
        }
        fs::set_permissions(self.state(), fs::Permissions::from_mode(0o700)).unwrap();
        self.git(init);
    }

    fn commit_first(&self) {
        self.write("a.txt", "one\n");
        self.write("src/b.txt", "two\n");
        self.git(&["add", "."]);
        self.git(&["commit", "-q", "-m", "first"]);
    }

    /// The world of another process, whose folder is not deleted.
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), _folder: None }
    }

    /// A world whose user has a copy of the view, to compare with.
    pub(crate) fn of_view(world: &World) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("user");
        let copied = Command::new("cp").arg("-a").args([world.view(), to]).status().unwrap();
        assert!(copied.success());
        Self { path: folder.path().canonicalize().unwrap(), _folder: Some(folder) }
    }

    pub(crate) fn user(&self) -> PathBuf {
        self.path.join("user")
    }

    pub(crate) fn view(&self) -> PathBuf {
        self.path.join("view")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path.join("state")
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.user().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.user().join(path)).unwrap()
    }

    /// Runs git as the user.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git_in(&self.user(), arguments)
    }

    pub(crate) fn snapshot(&self) -> Option<Snapshot> {
        Snapshot::take(File::open(self.user()).unwrap(), &self.state()).unwrap()
    }

    /// Runs a script in a new view, and stages the changes of files that it made.
    pub(crate) fn work(&self, script: &str) -> Work {
        self.try_work(script).unwrap()
    }

    pub(crate) fn try_work(&self, script: &str) -> Result<Work, GitError> {
        let before = self.snapshot();
        self.start_view();
        let tree = Arc::new(OsTree::open(self.user()).unwrap());
        let overlay = Overlay::new(tree, Quota::default());
        self.run(script);
        stage(&overlay, &self.user(), &self.view());
        let git = self.read_view(before.as_ref())?;
        Ok(Work { changes: overlay.change_set(), git })
    }

    pub(crate) fn start_view(&self) {
        let _ = fs::remove_dir_all(self.view());
        let copied = Command::new("cp").arg("-a").args([self.user(), self.view()]).status().unwrap();
        assert!(copied.success());
    }

    pub(crate) fn run(&self, script: &str) {
        let ran = shell(&self.view(), script).output().unwrap();
        assert!(ran.status.success(), "{script}: {}", String::from_utf8_lossy(&ran.stderr));
    }

    pub(crate) fn read_view(&self, before: Option<&Snapshot>) -> Result<Option<GitChange>, GitError> {
        let reader = Reader::new(program(), &self.user(), &self.state());
        reader.read(before, File::open(self.view()).unwrap(), &self.state(), "work.pack")
    }

    pub(crate) fn repository(&self) -> Repository {
        Repository::new(program(), &self.user(), &self.state())
    }

    pub(crate) fn tree(&self) -> OsTree {
        let options = OsOptions {
            state: Some(self.state()),
            undo: UndoLimit { accepts: 20, bytes: 1 << 30 },
            ..OsOptions::default()
        };
        OsTree::open_with(self.user(), options).unwrap().with_participant(Arc::new(self.repository()))
    }

    pub(crate) fn accept(&self, work: &Work) -> Result<CommitOutcome, TreeError> {
        accept(&self.tree(), work, CommitOptions::default())
    }

    /// Accepts the work, which must succeed, and checks the repository.
    pub(crate) fn accepted(&self, work: &Work) {
        assert_eq!(self.accept(work).unwrap(), CommitOutcome::Committed(Committed::default()));
        self.check();
    }

    pub(crate) fn undo(&self, work: &Work) -> Result<UndoOutcome, TreeError> {
        let beside = work.git.as_ref().map(GitChange::beside);
        self.tree().undo_with(&work.changes, beside.as_deref())
    }

    pub(crate) fn undone(&self, work: &Work) {
        let outcome = self.undo(work).unwrap();
        assert!(matches!(outcome, UndoOutcome::Undone { .. }), "{outcome:?}");
        self.check();
    }

    /// The refs of the conflicts of an accept. All its conflicts must be about refs.
    pub(crate) fn conflicts(&self, work: &Work) -> Vec<String> {
        match self.accept(work).unwrap() {
            CommitOutcome::Conflict(conflicts) => {
                assert!(conflicts.iter().all(|conflict| conflict.kind == ConflictKind::Ref), "{conflicts:?}");
                conflicts.iter().map(|conflict| conflict.path.to_string()).collect()
            }
            outcome @ CommitOutcome::Committed(_) => panic!("{outcome:?}"),
        }
    }

    /// Checks that the repository is whole and that everything in it belongs to git.
    pub(crate) fn check(&self) {
        self.git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
        assert_eq!(self.litter(), Vec::<String>::new());
    }

    /// Locks and drafts that were left in the repository.
    pub(crate) fn litter(&self) -> Vec<String> {
        let names = files(&self.user().join(".git"));
        let is_litter = |name: &String| is_lock(name) || name.contains("headstart");
        names.into_keys().filter(is_litter).filter(|name| !name.starts_with("refs/headstart/")).collect()
    }

    pub(crate) fn status(&self) -> String {
        self.git(&["status", "--porcelain"])
    }

    pub(crate) fn seen(&self) -> Seen {
        let user = self.user();
        let files = files(&user).into_iter().filter(|(path, _)| !path.starts_with(".git/"));
        let files = files.map(|(path, (mode, content))| (path, (mode, ContentHash::of(&content)))).collect();
        let head = fs::read_to_string(user.join(".git/HEAD")).unwrap();
        Seen {
            refs: self.git(&["for-each-ref", "--format=%(objectname) %(refname)"]),
            head: if self.git(&["symbolic-ref", "-q", "HEAD"]).is_empty() {
                head
            } else {
                self.git(&["symbolic-ref", "HEAD"])
            },
            index: self.git(&["ls-files", "--stage"]),
            files,
        }
    }

    /// All files with their inodes, change times and contents, so that a file that was written anew is noticed.
    pub(crate) fn whole(&self) -> BTreeMap<String, (u64, i64, i64, ContentHash)> {
        let user = self.user();
        files(&user)
            .into_iter()
            .map(|(path, (_, content))| {
                let found = fs::symlink_metadata(user.join(&path)).unwrap();
                (path, (found.ino(), found.ctime(), found.ctime_nsec(), ContentHash::of(&content)))
            })
            .collect()
    }
}

pub(crate) fn accept(tree: &OsTree, work: &Work, options: CommitOptions) -> Result<CommitOutcome, TreeError> {
    match &work.git {
        None => block_on(tree.commit(&work.changes, options)),
        Some(git) => block_on(tree.commit_with(&work.changes, &git.beside(), options)),
    }
}

pub(crate) fn program() -> Git {
    Git::find(&std::env::var_os("PATH").unwrap()).expect("git 2.34 or later is installed")
}

/// The options of `git init` for refs that are kept in tables, which git knows since 2.45. A test that is about them
/// leaves them out with an older one, and says so.
pub(crate) fn tables() -> Option<&'static [&'static str]> {
    let (major, minor) = program().version();
    let knows_tables = (2, 45) <= (major, minor);
    if !knows_tables {
        eprintln!("refs in tables are left out: git here is {major}.{minor}, which does not know them");
    }
    knows_tables.then_some(&["init", "-q", "-b", "main", "--ref-format=reftable"])
}

/// Runs git with no configuration except that of the repository. It must not fail, except for a question (`symbolic-ref
/// -q`), whose failure is an empty answer.
pub(crate) fn git_in(folder: &Path, arguments: &[&str]) -> String {
    let output = git_command(folder).args(arguments).output().expect("git is installed");
    let is_question = arguments.contains(&"-q") && arguments[0] == "symbolic-ref";
    assert!(
        output.status.success() || is_question,
        "git {arguments:?}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn git_command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    plain(&mut command);
    command.current_dir(folder);
    command
}

fn shell(folder: &Path, script: &str) -> Command {
    let mut command = Command::new("sh");
    plain(&mut command);
    command.current_dir(folder).args(["-euc", script]);
    command
}

fn plain(command: &mut Command) {
    for (name, value) in [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "A User"),
        ("GIT_AUTHOR_EMAIL", "user@example.com"),
        ("GIT_COMMITTER_NAME", "A User"),
        ("GIT_COMMITTER_EMAIL", "user@example.com"),
        ("GIT_EDITOR", "true"),
    ] {
        command.env(name, value);
    }
}

/// Stages the difference between two folders, without their repositories.
fn stage(overlay: &Overlay, old: &Path, new: &Path) {
    let (old, new) = (files(old), files(new));
    let is_file = |path: &&String| !path.starts_with(".git/") && *path != ".git";
    for path in old.keys().filter(is_file).filter(|path| !new.contains_key(*path)) {
        block_on(overlay.remove(&WorkspacePath::parse(path).unwrap())).unwrap();
    }
    for (path, (mode, content)) in new.iter().filter(|(path, _)| is_file(path)) {
        if old.get(path).is_none_or(|there| there != &(*mode, content.clone())) {
            block_on(overlay.write(&WorkspacePath::parse(path).unwrap(), content.clone())).unwrap();
        }
    }
}

fn unless_gone<T>(found: std::io::Result<T>) -> Option<T> {
    match found {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        found => Some(found.unwrap()),
    }
}

/// Whether a path in `.git` is the path of a lock.
pub(crate) fn is_lock(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "lock")
}

/// All files below a folder, with their permission bits. A file that disappears while the folder is read, as a lock of
/// git may, is left out.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let Some(metadata) = unless_gone(fs::symlink_metadata(&path)) else { continue };
            if metadata.is_dir() {
                folders.push(path);
            } else if metadata.is_file() {
                let Some(content) = unless_gone(fs::read(&path)) else { continue };
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                found.insert(name, (metadata.mode() & 0o777, content));
            }
        }
    }
    found
}
