use headstart_workspace_path::WorkspacePath;

use crate::TreeError;

/// The most links in one path, as in the kernel, before it counts as a circle.
const MAX_LINKS: u32 = 40;

/// Resolves the symbolic links of one path, name by name, without access to a tree.
///
/// The caller looks up the path that [`next`](Self::next) asks for, and answers with [`enter`](Self::enter) for a
/// folder or [`follow`](Self::follow) for a link.
pub(crate) struct Walk {
    asked: WorkspacePath,
    at: WorkspacePath,
    /// The remaining names, last first. `..` may be among them; `.` and empty names are not.
    rest: Vec<Vec<u8>>,
    links: u32,
}

impl Walk {
    pub(crate) fn new(path: &WorkspacePath) -> Self {
        let rest = path.names().rev().map(<[u8]>::to_vec).collect();
        Self { asked: path.clone(), at: WorkspacePath::root(), rest, links: 0 }
    }

    /// Starts in the folder that holds the path, which is known to be reached without a link.
    pub(crate) fn from_folder(path: &WorkspacePath, folder: WorkspacePath) -> Self {
        let rest = path.file_name().map(<[u8]>::to_vec).into_iter().collect();
        Self { asked: path.clone(), at: folder, rest, links: 0 }
    }

    /// The next path to look up; `None` when the walk has arrived [`at`](Self::at) a folder.
    pub(crate) fn next(&mut self) -> Result<Option<WorkspacePath>, TreeError> {
        while let Some(name) = self.rest.pop() {
            if name == b".." {
                self.at = self.at.parent().ok_or_else(|| self.escapes())?;
                continue;
            }
            return match self.at.join_bytes(&name) {
                Ok(next) => Ok(Some(next)),
                Err(_) => Err(self.escapes()),
            };
        }
        Ok(None)
    }

    /// Where the walk is: always a folder that is not a link.
    pub(crate) fn at(&self) -> &WorkspacePath {
        &self.at
    }

    /// Whether the path that was asked for last is the end of the walk.
    pub(crate) fn is_last(&self) -> bool {
        self.rest.is_empty()
    }

    /// `path` is a folder, so the walk goes on in it.
    pub(crate) fn enter(&mut self, path: WorkspacePath) {
        self.at = path;
    }

    /// The path that was asked for last is a link with this target.
    pub(crate) fn follow(&mut self, target: &[u8]) -> Result<(), TreeError> {
        self.links += 1;
        if self.links > MAX_LINKS || target.is_empty() || target.starts_with(b"/") {
            return Err(self.escapes());
        }
        let names = target.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".");
        self.rest.extend(names.rev().map(<[u8]>::to_vec));
        Ok(())
    }

    /// The path that `missing` and all names behind it would have, if somebody made it.
    pub(crate) fn beyond(&self, missing: WorkspacePath) -> Result<WorkspacePath, TreeError> {
        let mut path = missing;
        for name in self.rest.iter().rev() {
            if name == b".." {
                return Err(TreeError::NotFound { path: self.asked.clone() });
            }
            path = path.join_bytes(name).map_err(|_| self.escapes())?;
        }
        Ok(path)
    }

    pub(crate) fn escapes(&self) -> TreeError {
        TreeError::Escapes { path: self.asked.clone() }
    }
}

/// Where a link at `path` with this target leads, judging by its text alone; `None` if that is out of the workspace,
/// or if the text does not tell, because it steps up from a name that may itself be a link.
pub(crate) fn link_target(path: &WorkspacePath, target: &[u8]) -> Option<WorkspacePath> {
    let names = target.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".");
    if names.skip_while(|name| *name == b"..").any(|name| name == b"..") {
        return None;
    }
    path.parent()?.join_bytes(target).ok()
}
