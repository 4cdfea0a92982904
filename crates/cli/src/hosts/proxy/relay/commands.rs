//! Commands that the second agent runs without asking. Nothing here does IO.

use serde_json::{Value, json};

use super::{Effect, Proxy};
use crate::hosts::proxy::permission::{Boundary, PermissionVerdict};
use crate::hosts::proxy::stand_in::PendingCommand;

impl Proxy {
    /// The agent ran a command that it considers harmless. If the gate does not allow the command, the work ends,
    /// because a command that ran without a question was not kept from the network.
    pub(super) fn note_unasked_call(&mut self, call: &Value) {
        let Some(ahead) = &self.ahead else { return };
        let Some(project) = self.sessions.get(&ahead.session).and_then(|session| session.project.as_ref())
        else {
            return;
        };
        if let PermissionVerdict::Boundary(Boundary { why, .. }) = project.rules.judge(call, false) {
            self.drop_work(&format!("the agent ran a command that it did not ask about: {why}"));
        }
    }

    /// A command waits to be run, of an agent that does not ask the user about it. A command that the gate does not
    /// allow ends the work.
    pub(crate) fn second_command(&mut self, number: u64, command: &PendingCommand) {
        if !self.is_current(number) {
            return;
        }
        let judged = self.judge_command(&command.words);
        let may_run = judged.is_ok();
        self.effects.push(Effect::Answer { name: command.name.clone(), may_run });
        if let Err(why) = judged {
            self.drop_work(&format!("the agent was to run a command without a question: {why}"));
        }
    }

    fn judge_command(&self, words: &[String]) -> Result<(), String> {
        let ahead = self.ahead.as_ref().ok_or("nothing runs ahead")?;
        let project = self.sessions.get(&ahead.session).and_then(|session| session.project.as_ref());
        let project = project.ok_or("its folder is not known")?;
        let sandbox = self
            .profile
            .and_then(|profile| profile.sandbox.as_ref())
            .ok_or("nothing stands for a sandbox")?;
        let [folder, words @ ..] = words else { return Err("it cannot be read".to_owned()) };
        let Some(command) = sandbox.command(words) else {
            // The agent tests whether a sandbox is available.
            let is_trial = matches!(words, [program] if program.ends_with("/true"));
            return if is_trial { Ok(()) } else { Err("it is none that is known".to_owned()) };
        };
        if sandbox.is_its_own(command, &project.rules.gate.workspace) {
            return Ok(());
        }
        let call = json!({ "kind": "execute", "rawInput": { "command": command, "cwd": folder } });
        match project.rules.judge(&call, true) {
            PermissionVerdict::Allowed => Ok(()),
            PermissionVerdict::Boundary(Boundary { why, .. }) => Err(why),
        }
    }
}
