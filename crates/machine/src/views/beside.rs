//! What a view shows of a repository that lies outside of the workspace: that of a linked worktree, of a submodule, or
//! of a folder above, with that folder.

use std::path::{Path, PathBuf};

use headstart_overlay_fs::WorkspacePath;
use headstart_shadow::Beside;
use headstart_tool_gate::DenyRules;
use headstart_toolbox::SecretAccess;

use super::Views;
use crate::git::{Family, tracks_one};
use crate::system::path_of_bytes;

/// The folders outside the workspace that commands find in a view.
#[derive(Default)]
pub(super) struct Around {
    pub(super) folders: Vec<Beside>,
    /// Why git finds no repository among them.
    pub(super) without_git: Option<&'static str>,
}

impl Around {
    fn nothing(why: &'static str) -> Self {
        Self { folders: Vec::new(), without_git: Some(why) }
    }
}

impl Views {
    /// What is shown around the workspace: what lies below the top of its repository, for a package of several needs its
    /// neighbours and what is installed for all of them; and git, where it tells the truth there. Nothing that is closed
    /// is shown.
    pub(super) fn beside(&self, deny: &DenyRules) -> Around {
        let workspace = &self.options.workspace;
        let family = match Family::of(workspace, self.home.as_deref()) {
            Ok(family) if family.is_in_workspace() => return Around::default(),
            Ok(family) => family,
            Err(why) => return Around::nothing(why),
        };
        if !self.shows_outside {
            return Around::nothing(
                "its repository lies outside the workspace, which this view does not show",
            );
        }
        if !deny.is_empty() {
            return Around::nothing(
                "its repository lies outside the workspace, and may hold what a deny rule covers",
            );
        }
        let unknown = || Around::nothing("it cannot be told which files around the workspace are closed");
        let Ok(closed) = self.closed(deny) else { return unknown() };
        let mut masked = Vec::new();
        if let Some(top) = &family.top {
            let Ok(around) = self.closed_around.closed(top, deny, SecretAccess::of(deny)) else {
                return unknown();
            };
            let is_outside = |path: &WorkspacePath| {
                path.as_str().is_none_or(|path| !top.join(path).starts_with(workspace))
            };
            masked.extend(around.paths.into_iter().filter(is_outside));
        }
        let without_git = self.objection_to_git(&family, &closed.paths, &masked, deny);
        let mut masked: Vec<_> =
            masked.iter().filter_map(|path| path_of_bytes(path.as_bytes()).ok()).collect();
        let mut folders = family.folders;
        if without_git.is_some() {
            folders.clear();
            masked.push(PathBuf::from(".git"));
        }
        let whole = folders.into_iter().map(|folder| Beside { folder, masked: Vec::new() });
        let around = family.top.map(|folder| Beside { folder, masked });
        Around { folders: around.into_iter().chain(whole).collect(), without_git }
    }

    /// Why git is not shown though the folder around the workspace is: every program there could ask it.
    fn objection_to_git(
        &self,
        family: &Family,
        closed: &[WorkspacePath],
        around: &[WorkspacePath],
        deny: &DenyRules,
    ) -> Option<&'static str> {
        if SecretAccess::of(deny) == SecretAccess::Closed && family.holds_token() {
            return Some("the configuration of its repository holds a password or a token");
        }
        let is_tracked = |folder: &Path, paths: &[_]| !paths.is_empty() && tracks_one(folder, paths);
        let tracks_closed = is_tracked(&self.options.workspace, closed)
            || family.top.as_ref().is_some_and(|top| is_tracked(top, around));
        tracks_closed.then_some("its repository lies outside the workspace, and tracks a file that is closed")
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
