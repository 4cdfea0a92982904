use headstart_agent::{ActionError, Item, Phase};
use headstart_budget::Metering;
use headstart_budget::policy::Mode;
use headstart_machine::config::{background_name, parse_background, parse_mode};
use headstart_machine::conversation::costs::WHEN_SUGGESTED;
use headstart_machine::conversation::{mode_name, words};
use headstart_machine::error::CliError;
use headstart_terminal::Style;
use headstart_tool_gate::ApprovalMode;

use super::question::changes_nothing;
use super::staged::StagedAnswer;
use super::{Chat, catalog};

/// The whole of a prompt that lists the keys.
pub(super) const KEYS: &str = "?";

/// What a line with a slash at its beginning asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SlashCommand {
    Help,
    Clear,
    /// Compacts the conversation into a summary.
    Compact,
    Diff,
    /// Writes what turns have staged.
    Write,
    /// Drops what turns have staged.
    Drop,
    /// Sets the title of the conversation.
    Title(String),
    /// Changes the mode; without an argument, shows the current one.
    Mode(Option<ApprovalMode>),
    /// Has the plan carried out in default mode.
    Go,
    /// Changes the model; without a name, shows the current one.
    Model(Option<String>),
    /// Changes the model of the work ahead.
    FastModel(String),
    Copy(CopySource),
    Cost,
    Stats,
    /// Takes back what the last turn changed.
    Undo,
    /// Changes whether there is background work; without an argument, shows how it is set.
    Background(Option<Mode>),
    /// Grants the limit of a day once more.
    More,
    /// Lists what runs without a question in this session; with a number, revokes that entry.
    Permissions(Option<usize>),
    /// Sends the last prompt once more.
    Retry,
    /// Shows the state of the tool servers.
    Servers,
    /// Restarts the tool servers, and offers the tools that they have then.
    ReloadServers,
    /// Logs the user in to a tool server, or out of it.
    LogIn(String),
    LogOut(String),
    /// Has a server write a prompt, with the arguments that follow its name.
    ServerPrompt {
        server: String,
        name: String,
        written: String,
    },
    /// Lists the tools, and what happens to their calls.
    Tools,
    /// Shows what the model is told, and how full its window is.
    Context,
    /// Asks for a suggestion now, or turns suggestions on or off.
    Suggest(Option<bool>),
    /// Changes the colours; without a name, lists the themes.
    Theme(Option<String>),
    /// Opens an editor for the prompt.
    Editor,
    /// Leaves for another conversation.
    Resume,
    Quit,
}

/// The columns of a row if its width is unknown.
const WIDE: usize = 120;

/// The remark if suggestions are off, by the configuration or by the command.
pub(super) const SUGGESTIONS_ARE_OFF: &str = "suggestions are off; /suggest on turns them on for this chat";

/// Whether a line, without its slash, can be a command as far as it is typed. A path is not one, and a second slash
/// begins a prompt that starts with a slash.
pub(super) fn may_be_command(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    !first.contains(['/', '.'])
}

/// Reads the command in a line; `None` for a prompt. An error lists what is possible.
pub(super) fn parse(line: &str) -> Option<Result<SlashCommand, String>> {
    let mut words = line.strip_prefix('/').filter(|line| may_be_command(line))?.split_whitespace();
    let (name, argument) = (words.next().unwrap_or_default(), words.next());
    if let ("title", Some(_)) = (name, argument) {
        let title = line.trim_start_matches("/title").split_whitespace().collect::<Vec<_>>();
        return Some(Ok(SlashCommand::Title(title.join(" "))));
    }
    if let ("mcp", Some(act @ ("login" | "logout"))) = (name, argument) {
        return Some(match (words.next().map(str::to_owned), words.next()) {
            (Some(server), None) if act == "login" => Ok(SlashCommand::LogIn(server)),
            (Some(server), None) => Ok(SlashCommand::LogOut(server)),
            _ => Err(format!("/mcp {act} takes the name of a tool server; /mcp lists them")),
        });
    }
    if let ("model", Some("--fast")) = (name, argument) {
        return Some(match (words.next(), words.next()) {
            (Some(name), None) => Ok(SlashCommand::FastModel(name.to_owned())),
            _ => Err("/model --fast takes the name of a model, as anthropic:NAME".to_owned()),
        });
    }
    if let (Some(argument), Some(extra), "mode" | "model" | "copy" | "background" | "theme" | "suggest") =
        (argument, words.next(), name)
    {
        return Some(Err(format!(
            "/{name} {argument} takes no further word, and got {extra:?}; /help lists them"
        )));
    }
    if let Some((server, prompt)) = name.split_once(':') {
        let (server, name) = (server.to_owned(), prompt.to_owned());
        let written =
            line.split_once(char::is_whitespace).map_or("", |(_, written)| written.trim()).to_owned();
        return Some(Ok(SlashCommand::ServerPrompt { server, name, written }));
    }
    let command = match (name, argument) {
        ("help", None) => Ok(SlashCommand::Help),
        ("clear", None) => Ok(SlashCommand::Clear),
        ("compact", None) => Ok(SlashCommand::Compact),
        ("diff", None) => Ok(SlashCommand::Diff),
        ("write", None) => Ok(SlashCommand::Write),
        ("drop", None) => Ok(SlashCommand::Drop),
        ("retry", None) => Ok(SlashCommand::Retry),
        ("tools", None) => Ok(SlashCommand::Tools),
        ("context", None) => Ok(SlashCommand::Context),
        ("suggest", None) => Ok(SlashCommand::Suggest(None)),
        ("suggest", Some("on")) => Ok(SlashCommand::Suggest(Some(true))),
        ("suggest", Some("off")) => Ok(SlashCommand::Suggest(Some(false))),
        ("theme", name) => Ok(SlashCommand::Theme(name.map(str::to_owned))),
        ("editor", None) => Ok(SlashCommand::Editor),
        ("resume", None) => Ok(SlashCommand::Resume),
        ("mcp", None) => Ok(SlashCommand::Servers),
        ("mcp", Some("reload")) => Ok(SlashCommand::ReloadServers),
        ("permissions", None) => Ok(SlashCommand::Permissions(None)),
        ("permissions", Some(number)) => number
            .parse()
            .map(|number| SlashCommand::Permissions(Some(number)))
            .map_err(|_| format!("/permissions takes the number of a line of its list, and got {number:?}")),
        ("quit" | "exit", None) => Ok(SlashCommand::Quit),
        ("background", None) => Ok(SlashCommand::Background(None)),
        ("background", Some("more")) => Ok(SlashCommand::More),
        ("background", Some(mode)) => parse_background(mode)
            .map(|mode| SlashCommand::Background(Some(mode)))
            .map_err(|problem| format!("{problem}, and there is more")),
        ("mode", None) => Ok(SlashCommand::Mode(None)),
        ("go", None) => Ok(SlashCommand::Go),
        ("mode", Some(mode)) => parse_mode(mode).map(Some).map(SlashCommand::Mode),
        ("model", name) => Ok(SlashCommand::Model(name.map(str::to_owned))),
        ("copy", None) => Ok(SlashCommand::Copy(CopySource::Answer(1))),
        ("copy", Some("code")) => Ok(SlashCommand::Copy(CopySource::Code)),
        ("copy", Some(number)) => match number.parse() {
            Ok(number @ 1..) => Ok(SlashCommand::Copy(CopySource::Answer(number))),
            _ => Err(format!("/copy takes a number (1 is the last answer) or code, and got {number:?}")),
        },
        ("cost", None) => Ok(SlashCommand::Cost),
        ("stats", None) => Ok(SlashCommand::Stats),
        ("undo", None) => Ok(SlashCommand::Undo),
        ("undo", Some(_)) => Err(
            "/undo takes back the last turn and takes no number; typed again it takes back the one before"
                .to_owned(),
        ),
        (name, _) => Err(match (catalog::find(name), catalog::nearest(name)) {
            (Some(entry), _) => {
                format!("/{name} is not written so, but as {}; /help lists all", entry.usage())
            }
            (None, Some(nearest)) => {
                format!("there is no command /{name}; the nearest is /{nearest}, and /help lists all")
            }
            (None, None) => format!("there is no command /{name}; /help lists all"),
        }),
    };
    Some(command)
}

/// What is copied into the clipboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopySource {
    /// An answer, counted from the last one, which is 1.
    Answer(usize),
    /// The last block of code.
    Code,
}

impl Chat {
    pub(super) fn on_command(&mut self, command: &SlashCommand) -> Result<(), CliError> {
        match command {
            SlashCommand::Help => {
                let columns = if self.display.has_keys() { self.display.columns()? } else { WIDE };
                self.display.say(&catalog::help(columns), Style::Plain)
            }
            SlashCommand::Quit => {
                self.is_over = true;
                Ok(())
            }
            SlashCommand::Mode(Some(mode)) => self.change_mode(*mode),
            SlashCommand::Go => self.go(),
            SlashCommand::Mode(None) => {
                let name = mode_name(self.settings.mode);
                self.display.say(&format!("the mode is {name}; /mode MODE chooses another"), Style::Dim)
            }
            SlashCommand::Model(name) => self.on_model(name.as_deref()),
            SlashCommand::FastModel(name) => self.on_fast_model(name),
            SlashCommand::Copy(which) => self.copy(*which),
            SlashCommand::Cost => self.say_costs(),
            SlashCommand::Stats => self.say_statistics(),
            SlashCommand::Undo => self.undo(),
            SlashCommand::Permissions(number) => self.on_permissions(*number),
            SlashCommand::Retry => self.retry(),
            SlashCommand::Tools => self.show_tools(),
            SlashCommand::Context => self.show_context(),
            SlashCommand::Suggest(None) => self.suggest_now(),
            SlashCommand::Suggest(Some(are_shown)) => self.show_suggestions(*are_shown),
            SlashCommand::Theme(name) => self.change_theme(name.as_deref()),
            SlashCommand::Editor => self.edit_prompt(),
            SlashCommand::Resume => self.resume_another(),
            SlashCommand::Servers => self.show_servers(),
            SlashCommand::ReloadServers => self.reload_servers(),
            SlashCommand::LogIn(server) => self.log_in(server),
            SlashCommand::LogOut(server) => self.log_out(server),
            SlashCommand::ServerPrompt { server, name, written } => {
                self.ask_for_prompt(server, name, written)
            }
            SlashCommand::Background(mode) => self.change_background(*mode),
            SlashCommand::More => self.grant(),
            SlashCommand::Clear => self.clear(),
            SlashCommand::Compact => match self.agent.compact() {
                Ok(()) => Ok(()),
                Err(ActionError::Busy) => self.say_busy("/compact"),
                Err(_) => self.display.say("there is nothing to sum up yet", Style::Dim),
            },
            SlashCommand::Diff => self.show_diff(),
            SlashCommand::Write => self.on_answer_to_staged(StagedAnswer::Write),
            SlashCommand::Drop => self.on_answer_to_staged(StagedAnswer::Drop),
            SlashCommand::Title(title) => {
                self.agent.set_title(title);
                self.display.say(&format!("this conversation is called {title} from now on"), Style::Dim)
            }
        }
    }

    /// Begins a new conversation. What was spent, allowed or set stays as it is.
    fn clear(&mut self) -> Result<(), CliError> {
        if self.agent.clear().is_err() {
            return self.say_busy("/clear");
        }
        self.skip_notice.clear_row();
        self.restart_status();
        let text = format!("the conversation is forgotten{}", self.when_suggested());
        self.display.say(&text, Style::Dim)
    }

    /// Says that a command has no effect while a turn runs.
    pub(super) fn say_busy(&mut self, command: &str) -> Result<(), CliError> {
        self.display.say(&format!("{command}: a turn is running; Ctrl-C interrupts it"), Style::Removed)
    }

    /// Changes to the next of the modes that ask, or write nothing. The mode that never asks is left out.
    pub(super) fn next_mode(&mut self) -> Result<(), CliError> {
        self.change_mode(match self.settings.mode {
            ApprovalMode::Default => ApprovalMode::AutoEdit,
            ApprovalMode::AutoEdit => ApprovalMode::Plan,
            ApprovalMode::Plan | ApprovalMode::Chat | ApprovalMode::Yolo => ApprovalMode::Default,
        })
    }

    fn change_mode(&mut self, mode: ApprovalMode) -> Result<(), CliError> {
        let before = self.settings.mode;
        self.parts.set_mode(mode);
        self.settings.mode = mode;
        self.skip_notice.clear_row();
        self.agent.rules_changed();
        let name = mode_name(mode);
        let cache = "its provider's cache of this conversation is lost";
        let work = match (before, mode) {
            (ApprovalMode::Chat, ApprovalMode::Chat) => String::new(),
            (_, ApprovalMode::Chat) => {
                format!(": the model has no tools, and {cache}; what ran ahead is dropped")
            }
            (ApprovalMode::Chat, _) => format!(": the model has its tools again, and {cache}"),
            (_, ApprovalMode::Plan) => "; what ran ahead is dropped".to_owned(),
            _ => ", also for work that ran ahead".to_owned(),
        };
        self.display.say(&format!("the mode is {name} from now on{work}"), Style::Dim)
    }

    /// Has the plan carried out. The plan is the last thing the model said, so the prompt only refers to it.
    fn go(&mut self) -> Result<(), CliError> {
        if self.settings.mode != ApprovalMode::Plan {
            let mode = mode_name(self.settings.mode);
            return self.display.say(&format!("/go ends plan mode, and the mode is {mode}"), Style::Removed);
        }
        let view = self.agent.view();
        if view.phase != Phase::Idle {
            return self.say_busy("/go");
        }
        if !view.items.iter().any(|item| matches!(&**item, Item::Answer { .. })) {
            return self.display.say("there is no plan yet", Style::Removed);
        }
        self.change_mode(ApprovalMode::Default)?;
        // The agent was idle a moment ago, so it accepts the prompt.
        let _ = self.agent.submit("Carry out your plan.");
        Ok(())
    }

    fn retry(&mut self) -> Result<(), CliError> {
        match self.agent.retry() {
            Err(ActionError::Empty) => return self.display.say("nothing was sent yet", Style::Dim),
            Err(_) => return self.say_busy("/retry"),
            Ok(()) => {}
        }
        // The prompt that is sent again must not be in the editor as well.
        let view = self.agent.view();
        if let Some(Item::Prompt { text }) = view.items.last().map(|item| &**item)
            && *text == self.editor.whole_text()
        {
            self.editor.replace("");
        }
        Ok(())
    }

    fn on_permissions(&mut self, number: Option<usize>) -> Result<(), CliError> {
        let allowed = self.agent.session_rules();
        let Some(number) = number else {
            if allowed.is_empty() {
                let none = "nothing runs without a question beyond the mode and your configuration; [a]lways in a question changes that for this session";
                return self.display.say(none, Style::Dim);
            }
            let lines = allowed.iter().enumerate().map(|(place, rule)| format!("{}  {rule}", place + 1));
            let lines = lines.collect::<Vec<_>>().join("\n");
            return self.display.say(&lines, Style::Plain);
        };
        let Some(rule) = number.checked_sub(1).and_then(|place| allowed.get(place)) else {
            let text = format!("there is no line {number} in the list of /permissions");
            return self.display.say(&text, Style::Removed);
        };
        self.agent.remove_session_rule(rule);
        self.display.say(&format!("{rule}: you are asked again"), Style::Dim)
    }

    fn change_background(&mut self, mode: Option<Mode>) -> Result<(), CliError> {
        if let Some(mode) = mode {
            self.skip_notice.clear_row();
            self.agent.set_background(mode);
        }
        let mode = self.agent.metering(Metering::mode);
        let name = background_name(mode);
        let text = match self.agent.may_suggest() {
            Ok(()) if !self.settings.suggestions => {
                format!("background work is on {name}, and {SUGGESTIONS_ARE_OFF}")
            }
            Ok(()) => {
                format!("background work is on {name}: {WHEN_SUGGESTED}; {}", self.left_today())
            }
            Err(_) if mode == Mode::Off => "background work is off".to_owned(),
            Err(hold) => {
                let left = self.left_today();
                format!("background work is on {name}: no suggestion now, for {hold}; {left}")
            }
        };
        self.display.say(&text, Style::Dim)
    }

    fn show_diff(&mut self) -> Result<(), CliError> {
        let view = self.agent.view();
        if let Some(asks) = view.unwritten.as_ref().filter(|asks| !changes_nothing(asks) || asks.can_keep()) {
            return self.show_asked(asks);
        }
        let Some((files, git)) = self.changes_ahead() else {
            return self.display.say("nothing is staged", Style::Dim);
        };
        git.map_or(Ok(()), |git| self.display.say(&words::git_in_full(&git), Style::Strong))?;
        self.say_diff(&files, usize::MAX, "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_read_by_its_name() {
        use ApprovalMode::{AutoEdit, Chat, Default, Plan, Yolo};
        for mode in [Default, Plan, Chat, AutoEdit, Yolo] {
            assert_eq!(parse_mode(mode_name(mode)), Ok(mode));
        }
    }

    #[test]
    fn lines_with_a_slash_are_commands() {
        assert_eq!(parse("fix the parser"), None);
        assert_eq!(parse("/usr/bin is empty?"), None);
        assert_eq!(parse("/etc.conf is gone"), None);
        assert_eq!(parse("/retry"), Some(Ok(SlashCommand::Retry)));
        assert_eq!(parse("/mode yolo"), Some(Ok(SlashCommand::Mode(Some(ApprovalMode::Yolo)))));
        assert_eq!(parse("/mcp"), Some(Ok(SlashCommand::Servers)));
        assert_eq!(parse("/mcp reload"), Some(Ok(SlashCommand::ReloadServers)));
        assert_eq!(parse("/mcp login docs"), Some(Ok(SlashCommand::LogIn("docs".into()))));
        assert_eq!(parse("/mcp logout docs"), Some(Ok(SlashCommand::LogOut("docs".into()))));
        assert!(parse("/mcp login").is_some_and(|said| said.is_err()));
        assert!(parse("/mcp login a b").is_some_and(|said| said.is_err()));
        assert_eq!(parse("/tools"), Some(Ok(SlashCommand::Tools)));
        // A server that has the name of a command does not hide that command.
        let of = |server: &str, name: &str, written: &str| {
            let (server, name, written) = (server.to_owned(), name.to_owned(), written.to_owned());
            Some(Ok(SlashCommand::ServerPrompt { server, name, written }))
        };
        assert_eq!(parse("/clear:all  a  b "), of("clear", "all", "a  b"));
        assert_eq!(parse("/quit:quit"), of("quit", "quit", ""));
        assert_eq!(parse("/quit"), Some(Ok(SlashCommand::Quit)));
        assert_eq!(parse("/background"), Some(Ok(SlashCommand::Background(None))));
        assert_eq!(parse("/background more"), Some(Ok(SlashCommand::More)));
        assert_eq!(parse("/title  the  parser"), Some(Ok(SlashCommand::Title("the parser".into()))));
        assert_eq!(parse("/background off"), Some(Ok(SlashCommand::Background(Some(Mode::Off)))));
        for (wrong, extra) in
            [("/mode yolo x", "\"x\""), ("/mode fast x", "\"x\""), ("/background off x y", "\"x\"")]
        {
            let Some(Err(problem)) = parse(wrong) else { panic!("{wrong} is taken") };
            assert!(problem.contains("no further word") && problem.contains(extra), "{problem}");
        }
        assert_eq!(parse("/copy code"), Some(Ok(SlashCommand::Copy(CopySource::Code))));
        assert_eq!(parse("/copy"), Some(Ok(SlashCommand::Copy(CopySource::Answer(1)))));
        assert_eq!(parse("/suggest"), Some(Ok(SlashCommand::Suggest(None))));
        assert_eq!(parse("/suggest off"), Some(Ok(SlashCommand::Suggest(Some(false)))));
        assert_eq!(parse("/mode"), Some(Ok(SlashCommand::Mode(None))));
        for wrong in [
            "/",
            "/copy 0",
            "/copy all",
            "/undo it",
            "/suggest never",
            "/mode fast",
            "/background on",
            "/clear all",
            "/clear all x",
            "/nothing",
        ] {
            assert!(matches!(parse(wrong), Some(Err(_))), "{wrong}");
            if wrong.starts_with("/undo") {
                assert!(parse(wrong).unwrap().unwrap_err().contains("takes no number"));
            }
        }
    }
}
