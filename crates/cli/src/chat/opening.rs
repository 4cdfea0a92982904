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
    /// Text that stands in the prompt, for the person to send or to change.
    pub(crate) typed: String,
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
        let Opening { told, sent, typed } = std::mem::take(&mut self.opening);
        if !told.is_empty() {
            self.face.say(&told, Style::Plain)?;
        }
        // Whoever writes to a pipe has no prompt in which it could stand.
        if self.face.is_aloud() && sent.is_none() && !typed.is_empty() {
            self.editor.replace(&typed);
            self.say_typed()?;
        }
        if self.face.has_keys() && sent.is_none() && !typed.is_empty() {
            self.face.say("Enter sends the first prompt. When a grey one shows, press Tab.", Style::Plain)?;
            self.editor.replace(&typed);
        }
        sent.map_or(Ok(()), |prompt| self.on_submit(&prompt))
    }
}
