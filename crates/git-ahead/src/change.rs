use headstart_overlay_fs::{ContentHash, WorkspacePath};
use serde::{Deserialize, Serialize};

use crate::{GitError, ObjectFormat, ObjectName, RefName};

/// What work ahead did to a repository. With the [`ChangeSet`](headstart_overlay_fs::ChangeSet) of its files this is
/// all that an accept in another process needs, except the objects, which are in a pack of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitChange {
    /// The hash by which the repository names its objects.
    pub format: ObjectFormat,
    /// The objects that the repository lacks, if the change needs any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<Objects>,
    /// The contents that git-LFS keeps beside the objects and that the repository lacks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub large: Vec<LargeFile>,
    /// Branches, tags and other refs. `HEAD` is only among them if it is detached before and after.
    pub refs: Vec<RefChange>,
    /// Where `HEAD` is, before and after.
    pub head: Head,
    /// What is staged differently in git's index.
    #[serde(default, skip_serializing_if = "Index::is_empty")]
    pub index: Index,
    /// The paths that differ between a new commit and the ones before it (for a merge, those that differ from all of
    /// them), and those that are staged differently. Rules about paths apply to them as they do to files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<WorkspacePath>,
    /// What else changed in `.git`, as paths from the workspace. It is never applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other: Vec<String>,
}

/// A pack with the objects of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Objects {
    /// The pack's file, below the folder that the reader was given.
    pub pack: String,
    /// The hash of the file.
    pub content: ContentHash,
    /// Its length in bytes.
    pub len: u64,
    /// How many objects are in it.
    pub count: u32,
}

/// A content that git-LFS keeps, of which commits have only a pointer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LargeFile {
    /// The SHA-256 of the content, by which pointers name it.
    pub oid: ObjectName,
    /// The blob with the content, among the objects of the change.
    pub blob: ObjectName,
}

/// A ref that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefChange {
    /// Its name.
    pub name: RefName,
    /// The object it named; `None` if it did not exist.
    pub old: Option<ObjectName>,
    /// The object it names; `None` if it is removed.
    pub new: Option<ObjectName>,
    /// The number of its commits that the repository did not have.
    #[serde(default)]
    pub commits: u32,
    /// The first lines of their messages, the newest first; of many commits only the first few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<String>,
}

/// Where `HEAD` is before and after the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Head {
    /// Where it was.
    Unchanged {
        /// The branch, which need not exist yet; `None` if `HEAD` is detached.
        branch: Option<RefName>,
    },
    /// It is on a branch that the work made, as `git switch -c` does it.
    Switched {
        /// The branch before, which the work left as it was.
        from: RefName,
        /// The new branch.
        to: RefName,
    },
    /// It is somewhere else than before, in another way. The user would find themselves on a branch that they did not
    /// choose, so this is not applied.
    Moved,
}

/// What is staged differently in git's index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Index {
    /// The hash of the index file when the work began; `None` if there was none.
    pub base: Option<ContentHash>,
    /// Its entries that differ, by path.
    pub entries: Vec<IndexEntry>,
}

/// One path of the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexEntry {
    /// The path in the work tree.
    #[serde(with = "bytes")]
    pub path: Vec<u8>,
    /// What was staged; `None` for nothing.
    pub old: Option<Staged>,
    /// What is staged; `None` for nothing.
    pub new: Option<Staged>,
}

/// What git's index holds for a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Staged {
    /// The mode as git writes it: `100644`, `100755`, `120000` or `160000`.
    pub mode: String,
    /// The content.
    pub object: ObjectName,
}

/// A path that is not staged any more as work wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unstaged {
    /// The path.
    pub path: WorkspacePath,
    /// Whether the file as it was before is staged now, and not what the last commit has.
    pub is_staged: bool,
}

impl GitChange {
    /// Whether an accept would change nothing in the repository.
    pub fn is_empty(&self) -> bool {
        self.refs.is_empty() && self.index.is_empty() && self.other.is_empty() && self.head != Head::Moved
    }

    /// Whether both do the same to a repository, wherever their packs are kept.
    pub fn is_same(&self, other: &Self) -> bool {
        Self { objects: None, ..self.clone() } == Self { objects: None, ..other.clone() }
    }

    /// Why an accept does not apply this, in words; `None` if it does. Configuration and hooks name programs that the
    /// user's git would run, so whatever is not known to be harmless counts as one of those.
    pub fn boundary(&self) -> Option<String> {
        let is_moved = self.head == Head::Moved;
        let other: Vec<&str> = self.other.iter().map(String::as_str).collect();
        match other.as_slice() {
            [] | [".git/HEAD"] if is_moved => {
                Some("the work switched to another branch, which is only done for the user if the branch is new and nothing else \
                     became of the one before".to_owned())
            }
            [] => None,
            all => {
                let shown = all[..all.len().min(5)].join(", ");
                let more = if 5 < all.len() { format!(" and {} more", all.len() - 5) } else { String::new() };
                Some(format!("the work changed {shown}{more}, which is never done for the user"))
            }
        }
    }

    /// The objects that refs and the index name because of the work.
    pub fn named(&self) -> impl Iterator<Item = &ObjectName> {
        let refs = self.refs.iter().filter_map(|change| change.new.as_ref());
        refs.chain(self.index.entries.iter().filter_map(|entry| Some(&entry.new.as_ref()?.object)))
    }

    /// The text that is committed along with the files
    /// ([`Workspace::commit_with`](headstart_overlay_fs::Workspace::commit_with)).
    pub fn beside(&self) -> String {
        #[derive(Serialize)]
        struct ParticipantText<'a> {
            change: &'a GitChange,
        }
        serde_json::to_string(&ParticipantText { change: self })
            .expect("works because no map in it has odd keys")
    }

    /// A short description for people: `1 commit on main, tag v1`.
    pub fn summary(&self) -> String {
        let mut words: Vec<String> = self.refs.iter().map(RefChange::summary).collect();
        if words.is_empty() && !self.index.is_empty() {
            words.push(match self.index.entries.len() {
                1 => "1 path staged for git".to_owned(),
                count => format!("{count} paths staged for git"),
            });
        }
        words.extend(self.switched());
        words.join(", ")
    }

    fn switched(&self) -> Option<String> {
        let Head::Switched { to, .. } = &self.head else { return None };
        Some(format!("switched to {}", to.short()))
    }

    /// As [`summary`](Self::summary), with the first lines of the messages of new commits: `1 commit on main: Add
    /// tests`. One line for each ref.
    pub fn lines(&self) -> Vec<String> {
        if self.refs.is_empty() {
            return Some(self.summary()).filter(|summary| !summary.is_empty()).into_iter().collect();
        }
        let line = |change: &RefChange| {
            let more = (change.subjects.len() as u64) < u64::from(change.commits);
            let more = if more && !change.subjects.is_empty() { "; …" } else { "" };
            match change.subjects.as_slice() {
                [] => change.summary(),
                subjects => format!("{}: {}{more}", change.summary(), subjects.join("; ")),
            }
        };
        self.refs.iter().map(line).chain(self.switched()).collect()
    }

    /// The commit that the work ends with: that of the branch it was on, otherwise that of the first ref that it made
    /// or moved.
    pub fn tip(&self) -> Option<&ObjectName> {
        let is_here = |change: &&RefChange| match &self.head {
            Head::Unchanged { branch: Some(branch) } | Head::Switched { to: branch, .. } => {
                change.name == *branch
            }
            _ => change.name.as_str() == "HEAD",
        };
        let here = self.refs.iter().find(is_here).and_then(|change| change.new.as_ref());
        here.or_else(|| self.refs.iter().find_map(|change| change.new.as_ref()))
    }
}

impl RefChange {
    fn summary(&self) -> String {
        let name = self.name.short();
        let kind = if self.name.as_str().starts_with("refs/tags/") { "tag" } else { "branch" };
        match (&self.old, &self.new) {
            (_, None) => format!("{kind} {name} removed"),
            (_, Some(_)) if self.name.as_str() == "refs/stash" => "1 stash".to_owned(),
            (None, Some(_)) if self.commits == 0 || kind == "tag" => format!("{kind} {name}"),
            (_, Some(_)) if self.commits == 1 => format!("1 commit on {name}"),
            (_, Some(_)) if 1 < self.commits => format!("{} commits on {name}", self.commits),
            _ => format!("{kind} {name} moved"),
        }
    }
}

impl Index {
    /// Whether nothing is staged differently.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl TryFrom<&str> for GitChange {
    type Error = GitError;

    /// Reads what [`beside`](Self::beside) gave.
    fn try_from(beside: &str) -> Result<Self, GitError> {
        #[derive(Deserialize)]
        struct ParticipantText {
            change: GitChange,
        }
        let read: Result<ParticipantText, _> = serde_json::from_str(beside);
        read.map(|beside| beside.change)
            .map_err(|error| GitError::Damaged { message: error.to_string(), source: Some(error) })
    }
}

/// Writes a path as text if it is UTF-8, otherwise as numbers.
mod bytes {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Written {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        match str::from_utf8(bytes) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => Written::Bytes(bytes.to_vec()).serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        Ok(match Written::deserialize(deserializer)? {
            Written::Text(text) => text.into_bytes(),
            Written::Bytes(bytes) => bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change() -> GitChange {
        let name = |digit: &str| ObjectName::parse(&digit.repeat(40)).unwrap();
        let main = RefName::parse("refs/heads/main").unwrap();
        let moved = RefChange {
            name: main.clone(),
            old: Some(name("1")),
            new: Some(name("2")),
            commits: 2,
            subjects: vec!["Add tests".to_owned()],
        };
        let tag = RefName::parse("refs/tags/v1").unwrap();
        let made = RefChange { name: tag, old: None, new: Some(name("3")), commits: 2, subjects: Vec::new() };
        let staged = Staged { mode: "100644".to_owned(), object: name("4") };
        let entry = IndexEntry { path: b"odd \xff".to_vec(), old: None, new: Some(staged) };
        GitChange {
            format: ObjectFormat::Sha1,
            objects: None,
            large: Vec::new(),
            refs: vec![made, moved],
            head: Head::Unchanged { branch: Some(main) },
            index: Index { base: None, entries: vec![entry] },
            paths: vec![WorkspacePath::parse("src/a.rs").unwrap()],
            other: Vec::new(),
        }
    }

    #[test]
    fn it_is_read_as_it_was_written() {
        let change = change();
        assert_eq!(GitChange::try_from(&*change.beside()).unwrap(), change);
        assert!(GitChange::try_from("{}").is_err());
    }

    /// A record may be forged, so its names are checked when it is read.
    #[test]
    fn names_that_lead_elsewhere_do_not_come_out_of_json() {
        let forged = change().beside().replace("refs/tags/v1", "refs/tags/../../config");
        assert!(GitChange::try_from(&*forged).is_err());
    }

    #[test]
    fn it_is_told_in_a_few_words() {
        let mut change = change();
        assert_eq!(change.summary(), "tag v1, 2 commits on main");
        assert_eq!(change.lines(), ["tag v1", "2 commits on main: Add tests; …"]);
        assert_eq!(change.tip().unwrap().as_str(), "2".repeat(40), "that of the branch the work was on");
        assert_eq!(change.boundary(), None);
        change.refs.clear();
        assert_eq!(change.summary(), "1 path staged for git");
        change.other.push(".git/config".to_owned());
        assert!(change.boundary().unwrap().contains(".git/config"));
        change.other.clear();
        change.head = Head::Moved;
        assert!(change.boundary().unwrap().contains("another branch"));
    }
}
