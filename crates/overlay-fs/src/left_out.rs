use headstart_workspace_path::WorkspacePath;
use serde::{Deserialize, Serialize};

/// The most paths of one kind that are named in one sentence.
const MAX_NAMED: usize = 3;

/// Of what is left out, a user can keep so many files of one work, and so many bytes in them. All of them wait in memory
/// and in the record of the work, which each call writes anew.
pub const MOST_KEPT: (usize, u64) = (1_000, 64 << 20);

/// Something that work wrote or removed and that is not part of its change set, because git ignores it, a build made it,
/// or it is in a folder that ends with a view. A commit leaves it as it is on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeftOut {
    /// The topmost path, or an absolute one that is not in the workspace.
    pub path: String,
    /// Whether it is a folder.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub folder: bool,
    /// The files and links that were written: 1 for a file, and 0 if something was only removed.
    pub written: u64,
    /// Whether more was written than was counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// Whether it is a cache or an intermediate result, by its name (`target`, `__pycache__`), which tools make again and
    /// nobody misses.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cache: bool,
    /// The files, links and folders that were removed, as far as they were counted.
    #[serde(default, skip_serializing_if = "is_none")]
    pub removed: u64,
    /// Why an accept cannot bring what was written, even if its user wants it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<KeepObstacle>,
}

/// Why something that is left out stays so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum KeepObstacle {
    /// It is more than an accept brings: the bytes as far as they were counted.
    TooMuch {
        /// The bytes.
        bytes: u64,
    },
    /// Tools make it again (`target`, `node_modules`).
    Cache,
    /// Something in it cannot be a change: a link that leads out, a file that nobody may read, or one in place of a folder.
    Unfit,
    /// It changed on disk while the command ran.
    Changed,
    /// The rules close something in it.
    Closed,
    /// It was in a view that has ended.
    Gone,
    /// It is outside the workspace.
    Outside,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_none(number: &u64) -> bool {
    *number == 0
}

impl KeepObstacle {
    fn words(self) -> String {
        match self {
            Self::TooMuch { bytes } => {
                let much =
                    if 1 << 20 <= bytes { &format!("much, {} MiB", bytes >> 20) } else { "many files" };
                let (files, most) = (MOST_KEPT.0 / 1_000, MOST_KEPT.1 >> 20);
                format!("too {much}; at most {files},000 files and {most} MiB are kept")
            }
            Self::Cache => "its tool makes it again".to_owned(),
            Self::Unfit => "an accept cannot write it".to_owned(),
            Self::Changed => "it changed meanwhile".to_owned(),
            Self::Closed => "the rules close it".to_owned(),
            Self::Gone => "its view has ended".to_owned(),
            Self::Outside => "it is outside the workspace".to_owned(),
        }
    }
}

impl LeftOut {
    /// A file outside the workspace.
    pub fn outside(path: String) -> Self {
        Self { path, written: 1, obstacle: Some(KeepObstacle::Outside), ..Self::default() }
    }

    /// What is still left out once an accept has brought what was written here; `None` if that is nothing.
    pub fn after_keeping(&self) -> Option<Self> {
        match (self.obstacle, self.removed) {
            (Some(_), _) => Some(self.clone()),
            (None, 0) if 0 < self.written => None,
            (None, _) => Some(Self { written: 0, more: false, ..self.clone() }),
        }
    }

    /// As [`words`](Self::words), with the reason why an accept cannot bring it.
    fn words_with_obstacle(&self) -> String {
        let words = self.words();
        self.obstacle.map_or(words.clone(), |obstacle| format!("{words}: {}", obstacle.words()))
    }

    /// What stays left out if the user keeps these rows, and why, in a few words.
    pub fn list_unkept(rows: &[Self]) -> Option<String> {
        let named = rows.iter().filter(|row| !row.cache).filter_map(Self::after_keeping);
        let named: Vec<_> = named.map(|row| row.words_with_obstacle()).collect();
        (!named.is_empty()).then(|| list_names(&named))
    }

    /// What is left out, in a few words: `dist/ (31 files)`, `the removal of .env.local`.
    pub fn words(&self) -> String {
        let slash = if self.folder { "/" } else { "" };
        let path = format!("{}{slash}", self.path);
        match (self.written, self.more) {
            (0, _) if self.folder => format!("removed files of {path}"),
            (0, _) => format!("the removal of {path}"),
            (1, false) if self.folder => format!("{path} (1 file)"),
            (written, more) if self.folder => {
                format!("{path} ({written}{} files)", if more { "+" } else { "" })
            }
            _ => path,
        }
    }

    /// As [`list`](Self::list), with the reasons why they cannot be kept.
    pub fn list_with_obstacles(rows: &[Self]) -> Option<String> {
        let named: Vec<_> = rows.iter().filter(|row| !row.cache).map(Self::words_with_obstacle).collect();
        (!named.is_empty()).then(|| list_names(&named))
    }

    /// Several of them in a few words. Caches are not named, unless there is nothing else.
    pub fn list(rows: &[Self]) -> Option<String> {
        let named: Vec<_> = rows.iter().filter(|row| !row.cache).map(Self::words).collect();
        (!named.is_empty()).then(|| list_names(&named))
    }
}

/// What a command removed or emptied while something is at places that a commit does not reach, so that the only copy of
/// a content may be there; or that it wrote where a rule lets nothing be written. The change set must not be committed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Torn {
    /// What would be gone. Nothing, if all that is wrong is that a closed path was written.
    pub removed: Vec<WorkspacePath>,
    /// Where its content may be, as the command would name it.
    pub written: Vec<String>,
}

impl Torn {
    /// What happened, in a few words that follow the name of the command.
    pub fn words(&self) -> String {
        if self.removed.is_empty() {
            return format!("writes to {}, which is closed to it", list_names(&self.written));
        }
        let removed: Vec<_> = self.removed.iter().map(ToString::to_string).collect();
        let copies = if removed.len() == 1 { "a copy of it" } else { "copies of them" };
        let (removed, written) = (list_names(&removed), list_names(&self.written));
        format!("takes {removed} away, and {copies} may be in {written}, which an accept does not bring")
    }
}

fn list_names(names: &[String]) -> String {
    let shown = names.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
