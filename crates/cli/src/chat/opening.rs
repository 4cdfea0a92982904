use super::Chat;
use crate::error::CliError;
use crate::terminal::Style;

/// What a chat begins with.
#[derive(Debug, Default)]
pub(crate) struct Opening {
    /// What the person is told first.
    pub(crate) told: String,
    /// A prompt that is sent as if it had been typed.
    pub(crate) sent: Option<String>,
    /// A prompt to begin with: Enter sends it while nothing else is typed.
    pub(crate) first: String,
}

impl Opening {
    /// Sends a prompt.
    pub(crate) fn with(prompt: String) -> Self {
        Self { sent: Some(prompt), ..Self::default() }
    }
}

impl Chat {
    /// The same chat, which begins so.
    pub(crate) fn opening_with(self, opening: Opening) -> Self {
        Self { opening, ..self }
    }

    pub(super) fn open(&mut self) -> Result<(), CliError> {
        let Opening { told, sent, first } = std::mem::take(&mut self.opening);
        if !told.is_empty() {
            self.face.say(&told, Style::Plain)?;
        }
        // Whoever writes to a pipe has no prompt in which it could stand.
        if self.face.is_aloud() && sent.is_none() && !first.is_empty() {
            self.editor.replace(&first);
            self.say_typed()?;
        }
        if self.face.has_keys() && sent.is_none() && !first.is_empty() {
            let how = "Enter sends this prompt, or type your own. Tab takes those that follow.";
            self.face.say(how, Style::Plain)?;
            self.first = Some(first);
        }
        sent.map_or(Ok(()), |prompt| self.on_submit(&prompt))
    }
}
