use std::io::{self, Stdout};

use headstart_speculation::Event;

use super::show;
use crate::error::CliError;
use crate::output::{Output, print, print_json};
use crate::terminal::{Consent, LineEditor, Palette, Screen, Size, Style, TerminalGuard, View, render};

/// Where the chat shows what happens: a terminal with a prompt at the bottom, or lines for whoever reads a pipe.
pub(crate) enum Face {
    Terminal(Box<Terminal>),
    Lines(Output),
}

/// A terminal in our mode. The screen goes before the guard, so that it can clean up.
pub(crate) struct Terminal {
    screen: Screen<Stdout>,
    palette: Palette,
    _guard: TerminalGuard,
}

impl Face {
    pub(crate) fn terminal(palette: Palette) -> io::Result<Self> {
        let size = Size::of_terminal()?;
        let guard = TerminalGuard::new()?;
        let screen = Screen::new(io::stdout(), size, palette);
        Ok(Self::Terminal(Box::new(Terminal { screen, palette, _guard: guard })))
    }

    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    pub(super) fn resize(&mut self, size: Size) {
        if let Self::Terminal(terminal) = self {
            terminal.screen.resize(size);
        }
    }

    /// A remark to the person; programs that read JSON do not get it.
    pub(super) fn say(&mut self, text: &str, style: Style) -> Result<(), CliError> {
        match self {
            Self::Terminal(terminal) => terminal.screen.print_above(text, style).map_err(CliError::Output),
            Self::Lines(output) if output.is_json() => Ok(()),
            Self::Lines(_) => print(&format!("{}\n", crate::output::printable(text))),
        }
    }

    /// Something that a turn does.
    pub(super) fn event(&mut self, event: &Event) -> Result<(), CliError> {
        match self {
            Self::Terminal(terminal) => {
                let screen = &mut terminal.screen;
                match event {
                    Event::Text { text } => screen.stream_above(text, Style::Plain),
                    other => match show::event_line(other) {
                        Some((line, style)) => screen.print_above(&line, style),
                        None => Ok(()),
                    },
                }
                .map_err(CliError::Output)
            }
            Self::Lines(output) if output.is_json() => print_json(event),
            Self::Lines(_) => match event {
                Event::Text { text } => print(&crate::output::printable(text)),
                other => match show::event_line(other) {
                    Some((line, _)) => print(&format!("\n{}\n", crate::output::printable(&line))),
                    None => Ok(()),
                },
            },
        }
    }

    /// Ends the line of an answer.
    pub(super) fn end_line(&mut self) -> Result<(), CliError> {
        match self {
            Self::Terminal(terminal) => terminal.screen.end_line().map_err(CliError::Output),
            Self::Lines(output) if output.is_json() => Ok(()),
            Self::Lines(_) => print("\n"),
        }
    }

    /// Draws the prompt, or the question in its place.
    pub(super) fn draw(
        &mut self,
        editor: &LineEditor,
        question: Option<&Consent>,
        status: Option<&str>,
    ) -> Result<(), CliError> {
        let Self::Terminal(terminal) = self else { return Ok(()) };
        let view = View { size: terminal.screen.size(), palette: terminal.palette, status };
        let frame = match question {
            Some(question) => question.render(&view),
            None => render(editor, &view),
        };
        terminal.screen.draw(frame).map_err(CliError::Output)
    }
}
