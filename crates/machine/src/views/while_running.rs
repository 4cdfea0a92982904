//! What nobody may be told of a command in a view, and what its user and others closed while it ran.
//!
//! A view hides what was closed when a command began. A file that is copied, linked or committed later lies on disk below
//! the view, where a program finds it. So all of that is looked at again when the command has ended.

use std::path::PathBuf;
use std::sync::Arc;

use headstart_overlay_fs::{ChangeSet, WorkspacePath};
use headstart_tool_gate::DenyRules;
use headstart_toolbox::{CommandOutput, SecretAccess, ToolError};

use super::Views;
use super::closed_paths::Closed;
use super::opening::OpenedView;
use super::told_secrets::Traces;

/// What rules close, for one command.
pub(super) struct Rules<'a> {
    pub(super) deny: &'a DenyRules,
    pub(super) secrets: SecretAccess,
}

/// What git kept of files with secrets while a command ran: at its beginning and at its end.
#[derive(Default)]
pub(super) struct Untold(Vec<Arc<Traces>>);

impl Untold {
    /// Fails if a command told of such a file by what it printed or wrote.
    pub(super) fn refuse(&self, printed: &CommandOutput, written: &ChangeSet) -> Result<(), ToolError> {
        let why = self.0.iter().find_map(|traces| traces.objection(printed.output.as_bytes(), written));
        why.map_or(Ok(()), |why| Err(ToolError::no_view(why)))
    }
}

impl Views {
    /// What git keeps of files with secrets, in the workspace's repository and in all below it.
    pub(super) fn traces(&self, closed: &Closed) -> Result<Arc<Traces>, String> {
        Ok(self.traces_and_packages(closed)?.0)
    }

    fn traces_and_packages(&self, closed: &Closed) -> Result<(Arc<Traces>, Vec<PathBuf>), String> {
        let among_packages = self.among_packages(closed)?;
        Ok((self.traces_with(closed, &among_packages)?, among_packages))
    }

    /// The tops of repositories in folders of which nothing else is looked at.
    fn among_packages(&self, closed: &Closed) -> Result<Vec<PathBuf>, String> {
        let below = self.packages.repositories_below(&self.options.workspace, &closed.not_searched);
        below.map_err(|error| error.to_string())
    }

    fn traces_with(&self, closed: &Closed, among_packages: &[PathBuf]) -> Result<Arc<Traces>, String> {
        self.kept_secrets.traces(&[&closed.repositories[..], among_packages].concat())
    }

    /// Runs something in a view that hides what is closed, and finds out what nobody may be told of it. `shown` is the
    /// test data that the view does not hide.
    pub(super) fn run_compared<T>(
        &self,
        closed: &Closed,
        shown: &[WorkspacePath],
        rules: &Rules<'_>,
        run: impl FnOnce() -> Result<T, ToolError>,
    ) -> Result<(T, Untold), ToolError> {
        let (ran, before) = std::thread::scope(|scope| {
            let is_closed = rules.secrets == SecretAccess::Closed;
            let traces = is_closed.then(|| scope.spawn(|| self.traces_and_packages(closed)));
            let ran = run();
            (ran, traces.map(|traces| traces.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))))
        });
        let ran = ran?;
        let before = before.transpose().map_err(ToolError::no_view)?;
        let untold = self.look_again(&closed.paths, shown, rules, before)?;
        Ok((ran, untold))
    }

    fn look_again(
        &self,
        hidden: &[WorkspacePath],
        shown: &[WorkspacePath],
        rules: &Rules<'_>,
        before: Option<(Arc<Traces>, Vec<PathBuf>)>,
    ) -> Result<Untold, ToolError> {
        let &Rules { deny, secrets } = rules;
        let now = self.closed_paths.closed(&self.options.workspace, deny, secrets);
        let now = now.map_err(ToolError::no_view_of)?;
        let is_known = |path: &WorkspacePath| hidden.iter().chain(shown).any(|known| path.starts_with(known));
        if let Some(path) = now.paths.iter().find(|path| !is_known(path)) {
            return Err(ToolError::failed(format!(
                "{path}, which is closed, came while the command ran, so nobody is told what it printed, and what it \
                 wrote is dropped; run it again"
            )));
        }
        if let Some(why) = self.kept_in_repository.objection(&now.repositories, deny, secrets) {
            return Err(ToolError::no_view(why));
        }
        let Some((before, among_packages)) = before else { return Ok(Untold::default()) };
        let after = self.traces_with(&now, &among_packages).map_err(ToolError::no_view)?;
        self.check_test_data(shown, &after)?;
        let is_same = Arc::ptr_eq(&before, &after);
        Ok(Untold([Some(before), (!is_same).then_some(after)].into_iter().flatten().collect()))
    }

    /// Why no command may run over the repository whose output a program is told; `None` if nothing in it is closed.
    pub fn objection(&self, deny: &DenyRules) -> Option<String> {
        match self.closed(deny) {
            Ok(found) => self.kept_in_repository.objection(&found.repositories, deny, SecretAccess::of(deny)),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Why no program may be told what a command printed and wrote; `None` if it holds nothing that is closed.
    pub fn told_secret(
        &self,
        deny: &DenyRules,
        opened: &OpenedView,
        printed: &[u8],
        written: &ChangeSet,
    ) -> Option<String> {
        let secrets = SecretAccess::of(deny);
        let before = match (secrets, self.closed(deny)) {
            (_, Err(error)) => return Some(error.to_string()),
            (SecretAccess::Open, Ok(_)) => None,
            (SecretAccess::Closed, Ok(closed)) => match self.traces_and_packages(&closed) {
                Ok(found) => Some(found),
                Err(why) => return Some(why),
            },
        };
        match self.look_again(&opened.hidden, &opened.test_data, &Rules { deny, secrets }, before) {
            Ok(untold) => untold.0.iter().find_map(|traces| traces.objection(printed, written)),
            Err(error) => Some(error.to_string()),
        }
    }
}
