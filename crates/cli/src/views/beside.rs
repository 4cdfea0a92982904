//! What a view shows of a repository that lies outside of the workspace: that of a linked worktree, of a submodule, or
//! of a folder above, with that folder.

use std::path::{Path, PathBuf};

use headstart_shadow::Beside;
use headstart_tool_gate::DenyRules;
use headstart_toolbox::SecretAccess;

use super::Views;
use crate::git::{Family, tracks_one};
use crate::system::path_of_bytes;

impl Views {
    /// The folders that commands find in a view; the error says why git finds no repository in it.
    ///
    /// Git is shown only where it tells the truth there, and nothing that is closed.
    pub(super) fn beside(&self, deny: &DenyRules) -> Result<Vec<Beside>, &'static str> {
        let workspace = &self.options.workspace;
        let family = Family::of(workspace, self.home.as_deref())?;
        if family.is_in_workspace() {
            return Ok(Vec::new());
        }
        if !self.shows_outside {
            return Err("its repository lies outside the workspace, which this view does not show");
        }
        if !deny.is_empty() {
            return Err("its repository lies outside the workspace, and may hold what a deny rule covers");
        }
        if SecretAccess::of(deny) == SecretAccess::Closed && family.holds_token() {
            return Err("the configuration of its repository holds a password or a token");
        }
        let unknown = "it cannot be told which files around the workspace are closed";
        let closed = self.closed(deny).map_err(|_| unknown)?;
        let mut masked = Vec::new();
        if let Some(top) = &family.top {
            let around = self.closed_around.closed(top, deny, SecretAccess::of(deny)).map_err(|_| unknown)?;
            let outside = around
                .into_iter()
                .filter(|path| path.as_str().is_none_or(|path| !top.join(path).starts_with(workspace)));
            masked.extend(outside);
        }
        let is_tracked = |folder, paths: &[_]| !paths.is_empty() && tracks_one(folder, paths);
        if is_tracked(workspace.as_path(), &closed)
            || family.top.as_ref().is_some_and(|top| is_tracked(top.as_path(), &masked))
        {
            return Err("its repository lies outside the workspace, and tracks a file that is closed");
        }
        let whole = family.folders.into_iter().map(|folder| Beside { folder, masked: Vec::new() });
        let around = family.top.map(|folder| {
            let paths = masked.iter().filter_map(|path| path_of_bytes(path.as_bytes()).ok());
            Beside { folder, masked: paths.collect() }
        });
        Ok(around.into_iter().chain(whole).collect())
    }

    /// Takes what a command wrote to a repository outside of the workspace out of these paths. The answer is whether
    /// there was something.
    pub(super) fn take_repositorys(&self, outside: &mut Vec<PathBuf>) -> bool {
        let Ok(family) = Family::of(&self.options.workspace, self.home.as_deref()) else { return false };
        let count = outside.len();
        outside.retain(|path| !family.has(path));
        outside.len() < count
    }

    /// Whether a path belongs to a tool's own folder, which a variable names. Programs that the tool installs for its
    /// user do not count.
    pub(super) fn is_cache(&self, path: &Path) -> bool {
        let tools = self.options.tools.iter().filter_map(|tool| path.strip_prefix(tool).ok());
        tools.into_iter().any(|below| !below.starts_with("bin"))
    }

    /// A path outside the workspace, in the form that its user writes.
    pub(super) fn display_path(&self, path: &Path) -> String {
        match self.home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
            Some(below) => format!("~/{}", below.display()),
            None => path.display().to_string(),
        }
    }
}
