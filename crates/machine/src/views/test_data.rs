//! Test data that look like secrets by their names: certificates, keys and settings that a project's own tests read.
//!
//! A view shows such a file where its content is one that git keeps. So nothing is opened that a program in the view could
//! not ask git for, and [what a command tells of it](super::told_secrets) is withheld all the same. A file that is changed
//! and not committed, or that git does not track, may hold a secret of its user's and stays hidden.

use std::fs;

use headstart_overlay_fs::WorkspacePath;
use headstart_shadow::Network;
use headstart_tool_gate::{DenyRules, is_test_data};
use headstart_toolbox::ToolError;

use super::Views;
use super::closed_paths::Closed;
use super::told_secrets::Traces;
use crate::system::path_in;

impl Views {
    /// Takes test data out of the paths that a view hides. It returns those that the view then shows.
    pub(super) fn take_test_data(&self, closed: &mut Closed, deny: &DenyRules) -> Vec<WorkspacePath> {
        let may_be = |path: &WorkspacePath| is_test_data(path) && deny.matching(path).is_none();
        if self.options.network != Network::Own || !closed.paths.iter().any(may_be) {
            return Vec::new();
        }
        // Where git does not answer, they stay hidden.
        let Ok(traces) = self.traces(closed) else { return Vec::new() };
        let (shown, hidden) = std::mem::take(&mut closed.paths)
            .into_iter()
            .partition(|path| may_be(path) && self.is_kept_by_git(path, &traces));
        closed.paths = hidden;
        shown
    }

    /// Fails if a file that was shown during a command is not the one that git keeps any more: its user may have put a
    /// secret into it meanwhile, and nobody knows what of it the command told.
    pub(super) fn check_test_data(&self, shown: &[WorkspacePath], traces: &Traces) -> Result<(), ToolError> {
        match shown.iter().find(|path| !self.is_kept_by_git(path, traces)) {
            None => Ok(()),
            Some(path) => Err(ToolError::no_view(format!("{path} changed while the command could read it"))),
        }
    }

    fn is_kept_by_git(&self, path: &WorkspacePath, traces: &Traces) -> bool {
        let Ok(file) = path_in(&self.options.workspace, path) else { return false };
        // A link leads to something else than what git keeps of it.
        let is_file = fs::symlink_metadata(&file).is_ok_and(|found| found.is_file());
        is_file && fs::read(&file).is_ok_and(|content| traces.has_content(&content))
    }
}
