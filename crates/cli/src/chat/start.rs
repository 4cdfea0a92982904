use headstart_budget::Metering;
use headstart_budget::policy::Mode;
use headstart_machine::error::CliError;
use headstart_terminal::Style;

use super::Chat;

/// What a chat begins with.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChatStart {
    /// What the user is told first.
    pub(crate) message: String,
    /// A prompt that is sent as if it had been typed.
    pub(crate) sent: Option<String>,
    /// A prompt that is offered at the beginning: Enter sends it while nothing else is typed.
    pub(crate) first: String,
    /// Whether the project and all that is kept of it go with the chat.
    pub(crate) leaves_nothing: bool,
}

impl ChatStart {
    /// Begins by sending a prompt.
    pub(crate) fn with(prompt: String) -> Self {
        Self { sent: Some(prompt), ..Self::default() }
    }
}

impl Chat {
    /// The same chat with another beginning.
    pub(crate) fn with_start(self, opening: ChatStart) -> Self {
        Self { opening, ..self }
    }

    /// Says which model is used and where, and how to find out more.
    pub(super) fn say_welcome(&mut self, mode: &str) -> Result<(), CliError> {
        let model = &self.parts.model_name;
        if self.display.uses_screen_reader() {
            let welcome = format!("headstart: {model}, {mode} mode; /help lists the commands");
            return self.display.say(&welcome, Style::Dim);
        }
        let folder = self.parts.workspace.file_name().unwrap_or_default().to_string_lossy();
        let what = format!("headstart: {model} · {mode} · {folder}");
        self.display.say(&what, Style::Dim)?;
        self.display.say(&format!("? keys · /help{}", self.when_suggested()), Style::Dim)
    }

    /// When suggestions begin in a new conversation, to be read behind something else; empty if there are none.
    pub(super) fn when_suggested(&self) -> &'static str {
        let is_on = self.settings.suggestions && self.agent.metering(Metering::mode) != Mode::Off;
        if is_on && self.display.has_person() {
            " · suggestions after a tool call or the second answer"
        } else {
            ""
        }
    }

    pub(super) fn open(&mut self) -> Result<(), CliError> {
        let ChatStart { message, sent, first, .. } = self.opening.clone();
        if !message.is_empty() {
            self.display.say(&message, Style::Plain)?;
        }
        // Only a person can edit an offered prompt; a pipe has no editor.
        if self.display.uses_screen_reader() && sent.is_none() && !first.is_empty() {
            self.editor.replace(&first);
            self.say_prompt_text()?;
        }
        if self.display.has_keys() && sent.is_none() && !first.is_empty() {
            let how = "Enter sends this prompt, or type your own. Tab takes those that follow.";
            self.display.say(how, Style::Plain)?;
            self.initial_prompt = Some(first);
        }
        sent.map_or(Ok(()), |prompt| self.on_submit(&prompt))
    }
}
