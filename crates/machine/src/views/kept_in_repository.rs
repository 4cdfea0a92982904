//! What is closed and stands in the workspace's repository, or in one below the workspace. A view hides closed files, but
//! every program in it can ask git for what the commits hold, and for the configuration. So there is no view over such a
//! repository.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use headstart_git_ahead::Surroundings;
use headstart_overlay_fs::WorkspacePath;
use headstart_tool_gate::DenyRules;
use headstart_toolbox::SecretAccess;

use super::lock;
use crate::git;
use crate::system::workspace_path;

/// The answer for the last state of each repository, because reading the names of all objects takes a moment.
#[derive(Debug, Default)]
pub(super) struct KeptInRepository {
    last: Mutex<HashMap<PathBuf, KnownAnswer>>,
}

#[derive(Debug)]
struct KnownAnswer {
    state: Vec<u8>,
    deny: DenyRules,
    keeps_closed: bool,
}

impl KeptInRepository {
    /// Why no command that nobody was asked about may run over the repositories with these tops, the workspace first;
    /// `None` if nothing in them is closed, or there are none.
    pub(super) fn objection(
        &self,
        tops: &[PathBuf],
        deny: &DenyRules,
        secrets: SecretAccess,
    ) -> Option<String> {
        let workspace = tops.first()?;
        if secrets == SecretAccess::Closed
            && let Some(name) = git::settings_with_token(workspace)
        {
            return Some(format!(
                "{name} holds a password or a token, or may, which every program in a view could read (a credential helper of git keeps it elsewhere)"
            ));
        }
        if deny.is_empty() {
            return None;
        }
        tops.iter().find_map(|top| self.objection_to(top, workspace, deny))
    }

    fn objection_to(&self, top: &Path, workspace: &Path, deny: &DenyRules) -> Option<String> {
        match self.keeps_closed(top, workspace, deny) {
            Ok(false) => None,
            Ok(true) => Some(format!(
                "commits of {} hold what a deny rule covers, which every program in a view could ask git for",
                name_of(top, workspace)
            )),
            Err(why) => Some(format!(
                "it cannot be told whether {} holds what a deny rule covers: {why}",
                name_of(top, workspace)
            )),
        }
    }

    fn keeps_closed(&self, top: &Path, workspace: &Path, deny: &DenyRules) -> Result<bool, String> {
        let state = Surroundings::stamp(top).unwrap_or_default();
        let mut last = lock(&self.last);
        if let Some(known) = last.get(top)
            && (&known.state, &known.deny) == (&state, deny)
        {
            return Ok(known.keeps_closed);
        }
        // One that begins above the workspace is not in a view.
        let Some(repository) = readable(top, workspace, |_| false)? else { return Ok(false) };
        // A rule is about paths of the workspace.
        let inside =
            top.strip_prefix(workspace).ok().map(place_of).and_then(workspace_path).unwrap_or_default();
        let is_closed = |path: &[u8]| {
            let names = [WorkspacePath::from_bytes(path), inside.join_bytes(path)];
            names.iter().flatten().any(|path| deny.matching(path).is_some())
        };
        let answer = repository.keeps(is_closed).map_err(|error| error.to_string())?;
        last.insert(top.to_owned(), KnownAnswer { state, deny: deny.clone(), keeps_closed: answer });
        Ok(answer)
    }
}

/// How a repository is called in a reason.
pub(super) fn name_of(top: &Path, workspace: &Path) -> String {
    match top.strip_prefix(workspace) {
        Ok(inside) if inside != Path::new("") => format!("the repository {}", inside.display()),
        _ => "the repository".to_owned(),
    }
}

/// The repository that begins in a folder of the workspace; `None` if nothing is stored there that a view shows. Of one
/// that begins above the workspace, `is_shown` says whether a view shows it. The error says why git cannot be asked.
pub(super) fn readable(
    top: &Path,
    workspace: &Path,
    is_shown: impl FnOnce(&Path) -> bool,
) -> Result<Option<Surroundings>, String> {
    let dot_git = top.join(".git");
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    let is_above = !is_there(&dot_git) && !is_there(&top.join("objects"));
    if is_above && (top != workspace || !is_shown(top)) {
        return Ok(None);
    }
    if dot_git.is_dir() && !is_there(&dot_git.join("HEAD")) {
        let is_empty = !is_there(&dot_git.join("objects"));
        return if is_empty { Ok(None) } else { Err("its folder lacks the file HEAD".to_owned()) };
    }
    // A file that leads to nothing, as packages of others contain it, stores nothing.
    if Surroundings::stamp(top).is_none() || dot_git.is_file() && git::leads_nowhere(&dot_git) {
        return Ok(None);
    }
    if let Some(file) = git::odd_file(top) {
        return Err(format!("{file} is not a regular file"));
    }
    let found = git::find(workspace).and_then(|git| Surroundings::find(git, top));
    let found = found.map_err(|error| error.to_string())?;
    Ok(found.filter(|found| is_above || found.begins_in(top)))
}

/// Where the files of a repository are, or were, for one in git's own folder: a submodule is mostly called by its place.
fn place_of(inside: &Path) -> &Path {
    let mut rest = inside.components();
    match rest.find(|part| part.as_os_str() == ".git") {
        Some(_) => rest.as_path().strip_prefix("modules").unwrap_or(Path::new("")),
        None => inside,
    }
}
