use headstart_agent::JudgedCall;
use headstart_machine::conversation::costs::{duration_words, time_saved};
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::output::{one_line, shortened};
use headstart_terminal::Style;
use headstart_tool_gate::{CallRef, Reason, StandingConsent};

use super::Chat;

/// What a chat has done for its user.
#[derive(Debug, Default)]
pub(super) struct SessionTally {
    pub(super) turns: u32,
    /// How many calls were declined because nobody could be asked.
    pub(super) declined: u32,
}

impl Chat {
    /// How the chat ended for a script: a call that was declined for want of somebody to ask counts if nothing failed.
    pub(super) fn status_at_end(&self) -> ExitStatus {
        match self.exit_status {
            ExitStatus::Done if 0 < self.tally.declined => ExitStatus::Boundary,
            status => status,
        }
    }

    /// What would let a call run without a question.
    pub(super) fn how_to_allow(&self, judged: &JudgedCall) -> &'static str {
        let JudgedCall { call, verdict, .. } = judged;
        let called = CallRef { name: &call.name, args: &call.args };
        let context = self.parts.gate_context();
        let consent = self.parts.engine.gate.standing_consent(verdict, called, &context);
        match verdict.reason {
            _ if consent == StandingConsent::Asks => {
                "a policy of your configuration asks about it in every mode, and `headstart tools` names it"
            }
            Reason::WriteToolNoAuto => "--mode auto-edit allows edits",
            Reason::SecretPath | Reason::HardLinks => "--mode yolo allows it, and asks about nothing",
            _ => {
                "--mode yolo allows it, and asks about nothing; a policy in [tools] of your own file allows single tools"
            }
        }
    }

    /// Tells a user who leaves what the chat did, and which work ahead they leave behind.
    pub(super) fn say_session_summary(&mut self) -> Result<(), CliError> {
        if !self.display.has_person() || self.tally.turns == 0 {
            return Ok(());
        }
        let turns = if self.tally.turns == 1 { "1 turn" } else { &format!("{} turns", self.tally.turns) };
        let cost = self.cost_so_far().map(|cost| format!(" · {cost}")).unwrap_or_default();
        let saved = match time_saved(&self.agent).as_secs() {
            0 => String::new(),
            seconds => format!(" · saved {}", duration_words(seconds)),
        };
        let mut summary = format!("{turns}{cost}{saved}");
        let staged = self.agent.staged().filter(|staged| !staged.changes.is_empty());
        if let Some(prompt) = staged.and_then(|_| self.agent.prompt_ahead()) {
            let prompt = shortened(&one_line(&prompt), 40);
            summary = format!("{summary} · not taken, and gone: {prompt}");
        }
        self.display.say(&summary, Style::Dim)?;
        self.how_to_resume().map_or(Ok(()), |how| self.display.say(&how, Style::Dim))
    }
}
