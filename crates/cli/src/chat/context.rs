//! `/context` shows what the model is told; the smaller commands about the screen are here too.

use headstart_agent::WindowUse;
use headstart_budget::policy::Mode;
use headstart_machine::conversation::costs::WHEN_SUGGESTED;
use headstart_machine::conversation::mode_name;
use headstart_machine::error::CliError;
use headstart_terminal::{Style, Theme, ThemeChoice};

use super::status::short_count;
use super::{Chat, Handover};

/// About how many bytes make a token. Used for what no provider has counted.
const BYTES_PER_TOKEN: u64 = 4;

impl Chat {
    /// Shows what the model is told with each prompt, and how much of its window that takes.
    pub(super) fn show_context(&mut self) -> Result<(), CliError> {
        let WindowUse { tokens, window } = self.agent.window_use();
        let full = match window {
            Some(window) => {
                let hundredths = (tokens * 100).checked_div(window).unwrap_or(0);
                format!("about {} of {} tokens, {hundredths} %", short_count(tokens), short_count(window))
            }
            None => format!(
                "about {} tokens; how many the model sees at once is not known (`context_tokens` in your configuration says it)",
                short_count(tokens)
            ),
        };
        let offers_tools = self.settings.mode.offers_tools();
        let schemas = if offers_tools { self.parts.engine.toolbox.schemas() } else { Vec::new() };
        let of_tools: usize = schemas
            .iter()
            .map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len())
            .sum();
        let (system, tools) = (in_tokens(self.parts.system.len()), in_tokens(of_tools));
        let prompts = self.agent.view().items.iter().filter(|item| is_prompt(item)).count();
        let rows = [
            full,
            format!("  {:>6}  system text", short_count(system)),
            format!(
                "  {:>6}  {} tools ({} mode)",
                short_count(tools),
                schemas.len(),
                mode_name(self.settings.mode)
            ),
            format!(
                "  {:>6}  conversation, {prompts} prompt{} shown here; /compact sums it up",
                short_count(tokens.saturating_sub(system + tools)),
                if prompts == 1 { "" } else { "s" }
            ),
        ];
        self.display.say(&rows.join("\n"), Style::Plain)
    }

    /// Asks for a suggestion now, or says why there cannot be one.
    pub(super) fn suggest_now(&mut self) -> Result<(), CliError> {
        let view = self.agent.view();
        let why_not = match self.agent.may_suggest() {
            _ if view.suggestion.is_some() => "a suggestion is there already: Tab takes it".to_owned(),
            _ if !self.settings.suggestions => super::command::SUGGESTIONS_ARE_OFF.to_owned(),
            Err(hold) => format!("no suggestion now, for {hold}"),
            Ok(()) if self.agent.metering(headstart_budget::Metering::mode) == Mode::Off => {
                "background work is off; /background auto turns it on".to_owned()
            }
            Ok(()) if self.agent.suggest() => "asked for what could come next".to_owned(),
            Ok(()) => format!("nothing is asked now: {WHEN_SUGGESTED}"),
        };
        self.display.say(&why_not, Style::Dim)
    }

    /// Turns suggestions on or off for the rest of this chat.
    pub(super) fn show_suggestions(&mut self, are_shown: bool) -> Result<(), CliError> {
        if !self.display.has_person() {
            return self.display.say("there are suggestions for whoever has a terminal alone", Style::Dim);
        }
        self.settings.suggestions = are_shown;
        self.skip_notice.clear_row();
        self.agent.set_suggestions(are_shown);
        let text = if are_shown {
            let is_off = self.agent.metering(headstart_budget::Metering::mode) == Mode::Off;
            let but = if is_off { ", but background work is off; /background auto turns it on" } else { "" };
            format!("suggestions are on for this chat{but}")
        } else {
            "suggestions are off for this chat; `suggestions = false` in your configuration keeps them off"
                .to_owned()
        };
        self.display.say(&text, Style::Dim)
    }

    pub(super) fn change_theme(&mut self, name: Option<&str>) -> Result<(), CliError> {
        let names = || Theme::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let Some(name) = name else {
            let text = format!("the themes are {}; `theme` in your configuration keeps one", names());
            return self.display.say(&text, Style::Dim);
        };
        match Theme::parse(name) {
            Ok(theme) => {
                self.settings.screen.theme = ThemeChoice::Fixed(theme);
                self.display.set_theme(theme);
                self.display.say(&format!("the theme is {name}, for this chat"), Style::Dim)
            }
            // The terminal is only asked for its background before the first key is read.
            Err(_) if name == "auto" => self.display.say(
                "/theme: a chat that runs cannot ask the terminal; `theme = \"auto\"` in your configuration does at the next start",
                Style::Removed,
            ),
            Err(_) => self.display.say(&format!("/theme: {name:?} is none of {}", names()), Style::Removed),
        }
    }

    pub(super) fn edit_prompt(&mut self) -> Result<(), CliError> {
        if !self.display.has_keys() {
            return self.display.say("an editor needs a terminal with keys", Style::Removed);
        }
        self.handover = Some(Handover::ToEditor);
        Ok(())
    }

    /// Leaves this conversation for another one.
    pub(super) fn resume_another(&mut self) -> Result<(), CliError> {
        if !self.display.has_keys() {
            return self.display.say(
                "`headstart sessions` lists the conversations, and --resume ID goes on with one",
                Style::Dim,
            );
        }
        if self.agent.view().phase != headstart_agent::Phase::Idle {
            return self.say_busy("/resume");
        }
        if !self.is_kept {
            let words = "conversations are not kept here, so there is no other one to go on with";
            return self.display.say(words, Style::Dim);
        }
        (self.is_over, self.resumes) = (true, true);
        Ok(())
    }
}

fn in_tokens(bytes: usize) -> u64 {
    bytes as u64 / BYTES_PER_TOKEN
}

fn is_prompt(item: &headstart_agent::Item) -> bool {
    matches!(item, headstart_agent::Item::Prompt { .. })
}
