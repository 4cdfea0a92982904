use std::time::Instant;

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
use headstart_speculation::Consent as Decision;

use super::{Chat, show};
use crate::error::CliError;
use crate::host::Ask;
use crate::terminal::{Answer, Consent, Style};

impl Chat {
    /// A call needs the user's consent.
    pub(super) fn on_ask(&mut self, ask: Ask) -> Result<(), CliError> {
        // What the turn told before it asked is shown before the question.
        while let Some(event) = self.working.as_mut().and_then(super::Working::told) {
            self.tell(&event)?;
        }
        if ask.answer.is_closed() {
            // The turn was interrupted meanwhile.
            return Ok(());
        }
        self.face.end_line()?;
        self.face.say(&show::whole_call(&ask.call), Style::Strong)?;
        self.face.say(&format!("  {}", ask.verdict.detail), Style::Dim)?;
        if self.face.is_terminal() {
            self.question = Some((ask, Consent::new("run this?", Instant::now())));
            return Ok(());
        }
        // Nobody answers on a pipe: what is not allowed by the mode does not run.
        self.face
            .say("  declined: there is no terminal to ask on; --mode says what may run", Style::Removed)?;
        let _ = ask.answer.send(Decision::Decline);
        Ok(())
    }

    /// Ctrl-C says no to the call and interrupts the turn.
    pub(super) fn on_key_of_question(&mut self, event: &Event) -> Result<(), CliError> {
        let Some((_, question)) = &self.question else { return Ok(()) };
        let Some(answer) = question.handle(Instant::now(), event) else { return Ok(()) };
        // First, so that the turn does not go on with the answer.
        if is_interrupt(event) {
            self.on_interrupt()?;
        }
        self.on_answer(answer)
    }

    fn on_answer(&mut self, answer: Answer) -> Result<(), CliError> {
        let Some((ask, _)) = self.question.take() else { return Ok(()) };
        let (decision, told) = match answer {
            Answer::Yes => (Decision::Run, "  yes"),
            Answer::No => (Decision::Decline, "  no"),
        };
        // The turn may have ended meanwhile; then nobody waits for the answer.
        let _ = ask.answer.send(decision);
        self.face.say(told, Style::Dim)
    }
}

/// Whether it is Ctrl-C.
pub(super) fn is_interrupt(event: &Event) -> bool {
    matches!(event, Event::Key(key) if key.kind != KeyEventKind::Release
        && key.code == KeyCode::Char('c')
        && key.modifiers.contains(KeyModifiers::CONTROL))
}
