//! Commands that the user runs themselves, such as `!cargo test`. They run without a question, and the model is told
//! about them with the next prompt.

use std::sync::Arc;
use std::time::{Duration, Instant};

use headstart_forked_query::ToolCall;
use headstart_machine::error::CliError;
use headstart_machine::output::shortened;
use headstart_overlay_fs::{Overlay, Quota, Tree};
use headstart_speculation::Host;
use headstart_terminal::{LiveRow, Style};
use headstart_toolbox::{PartialOutput, ToolContext, ToolLimits, ToolOutput};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::calls::OwnEnd;
use super::pager::{SideOutput, own_command_passages};
use super::{Chat, calls};

/// How long a command may run.
const TIME: Duration = Duration::from_secs(60 * 60);
/// The most characters of its output that the model is told.
const TOLD_CHARS: usize = 8_000;

/// A running command. Dropping it ends the command and everything that it started.
pub(super) struct OwnCommand {
    line: String,
    began: Instant,
    printed: String,
    events: mpsc::UnboundedReceiver<CommandEvent>,
    /// Whether the model is told about the command.
    tells_model: bool,
    _work: JoinSet<()>,
}

/// News about a running command.
pub(super) enum CommandEvent {
    Printed(String),
    Ended(Result<String, String>),
}

struct OutputForwarder(mpsc::UnboundedSender<CommandEvent>);

impl PartialOutput for OutputForwarder {
    fn on_output(&self, end: &str) {
        // The receiver is gone if the command was ended, so nobody needs this.
        let _ = self.0.send(CommandEvent::Printed(end.to_owned()));
    }
}

/// The command in a line that begins with `!`, and whether the model is told about it. A second `!` keeps it from the
/// model.
pub(super) fn parse(line: &str) -> Option<(&str, bool)> {
    let rest = line.trim().strip_prefix('!')?;
    Some(match rest.strip_prefix('!') {
        Some(line) => (line.trim(), false),
        None => (rest.trim(), true),
    })
}

/// Waits for news about the running command. Never ends if none runs.
pub(super) async fn next_event(own: &mut Option<OwnCommand>) -> CommandEvent {
    match own {
        Some(own) => match own.events.recv().await {
            Some(news) => news,
            None => CommandEvent::Ended(Err("it broke off".to_owned())),
        },
        None => std::future::pending().await,
    }
}

impl Chat {
    /// Runs a command of the user's own.
    pub(super) fn run_own(&mut self, line: &str, tells_model: bool) -> Result<(), CliError> {
        if line.is_empty() {
            return self
                .display
                .say("! runs a command of yours: !cargo test; with !! the model is not told", Style::Dim);
        }
        if self.own_command.is_some() {
            return self.display.say("a command of yours is running; Ctrl-C ends it", Style::Removed);
        }
        let call = ToolCall {
            id: String::new(),
            name: headstart_tool_gate::built_in::SHELL.name.to_string(),
            args: serde_json::Map::from_iter([("command".to_owned(), line.into())]),
        };
        let (send, events) = mpsc::unbounded_channel();
        let (engine, gate) = (self.parts.engine.clone(), self.parts.host.gate_context());
        let limits = ToolLimits { command_time: TIME, ..engine.limits.tools };
        let mut work = JoinSet::new();
        work.spawn(async move {
            let view = Arc::new(Overlay::new(engine.workspace as Arc<dyn Tree>, Quota::default()));
            let context = ToolContext {
                view: &view,
                gate: &gate,
                limits: &limits,
                hardened: None,
                consented: true,
                attended: true,
            };
            let prints = OutputForwarder(send.clone());
            let ended = engine.toolbox.run_streaming(&call, context, &prints).await;
            let _ = send.send(CommandEvent::Ended(
                ended.map(ToolOutput::into_text).map_err(|error| error.to_string()),
            ));
        });
        self.own_command = Some(OwnCommand {
            line: line.to_owned(),
            began: Instant::now(),
            printed: String::new(),
            events,
            tells_model,
            _work: work,
        });
        Ok(())
    }

    pub(super) fn on_own_command(&mut self, event: CommandEvent) -> Result<(), CliError> {
        match event {
            CommandEvent::Printed(end) => {
                if let Some(own) = &mut self.own_command {
                    own.printed = end;
                }
                Ok(())
            }
            CommandEvent::Ended(ended) => {
                let Some(own) = self.own_command.take() else { return Ok(()) };
                let end = match &ended {
                    Ok(printed) => OwnEnd::Ended(printed),
                    Err(why) => OwnEnd::NotRun(why),
                };
                self.say_own_end(&own, end)
            }
        }
    }

    /// Ends the command, on Ctrl-C. Returns whether there was one.
    pub(super) fn end_own(&mut self) -> Result<bool, CliError> {
        let Some(own) = self.own_command.take() else { return Ok(false) };
        self.say_own_end(&own, OwnEnd::Interrupted(&own.printed))?;
        Ok(true)
    }

    /// Shows a command that is over with what it printed, keeps that for the reader, and tells the model.
    fn say_own_end(&mut self, own: &OwnCommand, end: OwnEnd) -> Result<(), CliError> {
        self.display.end_answer()?;
        let lines = calls::own_command_lines(&own.line, own.began.elapsed(), end, &self.fold_hint());
        self.display.say_of_turn(&lines)?;
        let (how, printed) = match end {
            OwnEnd::Ended(printed) | OwnEnd::NotRun(printed) => ("ran", printed),
            OwnEnd::Interrupted(printed) => ("began to run, and ended,", printed),
        };
        let place = self.agent.view().items.len();
        let passages = own_command_passages(&lines[0].0, printed);
        self.side_outputs.push(SideOutput { items: place, passages, bytes: printed.len(), is_named: false });
        if own.tells_model {
            let what = match printed.trim() {
                "" => "It had printed nothing.".to_owned(),
                _ => format!("What it printed:\n{}", shortened(printed, TOLD_CHARS)),
            };
            self.agent.add_note(format!("the user {how} `{}` in a terminal here. {what}", own.line));
        }
        Ok(())
    }

    /// The rows of the running command, with how long it has run.
    pub(super) fn own_rows(&self) -> Vec<LiveRow> {
        let Some(own) = &self.own_command else { return Vec::new() };
        let title = format!("● ! {}", own.line.lines().next().unwrap_or_default());
        calls::running_rows(title, self.running_time(own.began), Some(&own.printed))
    }

    /// When the running command began.
    pub(super) fn own_began(&self) -> Option<Instant> {
        self.own_command.as_ref().map(|own| own.began)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_users_own_begins_with_an_exclamation_mark() {
        assert_eq!(parse("!cargo test"), Some(("cargo test", true)));
        assert_eq!(parse("  !! cat key "), Some(("cat key", false)));
        assert_eq!(parse("!"), Some(("", true)));
        assert_eq!(parse("what! now"), None);
    }
}
