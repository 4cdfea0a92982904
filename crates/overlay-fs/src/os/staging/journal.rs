use serde::{Deserialize, Serialize};

use crate::os::disk::seen::FileState;
use crate::{ContentHash, WorkspacePath};

/// The format. It is raised when an older headstart would misread a journal.
const FORMAT: u32 = 1;
/// The format of a journal with a participant, which an older headstart would forget.
const WITH_BESIDE: u32 = 2;

/// What a commit, or an undo, is about to do, in order. It is written to the medium before the first step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::os) struct Journal {
    format: u32,
    /// The digest of the change set.
    #[serde(default)]
    pub(in crate::os) changes: Option<ContentHash>,
    /// The identity of the folder that contains it. A journal that came with the project, in an archive or a
    /// repository, cannot have the right one.
    #[serde(default)]
    folder: String,
    pub(in crate::os) steps: Vec<Step>,
    /// What the participant commits along with the files, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::os) beside: Option<String>,
    /// The turn to which the commit belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::os) turn: Option<InTurn>,
}

/// The place of a commit in a turn of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::os) struct InTurn {
    pub(in crate::os) turn: ContentHash,
    /// How many commits the turn had made before.
    pub(in crate::os) place: u32,
}

/// One move that changes the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::os) struct Step {
    pub(in crate::os) path: WorkspacePath,
    pub(in crate::os) action: Action,
    /// The name, in the staging folder, of what goes in or comes out.
    pub(in crate::os) name: String,
    /// What must come out of the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::os) old: Option<FileState>,
    /// What goes in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::os) new: Option<FileState>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::os) enum Action {
    /// The file or link at the path moves to the staging folder.
    TakeAway,
    /// The folder at the path, which is empty by then, is removed. A copy of it waits in the staging folder.
    RemoveFolder,
    /// As [`RemoveFolder`](Self::RemoveFolder), for a folder that an undone commit had made: it stays if something is
    /// in it.
    RemoveOwnFolder,
    /// The folder in the staging folder moves to the path, unless there is one already.
    MakeFolder,
    /// What waits in the staging folder moves to the path, where nothing is.
    Put,
    /// What waits and what is at the path are exchanged.
    Replace,
}

impl Journal {
    pub(in crate::os) fn new(changes: ContentHash, folder: String, steps: Vec<Step>) -> Self {
        Self { format: FORMAT, changes: Some(changes), folder, steps, beside: None, turn: None }
    }

    /// The journal with what a participant noted.
    pub(in crate::os) fn with_beside(self, beside: Option<&str>) -> Self {
        let format = if beside.is_some() { WITH_BESIDE } else { self.format };
        Self { format, beside: beside.map(str::to_owned), ..self }
    }

    /// The journal of a commit that belongs to a turn.
    pub(in crate::os) fn with_turn(self, turn: Option<InTurn>) -> Self {
        Self { turn, ..self }
    }

    /// Whether it was written for the folder with this identity.
    pub(in crate::os) fn is_of(&self, folder: &str) -> bool {
        self.folder == folder
    }

    fn has_known_format(&self) -> bool {
        self.format == if self.beside.is_some() { WITH_BESIDE } else { FORMAT }
    }

    /// The form on the disk: JSON, and its hash in a line of its own.
    pub(in crate::os) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("works because no map in it has odd keys");
        let hash = ContentHash::of(&bytes);
        bytes.extend_from_slice(format!("\n{hash}\n").as_bytes());
        bytes
    }

    /// Reads a journal; `None` if it is not what was written, or from a newer headstart.
    pub(in crate::os) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.strip_suffix(b"\n")?;
        let (body, hash) = bytes.split_at(bytes.iter().rposition(|byte| *byte == b'\n')?);
        if hash.get(1..)? != ContentHash::of(body).to_string().as_bytes() {
            return None;
        }
        serde_json::from_slice::<Self>(body).ok().filter(Self::has_known_format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal() -> Journal {
        let path = WorkspacePath::from_bytes(b"odd \xff\n").unwrap();
        let action = Action::TakeAway;
        Journal::new(
            ContentHash::of(b""),
            "1-2-3".to_owned(),
            vec![Step { path, action, name: "0-old".to_owned(), old: None, new: None }],
        )
    }

    #[test]
    fn a_journal_is_read_as_it_was_written() {
        assert_eq!(Journal::parse(&journal().to_bytes()), Some(journal()));
    }

    /// A journal has a hash, so that no incomplete or damaged journal is followed.
    #[test]
    fn a_journal_that_is_cut_or_has_another_byte_is_none() {
        let bytes = journal().to_bytes();
        for end in 0..bytes.len() {
            assert_eq!(Journal::parse(&bytes[..end]), None, "cut at {end}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(Journal::parse(&damaged), None, "damaged at {at}");
        }
        let newer = Journal { format: WITH_BESIDE + 1, ..journal() };
        assert_eq!(Journal::parse(&newer.to_bytes()), None);
    }

    /// An older version would forget what is not about files, so such a journal has a format that older versions
    /// refuse.
    #[test]
    fn a_journal_with_something_beside_the_files_is_none_for_who_would_forget_it() {
        let beside = journal().with_beside(Some("refs"));
        assert_eq!(Journal::parse(&beside.to_bytes()), Some(beside.clone()));
        assert_ne!(beside.format, FORMAT, "it is one that an older headstart refuses");
        let forged = Journal { format: FORMAT, ..beside };
        assert_eq!(Journal::parse(&forged.to_bytes()), None);
    }
}
