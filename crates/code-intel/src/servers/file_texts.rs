//! The text of a file in a state.

use std::collections::BTreeMap;
use std::sync::Arc;

use headstart_overlay_fs::{ChangeSet, Tree, TreeError};
use headstart_workspace_path::WorkspacePath;

use crate::servers::change_sets::{StagedState, staged};
use crate::servers::session::OpenText;
use crate::{IntelError, Snapshot};

/// A larger file is not sent to a server, in bytes.
const FILE_BYTES: usize = 4 << 20;
/// The most documents of one state.
const DOCUMENTS: usize = 60;

/// The workspace as it is on disk, and the changes that are staged over it.
#[derive(Clone)]
pub(crate) struct FileTexts {
    pub(crate) base: Arc<dyn Tree>,
}

impl FileTexts {
    /// The text of a file. The error says why there is none.
    pub(crate) async fn read(
        &self,
        snapshot: &Snapshot,
        path: &WorkspacePath,
    ) -> Result<Arc<str>, IntelError> {
        if (snapshot.closed)(path) {
            return Err(IntelError::ClosedPath { path: path.clone() });
        }
        let bytes = match staged(&snapshot.changes, path) {
            StagedState::File(content) => content.to_vec(),
            StagedState::Gone => return Err(TreeError::NotFound { path: path.clone() }.into()),
            StagedState::Other => return Err(IntelError::NoText { path: path.clone() }),
            StagedState::Untouched => self.base.read(path).await?,
        };
        if FILE_BYTES < bytes.len() {
            return Err(IntelError::TooLarge { path: path.clone(), bytes: bytes.len(), limit: FILE_BYTES });
        }
        let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        text.map(Into::into).ok_or_else(|| IntelError::NoText { path: path.clone() })
    }

    /// The paths that have a text in this state, as documents.
    pub(crate) async fn open(
        &self,
        snapshot: &Snapshot,
        paths: impl IntoIterator<Item = WorkspacePath>,
    ) -> Vec<OpenText> {
        let mut open = Vec::new();
        for path in paths {
            if open.len() < DOCUMENTS
                && let Ok(text) = self.read(snapshot, &path).await
            {
                open.push(OpenText { path, text });
            }
        }
        open
    }

    /// The texts of these paths, by path; those without one are left out.
    pub(crate) async fn all(
        &self,
        snapshot: &Snapshot,
        paths: impl IntoIterator<Item = WorkspacePath>,
    ) -> BTreeMap<WorkspacePath, String> {
        let mut texts = BTreeMap::new();
        for path in paths {
            if let Ok(text) = self.read(snapshot, &path).await {
                texts.insert(path, text.to_string());
            }
        }
        texts
    }
}

/// The state on disk, with the same paths closed.
pub(crate) fn on_disk(snapshot: &Snapshot) -> Snapshot {
    Snapshot { changes: Arc::new(ChangeSet::default()), closed: snapshot.closed.clone() }
}
