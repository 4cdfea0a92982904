//! Where commands of work ahead run: in views on this machine or on another one.

use std::sync::Arc;

use headstart_tool_gate::DenyRules;
use headstart_toolbox::{Tier, ToolError, ViewId, ViewOutput, ViewRequest, ViewSupport};

use super::Remote;
use crate::views::Views;

/// The views of a workspace.
#[derive(Clone, Default)]
pub struct ViewHosts {
    pub local: Option<Arc<Views>>,
    /// The views on another machine, if the user's file names one. Commands run there, except those that need the
    /// repository, which is never sent.
    pub(crate) remote: Option<Arc<Remote>>,
}

impl ViewHosts {
    /// Whether there are any views.
    pub fn are_there(&self) -> bool {
        self.support().has_views()
    }

    pub(crate) fn support(&self) -> ViewSupport {
        match (&self.remote, &self.local) {
            // Whether the machine can be reached is only found out when it is needed.
            (Some(_), _) => ViewSupport::Views { tier: Tier::Remote },
            (None, Some(views)) => views.support().clone(),
            (None, None) => ViewSupport::default(),
        }
    }

    pub(crate) async fn run(&self, request: ViewRequest) -> Result<ViewOutput, ToolError> {
        match (&self.remote, &self.local) {
            (Some(remote), _) if !needs_repository(&request) => remote.run(request).await,
            (remote, Some(views)) => {
                let tier = remote.as_ref().and_then(|_| views.support().tier());
                let ran = views.run(request).await?;
                Ok(ViewOutput { tier: ran.tier.or(tier), ..ran })
            }
            (Some(_), None) => {
                let why = "it needs the repository, which is not sent to another machine, and this one has no views";
                Err(ToolError::no_view(why))
            }
            (None, None) => Err(ToolError::no_view("views are switched off")),
        }
    }

    pub(crate) fn end(&self, view: &ViewId) {
        if let Some(views) = &self.local {
            views.end(view);
        }
        if let Some(remote) = &self.remote {
            remote.end(view);
        }
    }

    /// Prepares a view at the beginning of work ahead, so that the first command does not wait long for it. Only done
    /// for views on this machine.
    pub fn prepare(&self) {
        if let (None, Some(views)) = (&self.remote, &self.local) {
            views.prepare();
        }
    }

    /// After an accept, builds in advance where commands run.
    pub(crate) fn warm_when_idle(&self, deny: DenyRules) {
        match (&self.remote, &self.local) {
            (Some(remote), _) if !remote.warm_lines().is_empty() => {
                let remote = Arc::clone(remote);
                // Errors are not reported here; `shadow warm`, which the user may run, reports them.
                tokio::spawn(async move { remote.build(&deny, remote.warm_lines()).await });
            }
            (None, Some(views)) => views.warm_when_idle(deny),
            _ => {}
        }
    }
}

/// Whether a command works with git, or over commits that were made ahead.
fn needs_repository(request: &ViewRequest) -> bool {
    !request.git.is_empty() || names_git(&request.command)
}

/// Whether a word of a command is `git`.
pub fn names_git(command: &str) -> bool {
    let is_part = |sign: char| sign.is_alphanumeric() || "_-./".contains(sign);
    command.split(|sign| !is_part(sign)).any(|word| word.rsplit('/').next() == Some("git"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_names_git_is_known() {
        for line in [
            "git status",
            "cd a && git diff",
            "/usr/bin/git log",
            "x=$(git rev-parse HEAD)",
            "sh -c 'git add .'",
        ] {
            assert!(names_git(line), "{line}");
        }
        for line in ["cat .gitignore", "cargo test digit", "ls .git-hooks", "grep legit src", "make git-free"]
        {
            assert!(!names_git(line), "{line}");
        }
    }
}
