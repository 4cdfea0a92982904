use std::io::{self, Stdout};
use std::time::Instant;

use crossterm::event::Event;
use headstart_agent::{Compaction, TurnEvent};
use headstart_machine::error::CliError;
use headstart_machine::output::{Output, note, print, print_json};
use headstart_speculation::Ending;
use headstart_terminal::{
    ASKS_BACKGROUND, Consent, Diff, LineEditor, LiveRow, Markdown, Pager, Palette, Passage, Screen, Size,
    StatusLine, Style, TerminalGuard, Theme, View, render, sanitize,
};
use serde::Serialize;
use serde_json::json;

use super::screen_reader::ScreenReader;
use super::show::StyledLine;

/// Where the chat shows what happens: a terminal with a prompt at the bottom, lines for a pipe, or lines for a screen
/// reader.
pub(crate) enum Display {
    Terminal(Box<Terminal>),
    Lines {
        output: Output,
        /// Whether the line of the answer has not ended yet.
        open: bool,
    },
    /// Lines for a person who uses a screen reader.
    Aloud(ScreenReader),
}

/// The last line of a turn with `--json`.
#[derive(Serialize)]
struct FinishedLine<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    ending: &'a Ending,
}

/// A terminal that is set up for the chat. The screen is dropped before the guard, so that it can clean up.
pub(crate) struct Terminal {
    screen: Screen<Stdout>,
    palette: Palette,
    guard: TerminalGuard,
    markdown: Markdown,
    /// A text that is open on a separate screen.
    pager: Option<Pager>,
}

impl Terminal {
    fn open(&mut self, pager: Pager) -> Result<(), CliError> {
        self.guard.leave_lines().map_err(CliError::Output)?;
        self.pager = Some(pager);
        Ok(())
    }
}

impl Display {
    pub(crate) fn terminal(palette: Palette, markdown: Markdown, guard: TerminalGuard) -> io::Result<Self> {
        let screen = Screen::new(io::stdout(), Size::of_terminal()?, palette, markdown);
        Ok(Self::Terminal(Box::new(Terminal { screen, palette, guard, markdown, pager: None })))
    }

    /// Asks the terminal for the colour of its background.
    pub(crate) fn ask_background(&mut self) -> Result<(), CliError> {
        self.send(ASKS_BACKGROUND)
    }

    /// Changes the colours, if there are any. What is printed already keeps its own.
    pub(super) fn set_theme(&mut self, theme: Theme) {
        let Self::Terminal(terminal) = self else { return };
        if terminal.palette.is_plain() {
            return;
        }
        terminal.palette.theme = Some(theme);
        terminal.screen.set_palette(terminal.palette);
        if let Some(pager) = &mut terminal.pager {
            pager.set_palette(terminal.palette);
        }
    }

    /// Lines for a screen reader.
    pub(crate) fn screen_reader() -> Self {
        Self::Aloud(ScreenReader::default())
    }

    /// Whether there is a person who can be asked.
    pub(super) fn has_person(&self) -> bool {
        matches!(self, Self::Terminal(_) | Self::Aloud(_))
    }

    /// Whether a prompt is drawn and keys are read one by one.
    pub(crate) fn has_keys(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    pub(super) fn uses_screen_reader(&self) -> bool {
        matches!(self, Self::Aloud(_))
    }

    pub(super) fn is_json(&self) -> bool {
        matches!(self, Self::Lines { output, .. } if output.is_json())
    }

    /// How many rows the terminal has. A pipe has no limit.
    pub(super) fn rows(&self) -> usize {
        match self {
            Self::Terminal(terminal) => usize::from(terminal.screen.size().rows),
            Self::Lines { .. } | Self::Aloud(_) => usize::MAX,
        }
    }

    /// How many columns the terminal had when it was last asked. A pipe has no limit.
    pub(super) fn width(&self) -> usize {
        match self {
            Self::Terminal(terminal) => usize::from(terminal.screen.size().columns),
            Self::Lines { .. } | Self::Aloud(_) => usize::MAX,
        }
    }

    /// Lines for a pipe: answers go to standard output, everything else to standard error.
    pub(crate) fn lines(output: Output) -> Self {
        Self::Lines { output, open: false }
    }

    /// Sends the terminal a code that changes nothing on the screen.
    pub(super) fn send(&mut self, code: &str) -> Result<(), CliError> {
        match self {
            Self::Terminal(terminal) => terminal.screen.send(code).map_err(CliError::Output),
            Self::Lines { .. } | Self::Aloud(_) => Ok(()),
        }
    }

    /// Shows a remark.
    pub(super) fn say(&mut self, text: &str, style: Style) -> Result<(), CliError> {
        match self {
            Self::Terminal(terminal) => terminal.screen.print_above(text, style).map_err(CliError::Output),
            Self::Lines { .. } => {
                self.end_answer()?;
                note(text);
                Ok(())
            }
            Self::Aloud(aloud) => aloud.end_answer().and_then(|()| ScreenReader::say(text)),
        }
    }

    /// Shows what the user sent, if they cannot see it yet.
    pub(super) fn say_prompt(&mut self, text: &str) -> Result<(), CliError> {
        match self {
            Self::Terminal(terminal) => {
                terminal.screen.begin_turn();
                self.say(&format!("\n> {text}"), Style::Strong)
            }
            Self::Lines { .. } => Ok(()),
            Self::Aloud(_) => self.say(&format!("you: {text}"), Style::Strong),
        }
    }

    /// Shows a diff to a person at a terminal.
    pub(super) fn say_diff(&mut self, diff: &Diff, room: usize, hint: &str) -> Result<(), CliError> {
        match self {
            Self::Terminal(terminal) => {
                terminal.screen.print_diff_above(diff, room, hint).map_err(CliError::Output)
            }
            Self::Lines { .. } => Ok(()),
            Self::Aloud(_) => ScreenReader::say_diff(diff, room, hint),
        }
    }

    /// Shows lines about what a turn does. With JSON nothing is shown, because the events are written.
    pub(super) fn say_of_turn(&mut self, lines: &[StyledLine]) -> Result<(), CliError> {
        if self.is_json() {
            return Ok(());
        }
        if let Self::Aloud(aloud) = self {
            return aloud.end_answer().and_then(|()| ScreenReader::say_of_turn(lines));
        }
        lines.iter().try_for_each(|(line, style)| self.say(line, *style))
    }

    /// Shows more of an answer.
    pub(super) fn stream(&mut self, text: &str) -> Result<(), CliError> {
        match self {
            Self::Terminal(terminal) => {
                terminal.screen.stream_above(text);
                Ok(())
            }
            Self::Lines { output, .. } if output.is_json() => Ok(()),
            Self::Lines { open, .. } => {
                *open = !text.ends_with('\n');
                print(&sanitize(text))
            }
            Self::Aloud(aloud) => aloud.stream(text),
        }
    }

    /// Writes an event of a turn, with JSON.
    pub(super) fn write_event(&self, event: &TurnEvent) -> Result<(), CliError> {
        match event {
            _ if !self.is_json() => Ok(()),
            TurnEvent::Reported(event) => print_json(event),
            TurnEvent::Compacted(Compaction { outputs, summary, before, after }) => print_json(&json!({
                "type": "compacted", "outputs": outputs, "summary": summary, "before": before, "after": after,
            })),
            TurnEvent::Ended(ending) => print_json(&FinishedLine { r#type: "finished", ending }),
        }
    }

    /// Ends an answer.
    pub(super) fn end_answer(&mut self) -> Result<(), CliError> {
        match self {
            Self::Terminal(terminal) => terminal.screen.end_answer().map_err(CliError::Output),
            Self::Lines { open, .. } => {
                if std::mem::take(open) {
                    print("\n")?;
                }
                Ok(())
            }
            Self::Aloud(aloud) => aloud.end_answer(),
        }
    }

    /// How many columns the terminal has now.
    pub(super) fn columns(&mut self) -> Result<usize, CliError> {
        let Self::Terminal(terminal) = self else { return Ok(0) };
        terminal.screen.resize(Size::of_terminal().map_err(CliError::Output)?);
        Ok(usize::from(terminal.screen.size().columns))
    }

    /// Gives the terminal to another program while `run` lasts.
    pub(super) fn with_terminal_released<T>(
        &mut self,
        run: impl FnOnce() -> T,
    ) -> Result<Option<T>, CliError> {
        let Self::Terminal(terminal) = self else { return Ok(None) };
        terminal.screen.clear().map_err(CliError::Output)?;
        terminal.guard.restore();
        let done = run();
        terminal.guard.take().map_err(CliError::Output)?;
        Ok(Some(done))
    }

    /// Shows a text on a separate screen until its reader leaves it. Nothing else must be shown meanwhile.
    pub(super) fn read(&mut self, title: &str, passages: Vec<Passage>, at_end: bool) -> Result<(), CliError> {
        let Self::Terminal(terminal) = self else { return Ok(()) };
        let (size, palette) = (terminal.screen.size(), terminal.palette);
        terminal.open(Pager::new(title, passages, terminal.markdown, (size, palette), at_end))
    }

    /// Shows a text on a separate screen, from its start, if it would take more than half of the screen.
    pub(super) fn read_if_long(&mut self, title: &str, passages: Vec<Passage>) -> Result<(), CliError> {
        let Self::Terminal(terminal) = self else { return Ok(()) };
        let (size, palette) = (terminal.screen.size(), terminal.palette);
        let pager = Pager::new(title, passages, terminal.markdown, (size, palette), false);
        if pager.height() <= usize::from(size.rows / 2) { Ok(()) } else { terminal.open(pager) }
    }

    /// Whether a text is open on a separate screen.
    pub(super) fn is_reading(&self) -> bool {
        matches!(self, Self::Terminal(terminal) if terminal.pager.is_some())
    }

    /// Handles a key while a text is open on a separate screen.
    pub(super) fn on_key_of_reader(&mut self, event: &Event) -> Result<(), CliError> {
        let Self::Terminal(terminal) = self else { return Ok(()) };
        if terminal.pager.as_mut().is_some_and(|pager| pager.handle(event)) {
            terminal.pager = None;
            terminal.guard.go_back_to_lines().map_err(CliError::Output)?;
        }
        Ok(())
    }

    /// Draws the text on the separate screen.
    pub(super) fn draw_reader(&mut self) -> Result<(), CliError> {
        let Self::Terminal(terminal) = self else { return Ok(()) };
        let Some(pager) = &mut terminal.pager else { return Ok(()) };
        pager.resize(Size::of_terminal().map_err(CliError::Output)?);
        terminal.screen.draw_page(&pager.screen()).map_err(CliError::Output)
    }

    /// Scrolls the content of the screen away and prints the last turn again. `hint` says how to see what there is no
    /// room for.
    pub(super) fn scroll_away(&mut self, hint: &str) -> Result<(), CliError> {
        match self {
            Self::Terminal(terminal) => terminal.screen.scroll_away(hint).map_err(CliError::Output),
            Self::Lines { .. } | Self::Aloud(_) => Ok(()),
        }
    }

    /// Ends when the prompt has to be drawn again because an answer above it has grown.
    pub(super) fn next_redraw(&self) -> impl Future<Output = ()> + use<> {
        let due = match self {
            Self::Terminal(terminal) if terminal.pager.is_none() => terminal.screen.next_redraw(),
            _ => None,
        };
        async move {
            match due {
                Some(due) => tokio::time::sleep_until(due.into()).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Draws the prompt, or the question in its place.
    pub(super) fn draw(
        &mut self,
        editor: &LineEditor,
        question: Option<&Consent>,
        live: &[LiveRow],
        status: Option<&str>,
        footer: &StatusLine,
    ) -> Result<(), CliError> {
        let terminal = match self {
            Self::Terminal(terminal) => terminal,
            Self::Aloud(aloud) => return aloud.draw(editor, question, live, status),
            Self::Lines { .. } => return Ok(()),
        };
        let (size, palette) = (terminal.screen.size(), terminal.palette);
        let view = View { size, palette, live, status, footer: Some(footer) };
        let frame = match question {
            Some(question) => question.render(&view),
            None => render(editor, &view),
        };
        terminal.screen.draw(frame, Instant::now()).map_err(CliError::Output)
    }
}
