//! What is closed and stands in the workspace's repository. A view hides closed files, but every program in it can ask
//! git for what the commits hold, and for the configuration. So there is no view over such a repository.

use std::path::Path;
use std::sync::Mutex;

use headstart_git_ahead::Surroundings;
use headstart_overlay_fs::WorkspacePath;
use headstart_tool_gate::DenyRules;
use headstart_toolbox::SecretAccess;

use super::lock;
use crate::git;

/// The answer for the repository's last state, because reading the names of all objects takes a moment.
#[derive(Debug, Default)]
pub(super) struct KeptInRepository {
    last: Mutex<Option<(Vec<u8>, DenyRules, bool)>>,
}

impl KeptInRepository {
    /// Why no command that nobody was asked about may run over the repository of a workspace; `None` if nothing in it
    /// is closed, or there is none.
    pub(super) fn objection(
        &self,
        workspace: &Path,
        deny: &DenyRules,
        secrets: SecretAccess,
    ) -> Option<String> {
        if !workspace.join(".git").is_dir() {
            return None;
        }
        if secrets == SecretAccess::Closed
            && let Some(name) = git::settings_with_token(workspace)
        {
            return Some(format!(
                "{name} holds a password or a token, which every program in a view could read (a credential helper of git keeps it elsewhere)"
            ));
        }
        if deny.is_empty() {
            return None;
        }
        if let Some(file) = git::odd_file(workspace) {
            return Some(format!(
                "it cannot be told whether the repository holds what a deny rule covers: {file} is not a regular file"
            ));
        }
        match self.keeps_closed(workspace, deny) {
            Ok(false) => None,
            Ok(true) => Some(
                "the repository's commits hold what a deny rule covers, which every program in a view could ask git for"
                    .to_owned(),
            ),
            Err(why) => Some(format!("it cannot be told whether the repository holds what a deny rule covers: {why}")),
        }
    }

    fn keeps_closed(&self, workspace: &Path, deny: &DenyRules) -> Result<bool, String> {
        let repository = git::find(workspace).and_then(|git| Surroundings::find(git, workspace));
        let Some(repository) = repository.map_err(|error| error.to_string())? else { return Ok(false) };
        let state = repository.state().map_err(|error| error.to_string())?;
        let mut last = lock(&self.last);
        if let Some((known, rules, answer)) = &*last
            && (known, rules) == (&state, deny)
        {
            return Ok(*answer);
        }
        let is_closed =
            |path: &[u8]| WorkspacePath::from_bytes(path).is_ok_and(|path| deny.matching(&path).is_some());
        let answer = repository.keeps(is_closed).map_err(|error| error.to_string())?;
        *last = Some((state, deny.clone(), answer));
        Ok(answer)
    }
}
