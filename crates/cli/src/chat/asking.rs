use std::time::Instant;

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
use headstart_speculation::Consent as Decision;

use super::turn::Working;
use super::{Chat, show};
use crate::error::CliError;
use crate::host::Ask;
use crate::terminal::{Answer, Consent, Style};

/// What the user is asked, in place of the prompt.
pub(super) struct Question {
    about: About,
    pub(super) consent: Consent,
}

enum About {
    /// A call of the turn that runs.
    Call(Box<Ask>),
    /// Work that they have taken, which waits in [`Working::Asked`].
    Work,
}

impl Chat {
    /// A call needs the user's consent.
    pub(super) fn on_ask(&mut self, ask: Ask) -> Result<(), CliError> {
        // What the turn told before it asked is shown before the question.
        while let Some(event) = self.working.as_mut().and_then(Working::told) {
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
            let consent = Consent::new("run this?", Instant::now());
            self.question = Some(Question { about: About::Call(Box::new(ask)), consent });
            return Ok(());
        }
        // Nobody answers on a pipe: what is not allowed by the mode does not run.
        self.face
            .say("  declined: there is no terminal to ask on; --mode says what may run", Style::Removed)?;
        let _ = ask.answer.send(Decision::Decline);
        Ok(())
    }

    /// Asks about work that the user has taken.
    pub(super) fn ask(&mut self, consent: Consent) {
        self.question = Some(Question { about: About::Work, consent });
    }

    /// Ctrl-C says no to the call and interrupts the turn.
    pub(super) fn on_key_of_question(&mut self, event: &Event) -> Result<(), CliError> {
        let Some(question) = &mut self.question else { return Ok(()) };
        let Some(answer) = question.consent.handle(Instant::now(), event) else { return Ok(()) };
        // First, so that the turn does not go on with the answer.
        if is_interrupt(event) && matches!(question.about, About::Call(_)) {
            self.on_interrupt()?;
        }
        self.on_answer(answer)
    }

    fn on_answer(&mut self, answer: Answer) -> Result<(), CliError> {
        let Some(question) = self.question.take() else { return Ok(()) };
        match (question.about, answer) {
            (About::Work, answer) => self.on_answer_about_work(answer),
            (About::Call(ask), answer) => {
                let (decision, told) = match answer {
                    Answer::Yes => (Decision::Run, "  yes"),
                    _ => (Decision::Decline, "  no"),
                };
                // The turn may have ended meanwhile; then nobody waits for the answer.
                let _ = ask.answer.send(decision);
                self.face.say(told, Style::Dim)
            }
        }
    }
}

/// Whether it is Ctrl-C.
pub(super) fn is_interrupt(event: &Event) -> bool {
    matches!(event, Event::Key(key) if key.kind != KeyEventKind::Release
        && key.code == KeyCode::Char('c')
        && key.modifiers.contains(KeyModifiers::CONTROL))
}
