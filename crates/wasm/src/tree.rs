//! Trees: the one in memory, and the host's own behind a port.

use std::sync::Arc;

use futures::FutureExt;
use headstart_overlay_fs::{
    DirEntry, EntryKind, MemoryTree, Metadata, Tree, TreeError, Workspace, WorkspacePath,
};
use js_sys::Uint8Array;
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::failure::{Failure, json};
use crate::paths::{path, unnamed};
use crate::tree_port::{PortTree, TreePort};

/// Any tree that is passed to an overlay, a commit or an engine, which keeps it.
///
/// In JavaScript, `treeOf` (for reading) and `workspaceOf` in `npm/src/tree.ts` make one of what the developer gave.
#[wasm_bindgen]
pub struct TreeHandle(TreeKind);

enum TreeKind {
    Workspace(Arc<dyn Workspace>),
    Tree(Arc<dyn Tree>),
}

#[wasm_bindgen]
impl TreeHandle {
    /// The host's own tree.
    pub fn port(port: TreePort) -> Self {
        Self(TreeKind::Workspace(Arc::new(PortTree::new(port))))
    }
}

impl TreeHandle {
    pub(crate) fn writable(tree: Arc<dyn Workspace>) -> Self {
        Self(TreeKind::Workspace(tree))
    }

    pub(crate) fn readable(tree: Arc<dyn Tree>) -> Self {
        Self(TreeKind::Tree(tree))
    }

    /// The tree, for reading.
    pub(crate) fn tree(self) -> Arc<dyn Tree> {
        match self.0 {
            TreeKind::Workspace(workspace) => workspace,
            TreeKind::Tree(tree) => tree,
        }
    }

    /// The workspace, for commits.
    pub(crate) fn workspace(self) -> Result<Arc<dyn Workspace>, Failure> {
        match self.0 {
            TreeKind::Workspace(workspace) => Ok(workspace),
            TreeKind::Tree(_) => Err(Failure::input("tree", "it can only be read; give a tree with `write`")),
        }
    }
}

#[derive(Serialize)]
struct MetadataFields {
    kind: EntryKind,
    size: u64,
    executable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<i64>,
}

#[derive(Serialize)]
struct EntryFields {
    name: String,
    kind: EntryKind,
}

/// A [`MetadataFields`] in JSON; `None` if nothing is there.
pub(crate) fn metadata_json(
    found: Result<Metadata, TreeError>,
    modified: impl FnOnce(&Metadata) -> Option<i64>,
) -> Result<Option<String>, Failure> {
    match found {
        Ok(found) => {
            let Metadata { kind, len: size, executable, .. } = found;
            Ok(Some(json(&MetadataFields { kind, size, executable, modified: modified(&found) })))
        }
        Err(TreeError::NotFound { .. } | TreeError::NotADirectory { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A list of [`EntryFields`] in JSON.
pub(crate) fn list_json(entries: Vec<DirEntry>, folder: &WorkspacePath) -> Result<String, Failure> {
    let mut named = Vec::with_capacity(entries.len());
    for DirEntry { name, kind } in entries {
        named.push(EntryFields { name: String::from_utf8(name).map_err(|_| unnamed(folder))?, kind });
    }
    Ok(json(&named))
}

/// The target of a link as a text that JavaScript can hold.
pub(crate) fn link_text(target: Vec<u8>, path: &WorkspacePath) -> Result<String, Failure> {
    Ok(String::from_utf8(target).map_err(|_| unnamed(path))?)
}

/// A workspace in memory, whose answers are there at once.
#[wasm_bindgen]
pub struct MemoryHandle(Arc<MemoryTree>);

#[wasm_bindgen]
impl MemoryHandle {
    /// Makes an empty workspace.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self(Arc::new(MemoryTree::new()))
    }

    /// The same files as a tree.
    pub fn tree(&self) -> TreeHandle {
        TreeHandle(TreeKind::Workspace(self.0.clone()))
    }

    /// As `metadata` of the port.
    pub fn metadata(&self, text: &str) -> Result<Option<String>, Failure> {
        // The time of the change is a counter that every edit raises.
        metadata_json(self.look(&path(text)?), |found| Some(found.fingerprint.changed_ns))
    }

    /// The content of a file.
    pub fn read(&self, text: &str) -> Result<Uint8Array, Failure> {
        Ok(Uint8Array::from(&*ready(self.0.read(&path(text)?))?))
    }

    /// The names in a folder.
    pub fn list(&self, text: &str) -> Result<String, Failure> {
        let path = path(text)?;
        list_json(ready(self.0.list(&path))?, &path)
    }

    /// Where a link points.
    #[wasm_bindgen(js_name = readLink)]
    pub fn read_link(&self, text: &str) -> Result<String, Failure> {
        let path = path(text)?;
        link_text(ready(self.0.read_link(&path))?, &path)
    }

    /// Writes a file, new or in place of an existing one. Without `executable` that bit stays as it was.
    pub fn write(&self, text: &str, content: Vec<u8>, executable: Option<bool>) -> Result<(), Failure> {
        let path = path(text)?;
        self.check_parents(&path)?;
        match self.look(&path) {
            Ok(found) if found.kind == EntryKind::Directory => {
                return Err(TreeError::IsADirectory { path }.into());
            }
            Ok(found) if found.kind != EntryKind::File => {
                let reason = "it is not a regular file; remove it first".to_owned();
                return Err(TreeError::Unsupported { path, reason }.into());
            }
            _ => {}
        }
        self.0.write(&path, content);
        if let Some(executable) = executable {
            self.0.make_executable(&path, executable);
        }
        Ok(())
    }

    /// Makes a folder, and missing ones above it, where nothing is.
    #[wasm_bindgen(js_name = createDir)]
    pub fn create_dir(&self, text: &str) -> Result<(), Failure> {
        let path = self.vacant_path(text)?;
        self.0.make_dir(&path);
        Ok(())
    }

    /// Makes a link where nothing is.
    pub fn symlink(&self, text: &str, target: &str) -> Result<(), Failure> {
        let path = self.vacant_path(text)?;
        self.0.link(&path, target);
        Ok(())
    }

    /// Removes a file, a link or an empty folder.
    pub fn remove(&self, text: &str) -> Result<(), Failure> {
        let path = path(text)?;
        let found = self.look(&path)?;
        let is_kept =
            found.kind == EntryKind::Directory && (path.is_root() || !ready(self.0.list(&path))?.is_empty());
        if is_kept {
            let reason = "it is a folder that is not empty, or the root".to_owned();
            return Err(TreeError::Unsupported { path, reason }.into());
        }
        self.0.remove(&path);
        Ok(())
    }
}

impl MemoryHandle {
    fn look(&self, path: &WorkspacePath) -> Result<Metadata, TreeError> {
        ready(self.0.metadata(path))
    }

    /// A path at which something can be made.
    fn vacant_path(&self, text: &str) -> Result<WorkspacePath, Failure> {
        let path = path(text)?;
        self.check_parents(&path)?;
        match self.look(&path) {
            Err(TreeError::NotFound { .. }) => Ok(path),
            Ok(_) => Err(TreeError::AlreadyExists { path }.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Refuses a path that would need a folder in place of a file or link.
    fn check_parents(&self, path: &WorkspacePath) -> Result<(), TreeError> {
        let above = std::iter::successors(path.parent(), WorkspacePath::parent);
        for folder in above {
            match self.look(&folder) {
                Ok(found) if found.kind != EntryKind::Directory => {
                    return Err(TreeError::NotADirectory { path: folder });
                }
                Ok(_) | Err(TreeError::NotFound { .. } | TreeError::NotADirectory { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn ready<T>(answer: impl Future<Output = T>) -> T {
    answer.now_or_never().expect("works because a tree in memory waits for nothing")
}
