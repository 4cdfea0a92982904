//! Turns edits that a server proposes into changes that are staged in one step.

mod apply;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use headstart_workspace_path::WorkspacePath;

use self::text::apply_text_edits;
use super::protocol::{DocumentChange, Edit, FileOperation, TextEdit, WorkspaceEdit};
use crate::uri::{UriTarget, target_of};
use crate::{Position, PositionEncoding};

/// The most steps of one edit.
const STEPS: usize = 2_000;

/// Folders in which no edit of a server may change anything.
const PROTECTED: [&str; 2] = [".git", ".headstart"];

/// Why a server's edit is refused. Nothing of it is staged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// It changes a file outside the workspace.
    #[error("the edit reaches {name}, which is outside the workspace")]
    Outside {
        /// Its last name.
        name: String,
    },
    /// It changes a path that may not be written.
    #[error("the edit reaches {path}, which is protected")]
    Protected {
        /// The path.
        path: WorkspacePath,
    },
    /// It was made for another version of a document.
    #[error("the edit is for version {theirs} of {path}, and this is version {ours}; ask again")]
    Version {
        /// The path.
        path: WorkspacePath,
        /// The version that the server was given last.
        ours: i32,
        /// The version for which it was made.
        theirs: i32,
    },
    /// Two edits of one text touch the same place.
    #[error("edits of {path} overlap")]
    Overlap {
        /// The path.
        path: WorkspacePath,
    },
    /// A position lies within a character, or a range ends before it starts.
    #[error("an edit of {path} is at no place of its text")]
    InvalidPosition {
        /// The path.
        path: WorkspacePath,
    },
    /// It edits a file that does not exist, or is not text.
    #[error("{path} is no text file that could be edited")]
    NoText {
        /// The path.
        path: WorkspacePath,
    },
    /// What is staged has changed since the server was asked.
    #[error("{path} changed meanwhile; ask again")]
    Changed {
        /// The path.
        path: WorkspacePath,
    },
    /// It makes a file where one exists.
    #[error("{path} exists already")]
    Exists {
        /// The path.
        path: WorkspacePath,
    },
    /// It moves or removes something that does not exist.
    #[error("{path} does not exist")]
    Missing {
        /// The path.
        path: WorkspacePath,
    },
    /// It removes a folder that is not empty, without saying so.
    #[error("{path} is a folder that is not empty")]
    NotEmpty {
        /// The path.
        path: WorkspacePath,
    },
    /// It has placeholders for a person to fill in, or is longer than any that makes sense.
    #[error("the edit is not understood: {why}")]
    NotUnderstood {
        /// What is not understood.
        why: String,
    },
}

/// Changes that are staged together or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EditPlan {
    steps: Vec<EditStep>,
}

/// One step of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
enum EditStep {
    /// A text in place of another.
    Text { path: WorkspacePath, before: String, after: String },
    /// An empty file.
    Create { path: WorkspacePath, overwrite: bool, ignore: bool },
    /// A file or folder at another path.
    Rename { from: WorkspacePath, to: WorkspacePath, overwrite: bool, ignore: bool },
    /// No file or folder.
    Delete { path: WorkspacePath, recursive: bool, ignore: bool },
}

/// The state in which the server was asked.
pub(crate) struct EditContext<'a> {
    /// The root, as the server sees it.
    pub(crate) root: &'a str,
    /// The encoding in which it counts.
    pub(crate) encoding: PositionEncoding,
    /// The versions of open documents.
    pub(crate) versions: BTreeMap<WorkspacePath, i32>,
    /// Whether a path is closed to whoever asks.
    pub(crate) closed: &'a (dyn Fn(&WorkspacePath) -> bool + Send + Sync),
}

/// A step as the server wrote it, with paths instead of addresses.
enum ProposedStep {
    Text { path: WorkspacePath, version: Option<i32>, edits: Vec<TextEdit> },
    Step(EditStep),
}

/// An edit of a server before the texts are known.
pub(crate) struct ProposedEdit {
    steps: Vec<ProposedStep>,
}

impl ProposedEdit {
    /// Reads an edit. The paths are checked before anything else.
    pub(crate) fn read(edit: WorkspaceEdit, asked: &EditContext<'_>) -> Result<Self, EditError> {
        let mut steps = Vec::new();
        if let Some(changes) = edit.document_changes {
            for change in changes {
                steps.push(read_change(change, asked)?);
            }
        } else {
            for (uri, edits) in edit.changes.unwrap_or_default() {
                steps.push(ProposedStep::Text { path: path_of(&uri, asked)?, version: None, edits });
            }
        }
        if STEPS < steps.len() {
            return Err(EditError::NotUnderstood { why: format!("it has {} steps", steps.len()) });
        }
        Ok(Self { steps })
    }

    /// The paths whose texts are needed, with their names before the edit.
    pub(crate) fn texts_needed(&self) -> BTreeSet<WorkspacePath> {
        let mut renames: Vec<(&WorkspacePath, &WorkspacePath)> = Vec::new();
        let mut needed = BTreeSet::new();
        for step in &self.steps {
            match step {
                ProposedStep::Text { path, .. } => {
                    needed.insert(origin(path, &renames));
                }
                ProposedStep::Step(EditStep::Rename { from, to, .. }) => renames.push((from, to)),
                ProposedStep::Step(_) => {}
            }
        }
        needed
    }

    /// Applies the edits to the texts.
    pub(crate) fn plan(
        self,
        texts: &BTreeMap<WorkspacePath, String>,
        asked: &EditContext<'_>,
    ) -> Result<EditPlan, EditError> {
        let mut now: BTreeMap<WorkspacePath, String> = BTreeMap::new();
        let mut renames: Vec<(WorkspacePath, WorkspacePath)> = Vec::new();
        let mut steps = Vec::new();
        for step in self.steps {
            match step {
                ProposedStep::Text { path, version, edits } => {
                    let borrowed: Vec<_> = renames.iter().map(|(from, to)| (from, to)).collect();
                    let origin = origin(&path, &borrowed);
                    let before = now.get(&path).or_else(|| texts.get(&origin)).cloned();
                    let before = before.ok_or_else(|| EditError::NoText { path: path.clone() })?;
                    let ours = asked.versions.get(&origin).copied();
                    if let (Some(ours), Some(theirs)) = (ours, version)
                        && ours != theirs
                    {
                        return Err(EditError::Version { path, ours, theirs });
                    }
                    let after = apply_text_edits(&path, &before, &edits_of(edits), asked.encoding)?;
                    now.insert(path.clone(), after.clone());
                    if before != after {
                        steps.push(EditStep::Text { path, before, after });
                    }
                }
                ProposedStep::Step(step) => {
                    match &step {
                        EditStep::Create { path, .. } => {
                            now.entry(path.clone()).or_default();
                        }
                        EditStep::Rename { from, to, .. } => {
                            let moved = now.iter().filter_map(|(path, text)| {
                                let rest = path.strip_prefix(from)?;
                                Some((path.clone(), below(to, &rest), text.clone()))
                            });
                            for (old, new, text) in moved.collect::<Vec<_>>() {
                                now.remove(&old);
                                now.insert(new, text);
                            }
                            renames.push((from.clone(), to.clone()));
                        }
                        EditStep::Delete { path, .. } => now.retain(|known, _| !known.starts_with(path)),
                        EditStep::Text { .. } => {}
                    }
                    steps.push(step);
                }
            }
        }
        Ok(EditPlan { steps })
    }
}

/// The edits of a text as positions and new texts.
fn edits_of(edits: Vec<TextEdit>) -> Vec<(Position, Position, String)> {
    edits.into_iter().map(|edit| (edit.range.start, edit.range.end, edit.new_text)).collect()
}

fn read_change(change: DocumentChange, asked: &EditContext<'_>) -> Result<ProposedStep, EditError> {
    let operation = match change {
        DocumentChange::Text(edit) => {
            let path = path_of(&edit.text_document.uri, asked)?;
            let edits = edit.edits.into_iter().map(|edit| match edit {
                Edit::Text(edit) => Ok(edit),
                Edit::Snippet { .. } => {
                    Err(EditError::NotUnderstood { why: "it has blanks to fill in".to_owned() })
                }
            });
            let edits = edits.collect::<Result<_, _>>()?;
            return Ok(ProposedStep::Text { path, version: edit.text_document.version, edits });
        }
        DocumentChange::File(operation) => operation,
    };
    Ok(ProposedStep::Step(match operation {
        FileOperation::Create { uri, options } => {
            let options = options.unwrap_or_default();
            let (overwrite, ignore) = (options.overwrite, options.ignore_if_exists);
            EditStep::Create { path: path_of(&uri, asked)?, overwrite, ignore }
        }
        FileOperation::Rename { old_uri, new_uri, options } => {
            let (from, to) = (path_of(&old_uri, asked)?, path_of(&new_uri, asked)?);
            let options = options.unwrap_or_default();
            let (overwrite, ignore) = (options.overwrite, options.ignore_if_exists);
            EditStep::Rename { from, to, overwrite, ignore }
        }
        FileOperation::Delete { uri, options } => {
            let options = options.unwrap_or_default();
            let (recursive, ignore) = (options.recursive, options.ignore_if_not_exists);
            EditStep::Delete { path: path_of(&uri, asked)?, recursive, ignore }
        }
    }))
}

fn path_of(uri: &str, asked: &EditContext<'_>) -> Result<WorkspacePath, EditError> {
    let path = match target_of(asked.root, uri) {
        UriTarget::Inside(path) => path,
        UriTarget::Outside(name) => return Err(EditError::Outside { name }),
    };
    let is_protected =
        |name: &[u8]| PROTECTED.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
    if path.is_root() || path.names().any(is_protected) || (asked.closed)(&path) {
        return Err(EditError::Protected { path });
    }
    Ok(path)
}

/// The path before the renames.
fn origin(path: &WorkspacePath, renames: &[(&WorkspacePath, &WorkspacePath)]) -> WorkspacePath {
    renames.iter().rev().fold(path.clone(), |path, (from, to)| match path.strip_prefix(to) {
        Some(rest) => below(from, &rest),
        None => path,
    })
}

fn below(folder: &WorkspacePath, rest: &WorkspacePath) -> WorkspacePath {
    if rest.is_root() { folder.clone() } else { folder.join_bytes(rest.as_bytes()).unwrap_or_default() }
}

#[cfg(test)]
mod tests;
