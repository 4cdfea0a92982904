use headstart_workspace_path::WorkspacePath;
use serde::{Deserialize, Serialize};

use crate::ContentHash;

/// What commands of a view wrote at a place that their change set leaves out, as files on a disk: for
/// [`Workspace::bring`](crate::Workspace::bring), which moves them, so that neither their number nor their size matters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeldOutput {
    /// The place in the workspace.
    pub path: WorkspacePath,
    /// The absolute path of the files: a folder, or a single file. It has only what differs from the workspace.
    pub files: String,
    /// Whether overlayfs wrote it: a device 0:0 stands for something that was removed, and an attribute marks a folder
    /// that hides the one in the workspace.
    pub overlay: bool,
    /// When the view opened the workspace, in nanoseconds of the clock of files: what changed since has not been seen.
    pub since: i64,
    /// Whether something was at the place then.
    pub existed: bool,
    /// What the view did not show. It looks removed there, and stays as it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<WorkspacePath>,
}

impl HeldOutput {
    /// Tells it from any other, and names the commit that brings it.
    pub fn digest(&self) -> ContentHash {
        let Self { path, files, since, .. } = self;
        let since = since.to_string();
        ContentHash::of(&[path.as_bytes(), b"\0", files.as_bytes(), b"\0", since.as_bytes()].concat())
    }
}
