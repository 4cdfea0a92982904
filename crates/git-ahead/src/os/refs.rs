//! Refs: what they name, and git's own transaction over them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use headstart_overlay_fs::{Conflict, ConflictKind, Direction, WorkspacePath};

use super::folder::{self, ReadBudget};
use super::program::{Git, LineSession, RepositoryPaths};
use crate::{GitError, ObjectName, RefChange, RefName};

/// The longest file of a ref that git writes, in bytes.
const MOST_OF_REF: u64 = 4096;

/// What a ref names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Object(ObjectName),
    /// Another ref, whose name need not be one that is applied.
    Ref(String),
}

pub(super) type Refs = BTreeMap<String, Value>;

/// All refs, and where `HEAD` is.
pub(super) fn all_and_head(git: &Git, at: &RepositoryPaths) -> Result<(Refs, Value), GitError> {
    Ok((all(git, at)?, head(git, at)?))
}

/// All refs except `HEAD`. Git skips those that it cannot read.
pub(super) fn all(git: &Git, at: &RepositoryPaths) -> Result<Refs, GitError> {
    let options = ["for-each-ref", "--format=%(objectname) %(refname) %(symref)"];
    let listed = git.ask(at, "for-each-ref", &options, b"")?;
    let mut refs = Refs::new();
    for line in String::from_utf8_lossy(&listed).lines() {
        let mut words = line.splitn(3, ' ');
        let (Some(object), Some(name), symref) = (words.next(), words.next(), words.next()) else { continue };
        let value = match symref.filter(|to| !to.is_empty()) {
            Some(to) => Value::Ref(to.to_owned()),
            None => Value::Object(ObjectName::parse(object)?),
        };
        refs.insert(name.to_owned(), value);
    }
    Ok(refs)
}

/// Where `HEAD` is: on a branch, which may have no commits yet, or detached at a commit.
pub(super) fn head(git: &Git, at: &RepositoryPaths) -> Result<Value, GitError> {
    branch_in_file(at).map_or_else(|| asked_head(git, at), |branch| Ok(Value::Ref(branch)))
}

fn asked_head(git: &Git, at: &RepositoryPaths) -> Result<Value, GitError> {
    if let Ok(branch) = git.try_ask(at, "symbolic-ref", &["symbolic-ref", "-q", "HEAD"], b"")? {
        return Ok(Value::Ref(String::from_utf8_lossy(&branch).trim().to_owned()));
    }
    let object = git.ask(at, "rev-parse", &["rev-parse", "--verify", "-q", "HEAD"], b"")?;
    Ok(Value::Object(ObjectName::parse(String::from_utf8_lossy(&object).trim())?))
}

/// The branch that the file `HEAD` names; `None` if git has to be asked, because refs are kept in another format, or
/// the branch names another ref.
fn branch_in_file(at: &RepositoryPaths) -> Option<String> {
    let git = folder::open(&at.folder).ok()?;
    let read = |path: &str| folder::read(&git, path, MOST_OF_REF, &mut ReadBudget::new()).ok();
    let text = read("HEAD")??;
    let name = str::from_utf8(&text).ok()?.strip_prefix("ref: ")?.strip_suffix('\n')?;
    let name = RefName::parse(name).ok().filter(|name| name.as_str().starts_with("refs/heads/"))?;
    let is_another = read(name.as_str())?.is_some_and(|text| text.starts_with(b"ref:"));
    (!is_another).then(|| name.as_str().to_owned())
}

/// What the refs of a change name now.
pub(super) fn current(
    git: &Git,
    at: &RepositoryPaths,
    changes: &[RefChange],
) -> Result<Vec<Option<ObjectName>>, GitError> {
    let refs = all(git, at)?;
    let value = |name: &RefName| {
        let found = match name.as_str() {
            "HEAD" => head(git, at).ok(),
            name => refs.get(name).cloned(),
        };
        match found {
            Some(Value::Object(object)) => Some(object),
            _ => None,
        }
    };
    Ok(changes.iter().map(|change| value(&change.name)).collect())
}

/// The old and the new value of a change, in this direction.
pub(super) fn sides(change: &RefChange, direction: Direction) -> (&Option<ObjectName>, &Option<ObjectName>) {
    match direction {
        Direction::Apply => (&change.old, &change.new),
        Direction::Undo => (&change.new, &change.old),
    }
}

/// The refs that have neither the old value of a change nor, if it may have been made before, the new one.
pub(super) fn moved<'a>(
    changes: &'a [RefChange],
    now: &[Option<ObjectName>],
    direction: Direction,
) -> Vec<&'a RefName> {
    let is_moved = |(change, now): &(&RefChange, &Option<ObjectName>)| *now != sides(change, direction).0;
    changes.iter().zip(now).filter(is_moved).map(|(change, _)| &change.name).collect()
}

/// A conflict about a ref, or the index.
pub(super) fn conflict(name: &str) -> Conflict {
    let path = WorkspacePath::parse(&format!(".git/{name}")).unwrap_or_default();
    Conflict::new(path, ConflictKind::Ref)
}

/// A transaction that git has prepared: the refs are locked and had their old values. Dropping it releases the locks.
#[derive(Debug)]
pub(super) struct Transaction {
    line_session: LineSession,
}

impl Transaction {
    /// Prepares a transaction. The error has git's words, and then nothing is locked.
    pub(super) fn prepare(
        git: &Git,
        at: &RepositoryPaths,
        changes: &[&RefChange],
        direction: Direction,
    ) -> Result<Self, GitError> {
        let mut options = vec!["update-ref", "--no-deref", "-m", "headstart: accept", "--stdin"];
        if direction == Direction::Undo {
            options[3] = "headstart: undo";
        }
        if changes.iter().any(|change| change.name.as_str() == "refs/stash") {
            // The list of stashes is a reflog, so the ref needs one.
            options.push("--create-reflog");
        }
        let mut line_session = git.line_session(at, "update-ref", &options)?;
        let none = at.format.none();
        let mut words = String::from("start\n");
        for change in changes {
            let (old, new) = sides(change, direction);
            let name = &change.name;
            let _ = match (old, new) {
                (None, None) => Ok(()),
                (Some(old), None) => writeln!(words, "delete {name} {old}"),
                (old, Some(new)) => writeln!(words, "update {name} {new} {}", old.as_ref().unwrap_or(&none)),
            };
        }
        words.push_str("prepare\n");
        let answer = line_session.say(words.as_bytes(), 2)?;
        if answer != ["start: ok", "prepare: ok"] {
            let message = format!("it answered {answer:?}");
            return Err(GitError::Git { command: "update-ref".to_owned(), message, source: None });
        }
        Ok(Self { line_session })
    }

    pub(super) fn process(&self) -> u32 {
        self.line_session.id()
    }

    pub(super) fn commit(mut self) -> Result<(), GitError> {
        let answer = self.line_session.say(b"commit\n", 1)?;
        self.line_session.end();
        if answer == ["commit: ok"] {
            return Ok(());
        }
        let message = format!("it answered {answer:?}");
        Err(GitError::Git { command: "update-ref".to_owned(), message, source: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectFormat;

    const EMPTY: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

    /// Reading the file `HEAD` is quicker than asking git. The test compares both, and checks when git has to be asked.
    #[test]
    fn the_file_says_where_head_is_or_git_is_asked() {
        let git = Git::find("/usr/local/bin:/usr/bin:/bin".as_ref()).unwrap();
        for (format, from_file) in [("files", [true, true, true, false, false]), ("reftable", [false; 5])] {
            if format == "reftable" && git.version() < (2, 45) {
                continue;
            }
            let folder = tempfile::tempdir().unwrap();
            let at = RepositoryPaths::new(
                folder.path().join(".git"),
                folder.path().to_owned(),
                ObjectFormat::Sha1,
            );
            let ask = |words: &[&str]| {
                let said = git.ask(&at, "test", words, b"").unwrap();
                String::from_utf8(said).unwrap().trim().to_owned()
            };
            let of_format = format!("--ref-format={format}");
            let options = ["init", "-q", "-b", "main", &of_format];
            // An older git knows one format, and no option for it.
            ask(if format == "files" { &options[..4] } else { &options });
            let is_in_file = || {
                let known = branch_in_file(&at);
                assert_eq!(head(&git, &at).unwrap(), asked_head(&git, &at).unwrap());
                known.is_some()
            };
            let mut found = vec![is_in_file()];
            let user =
                ["-c", "user.name=a", "-c", "user.email=a@example.com", "commit-tree", "-m", "x", EMPTY];
            let commit = ask(&user);
            ask(&["update-ref", "refs/heads/main", &commit]);
            found.push(is_in_file());
            ask(&["pack-refs", "--all"]);
            found.push(is_in_file());
            ask(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
            ask(&["symbolic-ref", "HEAD", "refs/heads/alias"]);
            found.push(is_in_file());
            ask(&["update-ref", "--no-deref", "HEAD", &commit]);
            found.push(is_in_file());
            assert_eq!(found, from_file, "{format}");
        }
    }
}
