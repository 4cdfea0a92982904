//! Reads a change from two states of a repository.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use headstart_overlay_fs::WorkspacePath;

use super::folder;
use super::index::{self, Entries};
use super::large;
use super::objects;
use super::program::{Git, RepositoryPaths};
use super::refs::{self, Refs, Value};
use super::snapshot::Snapshot;
use crate::{GitChange, GitError, Head, Index, ObjectName, RefChange, RefName};

/// The most refs that one piece of work may change.
const MOST_REFS: usize = 1_000;
/// The most commits whose first lines are shown.
const MOST_SUBJECTS: usize = 5;
/// The most paths that its commits may change.
const MOST_PATHS: usize = 100_000;

/// Finds out what commands of work ahead did to a repository.
///
/// The state that they left is not trusted. It is read by handles and without links and copied to a private folder
/// under a configuration of our own, which is all that git sees of it. Every object is named anew by its content and
/// checked before it counts.
#[derive(Debug)]
pub struct Reader {
    pub(super) git: Git,
    pub(super) workspace: PathBuf,
    pub(super) home: PathBuf,
}

/// The two states.
struct Found<'a> {
    before: &'a Snapshot,
    after: &'a Snapshot,
    base: RepositoryPaths,
    view: RepositoryPaths,
    real: RepositoryPaths,
}

/// What git says about both states.
struct Listed {
    base: (Refs, Value),
    view: (Refs, Value),
    /// The refs of the user's own repository.
    real: Refs,
    /// The index entries of both states, if they differ.
    staged: Option<(Entries, Entries)>,
}

impl Reader {
    /// A reader for the workspace at this absolute path. `home` is a folder of the host, private to the user, for
    /// temporary copies.
    pub fn new(git: Git, workspace: &Path, home: &Path) -> Self {
        Self { git, workspace: workspace.to_owned(), home: home.to_owned() }
    }

    /// What changed between the snapshot that was taken before any command ran, and the repository in this folder of
    /// the view; `None` if nothing did. The objects that an accept needs are written to the file `pack` below
    /// `state`.
    pub fn read(
        &self,
        before: Option<&Snapshot>,
        view: impl AsFd,
        state: &Path,
        pack: &str,
    ) -> Result<Option<GitChange>, GitError> {
        let view = Dir::reopen_dir(&view.as_fd()).map_err(folder::io_error(""))?;
        let (before, view) = match (before, folder::open_git(&view)?) {
            (None, None) => return Ok(None),
            (Some(before), Some(view)) => (before, view),
            _ => return Ok(Some(only_other(".git"))),
        };
        let after = Snapshot::copy(&view, &self.home)?;
        if after.layout != before.layout {
            return Ok(Some(only_other(".git/config")));
        }
        let git_folder = self.workspace.join(".git");
        let behind = git_folder.join("objects");
        let format = before.layout.format;
        let found = Found {
            base: before.repository(&behind)?,
            view: after.repository(&behind)?,
            real: RepositoryPaths::new(git_folder, self.workspace.clone(), format),
            before,
            after: &after,
        };
        let real = folder::open(&found.real.folder)?;
        objects::copy_new(&view, &real, &folder::open(after.path())?, format.digits())?;
        let listed = self.list(&found)?;
        let mut change = self.compare(&found, &listed)?;
        if change.is_empty() {
            return Ok(None);
        }
        if change.boundary().is_none() {
            change.large =
                large::take_new(&self.git, &found.view, (&view, &real), (found.before, found.after))?;
            self.take_objects(&found, &listed.base, &mut change, (state, pack))?;
        }
        Ok(Some(change))
    }

    /// Each question is a git process of its own, and they run at the same time.
    fn list(&self, found: &Found<'_>) -> Result<Listed, GitError> {
        let git = &self.git;
        let entries = |at: &RepositoryPaths, snapshot: &Snapshot| {
            if snapshot.index.is_some() { index::entries(git, at) } else { Ok(Entries::new()) }
        };
        let is_staged = found.before.index != found.after.index;
        let ((base, view), (real, staged)) = both(
            || both(|| refs::all_and_head(git, &found.base), || refs::all_and_head(git, &found.view)),
            || {
                both(
                    || refs::all(git, &found.real),
                    || {
                        let sides = || {
                            both(|| entries(&found.base, found.before), || entries(&found.view, found.after))
                        };
                        is_staged.then(sides)
                    },
                )
            },
        );
        let staged = match staged {
            Some((old, new)) => Some((old?, new?)),
            None => None,
        };
        Ok(Listed { base: base?, view: view?, real: real?, staged })
    }

    fn compare(&self, found: &Found<'_>, listed: &Listed) -> Result<GitChange, GitError> {
        let mut other = others(found);
        let (changes, head) = self.refs(found, listed, &mut other)?;
        let index = index_of(found, listed, &mut other);
        other.sort();
        other.dedup();
        let format = found.before.layout.format;
        Ok(GitChange {
            format,
            objects: None,
            large: Vec::new(),
            refs: changes,
            head,
            index,
            paths: Vec::new(),
            other,
        })
    }

    fn refs(
        &self,
        found: &Found<'_>,
        listed: &Listed,
        other: &mut Vec<String>,
    ) -> Result<(Vec<RefChange>, Head), GitError> {
        let ((old, old_head), (new, new_head)) = (&listed.base, &listed.view);
        // A ref that git skips would look as if it had been removed.
        if let Some(odd) = found.after.loose.iter().find(|name| !new.contains_key(*name))
            && !found.after.layout.is_reftable
        {
            return Err(folder::hostile(odd, "it is no ref that git can read"));
        }
        let mut changes = Vec::new();
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for name in names {
            let sides = (old.get(name), new.get(name));
            // If the view shows what the user has now, the user made this change meanwhile.
            let is_theirs = !found.before.is_of_work && sides.1 == listed.real.get(name);
            if sides.0 == sides.1 || is_theirs {
                continue;
            }
            match change_of(name, sides) {
                Some(change) if is_applied(name) && self.is_first_stash(&change, found)? => {
                    changes.push(change);
                }
                _ => other.push(format!(".git/{name}")),
            }
            if MOST_REFS < changes.len() {
                let limit = MOST_REFS as u64;
                return Err(GitError::Limit { path: folder::told("refs"), limit, unit: "changed refs" });
            }
        }
        // In one transaction git cannot remove a ref and make a folder with its name.
        let is_within = |one: &RefChange, other: &RefChange| {
            one.name.as_str().strip_prefix(other.name.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        let within = changes.iter().find(|one| changes.iter().any(|other| is_within(one, other)));
        other.extend(within.map(|one| format!(".git/{}", one.name)));
        let head = match (old_head, new_head) {
            (Value::Ref(old), Value::Ref(new)) if old == new => {
                Head::Unchanged { branch: Some(RefName::parse(old)?) }
            }
            (Value::Object(old), Value::Object(new)) => {
                if old != new {
                    let name = RefName::parse("HEAD")?;
                    changes.push(RefChange {
                        name,
                        old: Some(old.clone()),
                        new: Some(new.clone()),
                        commits: 0,
                        subjects: Vec::new(),
                    });
                }
                Head::Unchanged { branch: None }
            }
            (Value::Ref(old), Value::Ref(new)) if !found.after.layout.is_reftable => {
                switched(old, new, &changes)?.unwrap_or(Head::Moved)
            }
            _ => Head::Moved,
        };
        if head == Head::Moved {
            other.push(".git/HEAD".to_owned());
        }
        Ok((changes, head))
    }

    /// Whether a change makes the first stash. The list of stashes is a reflog, which an accept does not rewrite: it
    /// can make the first entry, but neither add to nor remove from a list.
    fn is_first_stash(&self, change: &RefChange, found: &Found<'_>) -> Result<bool, GitError> {
        if change.name.as_str() != "refs/stash" {
            return Ok(true);
        }
        let count = if found.after.layout.is_reftable {
            let options = ["rev-list", "--walk-reflogs", "refs/stash"];
            self.git.try_ask(&found.view, "rev-list", &options, b"")?.unwrap_or_default()
        } else {
            found.after.logs.get("logs/refs/stash").cloned().unwrap_or_default()
        };
        let count = count.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        Ok(change.old.is_none() && change.new.is_some() && count == 1)
    }

    fn take_objects(
        &self,
        found: &Found<'_>,
        (refs, head): &(Refs, Value),
        change: &mut GitChange,
        (state, pack): (&Path, &str),
    ) -> Result<(), GitError> {
        let (git, base) = (&self.git, &found.base);
        let staged = change.index.entries.iter().filter_map(|entry| entry.new.as_ref());
        // The content of a submodule is a commit of another repository.
        let staged = staged.filter(|staged| staged.mode != "160000").map(|staged| &staged.object);
        let wanted: BTreeSet<ObjectName> =
            change.refs.iter().filter_map(|change| change.new.as_ref()).chain(staged).cloned().collect();
        let named: Vec<ObjectName> = wanted.into_iter().collect();
        let large = change.large.iter().map(|file| file.blob.clone());
        let wanted: Vec<ObjectName> = named.iter().cloned().chain(large).collect();
        let known: Vec<ObjectName> = refs.values().chain([head]).filter_map(object).cloned().collect();
        change.objects = objects::pack(git, &found.view, &wanted, &known, (state, pack))?;
        // The accept does the same, in the user's repository: what would fail then fails now.
        if let Some(objects) = &change.objects {
            objects::look_at(git, base, state, objects)?;
        }
        let index = || if change.index.is_empty() { Ok(()) } else { index::check(git, base, &change.index) };
        let subjects = || change.refs.iter().map(|change| self.subjects(base, change)).collect();
        let paths = || self.paths(base, change);
        let real = folder::open(&found.real.folder)?;
        let pointers = || {
            large::check_pointers(git, &found.view, (&named, &known), (&change.large, found.before, &real))
        };
        let connected = || objects::check_connected(git, base, &wanted);
        let (((connected, pointers), paths), (index, subjects)): (_, (_, Result<Vec<_>, _>)) =
            both(|| both(|| both(connected, pointers), paths), || both(index, subjects));
        connected?;
        pointers?;
        index?;
        change.paths = paths?;
        for (change, (commits, subjects)) in change.refs.iter_mut().zip(subjects?) {
            (change.commits, change.subjects) = (commits, subjects);
        }
        Ok(())
    }

    /// How many commits of a ref are new, and the first lines of the newest. A tag of something other than a commit
    /// has none.
    fn subjects(&self, at: &RepositoryPaths, change: &RefChange) -> Result<(u32, Vec<String>), GitError> {
        let Some(new) = &change.new else { return Ok((0, Vec::new())) };
        let options =
            ["log", "-z", "--format=%s", "--no-show-signature", new.as_str(), "--not", "--all", "--"];
        let told = self.git.ask(at, "log", &options, b"")?;
        let told = String::from_utf8_lossy(&told);
        let count = u32::try_from(told.split_terminator('\0').count()).unwrap_or(u32::MAX);
        // A tag is described as one thing, however many commits it brings.
        let most = if change.name.as_str().starts_with("refs/tags/") { 0 } else { MOST_SUBJECTS };
        let line = |subject: &str| subject.chars().filter(|letter| !letter.is_control()).take(100).collect();
        Ok((count, told.split_terminator('\0').take(most).map(line).collect()))
    }

    /// The paths that the new commits change, and those that are staged differently.
    fn paths(&self, at: &RepositoryPaths, change: &GitChange) -> Result<Vec<WorkspacePath>, GitError> {
        let moved = change.refs.iter().filter_map(|change| change.new.as_ref());
        let mut options =
            vec!["log", "-z", "--format=", "--name-only", "--no-renames", "--no-show-signature"];
        options.extend(["--diff-merges=combined", "--root"]);
        let known = options.len();
        options.extend(moved.map(ObjectName::as_str));
        let listed = if known < options.len() {
            options.extend(["--not", "--all", "--"]);
            self.git.ask(at, "log", &options, b"")?
        } else {
            Vec::new()
        };
        let committed = listed.split(|byte| *byte == 0);
        let staged = change.index.entries.iter().map(|entry| entry.path.as_slice());
        let names: BTreeSet<&[u8]> = committed.chain(staged).filter(|name| !name.is_empty()).collect();
        if MOST_PATHS < names.len() {
            let (path, limit) = (folder::told("objects"), MOST_PATHS as u64);
            return Err(GitError::Limit { path, limit, unit: "paths in new commits" });
        }
        let path = |name: &[u8]| {
            let odd =
                |_| folder::hostile("objects", &format!("a commit has the path {}", name.escape_ascii()));
            WorkspacePath::from_bytes(name).map_err(odd)
        };
        names.into_iter().map(path).collect()
    }
}

/// Runs both at the same time.
pub(super) fn both<A, B: Send>(one: impl FnOnce() -> A, other: impl FnOnce() -> B + Send) -> (A, B) {
    std::thread::scope(|scope| {
        let other = scope.spawn(other);
        let one = one();
        let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (one, other)
    })
}

/// What is staged differently in the two states.
fn index_of(found: &Found<'_>, listed: &Listed, other: &mut Vec<String>) -> Index {
    let base = found.before.index;
    let Some((old, new)) = &listed.staged else { return Index { base, entries: Vec::new() } };
    if let Some(entries) = index::difference(old, new) {
        return Index { base, entries };
    }
    other.push(".git/index".to_owned());
    Index::default()
}

/// What else differs, which is never applied. A reflog may have grown.
fn others(found: &Found<'_>) -> Vec<String> {
    let (old, new) = (&found.before.others, &found.after.others);
    let names = old.keys().chain(new.keys()).filter(|name| old.get(*name) != new.get(*name));
    // A new content of git-LFS comes along; one that is gone or differs does not.
    let large = found.before.large.iter().filter(|(name, len)| found.after.large.get(*name) != Some(len));
    let names = names.chain(large.map(|(name, _)| name));
    let mut other: Vec<String> = names.map(|name| folder::told(name)).collect();
    for (name, old) in &found.before.logs {
        match found.after.logs.get(name) {
            Some(new) if new.starts_with(old) => {}
            // A reflog is removed together with its ref.
            None if !found.after.logs.contains_key(name) && name != "logs/HEAD" => {}
            _ => other.push(folder::told(name)),
        }
    }
    other
}

/// The switch to a branch that the work made; `None` for any other. Where the branch before changed as well, git would
/// want the lock of `HEAD` for that.
fn switched(old: &str, new: &str, changes: &[RefChange]) -> Result<Option<Head>, GitError> {
    let (from, to) = (RefName::parse(old)?, RefName::parse(new)?);
    let is_made =
        changes.iter().any(|change| change.name == to && change.old.is_none() && change.new.is_some());
    let is_as_before = !changes.iter().any(|change| change.name == from);
    let is_branch = to.as_str().starts_with("refs/heads/");
    Ok((is_made && is_as_before && is_branch).then_some(Head::Switched { from, to }))
}

/// Whether an accept moves a ref: one that people make with ordinary commands. Other refs control git itself.
fn is_applied(name: &str) -> bool {
    name == "refs/stash"
        || ["refs/heads/", "refs/tags/", "refs/notes/"].iter().any(|kind| name.starts_with(kind))
}

/// The change of a ref that names an object; `None` if it names or named another ref, or its name is not valid.
fn change_of(name: &str, sides: (Option<&Value>, Option<&Value>)) -> Option<RefChange> {
    let object = |side: Option<&Value>| match side {
        None => Some(None),
        Some(Value::Object(object)) => Some(Some(object.clone())),
        Some(Value::Ref(_)) => None,
    };
    let name = RefName::parse(name).ok()?;
    Some(RefChange { name, old: object(sides.0)?, new: object(sides.1)?, commits: 0, subjects: Vec::new() })
}

/// The object that a ref names directly.
fn object(value: &Value) -> Option<&ObjectName> {
    match value {
        Value::Object(object) => Some(object),
        Value::Ref(_) => None,
    }
}

/// A change that is reported and never applied.
fn only_other(path: &str) -> GitChange {
    GitChange {
        format: crate::ObjectFormat::default(),
        objects: None,
        large: Vec::new(),
        refs: Vec::new(),
        head: Head::Unchanged { branch: None },
        index: Index::default(),
        paths: Vec::new(),
        other: vec![path.to_owned()],
    }
}
