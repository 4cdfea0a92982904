//! Commands that a user types in place of a prompt.

use headstart_machine::conversation::costs::statistics_line;
use headstart_machine::conversation::words;
use headstart_machine::tool_rows::tool_lines;

use super::AcpSession;
use super::staged::in_full;
use crate::hosts::acp::offer::{SessionCommand, Unsuggested};

impl AcpSession {
    /// What a command answers that needs no model.
    pub(super) fn on_command(&mut self, command: &SessionCommand) -> String {
        let agent = &self.conversation.agent;
        match command {
            SessionCommand::Next | SessionCommand::AheadHow => {
                let now = if self.settings.ahead { "on" } else { "off" };
                let held = self.offer.why_none().filter(|_| self.settings.ahead);
                let held = held.map(|Unsuggested { why, .. }| format!(" Nothing is suggested now: {why}."));
                format!(
                    "Suggestions and work ahead are {now}; /ahead on and /ahead off change that.{}",
                    held.unwrap_or_default()
                )
            }
            SessionCommand::Write | SessionCommand::Drop | SessionCommand::Undo => {
                "Nothing is staged.".to_owned()
            }
            SessionCommand::Diff => {
                if let Some(asks) = &agent.view().unwritten {
                    return in_full(asks);
                }
                let git = agent.staged_git().filter(|git| !git.is_empty());
                let git = git.map(|git| listed(&[words::git_in_full(&git)]));
                let diff = agent.staged().unwrap_or_default().diff();
                let diff = (!diff.is_empty()).then(|| fenced(&diff));
                match git.into_iter().chain(diff).collect::<String>() {
                    nothing if nothing.is_empty() => "Nothing is staged.".to_owned(),
                    changes => changes,
                }
            }
            SessionCommand::Stats => statistics_line(agent),
            SessionCommand::Tools => {
                let parts = &self.conversation.parts;
                let names = parts.engine.toolbox.schemas().into_iter().map(|schema| schema.name);
                listed(&tool_lines(names, &self.conversation.agent.rules()))
            }
            SessionCommand::Servers if self.startup.is_starting() => {
                "The tool servers are being started.".to_owned()
            }
            SessionCommand::Servers => match self.conversation.parts.server_tools.lines() {
                lines if lines.is_empty() => "There are no tool servers.".to_owned(),
                lines => listed(&lines),
            },
            SessionCommand::Compact => {
                "There is nothing to sum up yet: the last turns stay as they are.".to_owned()
            }
            SessionCommand::Ahead(on) => {
                self.set_ahead(*on);
                let now = if *on { "on" } else { "off" };
                format!("Suggestions and work ahead are {now} in this session.")
            }
        }
    }
}

/// Lines in the form of terminal output.
pub(super) fn listed(lines: &[String]) -> String {
    format!("```text\n{}\n```\n", lines.join("\n"))
}

pub(super) fn fenced(diff: &str) -> String {
    format!("```diff\n{diff}```\n")
}
