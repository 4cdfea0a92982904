//! The line editor of `headstart chat` without a chat, to try it in a terminal or with a pipe: it prints each line that
//! is submitted.
//!
//! `ask` asks for consent, `stream` prints an answer piece by piece while you go on typing, `panic` panics, and
//! ghost text is offered after each line.

use std::io::{self, IsTerminal, Stdout, Write};
use std::time::{Duration, Instant};

use crossterm::event::Event;
use headstart_terminal::{
    Action, Consent, ConsentAnswer, Diff, Ghost, GhostDirection, Input, InputEvent, LineEditor, LiveRow,
    Markdown, Palette, Screen, Size, Style, TerminalGuard, Theme, View, render, sanitize,
};

const ANSWER: &str = "This answer comes word by word, and is long enough to need a second row on most terminals, \
    while the prompt below stays where it is and takes what you type.\nIt has a second line.";

/// There is no work to show.
const LIVE: [LiveRow; 0] = [];

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        Demo::new()?.run().await
    } else {
        echo_lines().await
    }
}

async fn echo_lines() -> io::Result<()> {
    let mut input = Input::of_pipe();
    while let Some(event) = input.next().await? {
        if let InputEvent::Line(line) = event {
            writeln!(io::stdout(), "you said: {}", sanitize(&line))?;
        }
    }
    Ok(())
}

struct Demo {
    editor: LineEditor,
    consent: Option<Consent>,
    /// The words that are still to be streamed.
    answer: Vec<&'static str>,
    palette: Palette,
    screen: Screen<Stdout>,
    input: Input,
    // Fields are dropped in order, and this must be the last one, because the screen needs the terminal's mode until it
    // is gone.
    _guard: TerminalGuard,
}

impl Demo {
    fn new() -> io::Result<Self> {
        let theme = std::env::var_os("NO_COLOR").is_none().then(Theme::default);
        let palette = Palette::of(theme, |name| std::env::var(name).ok());
        let guard = TerminalGuard::new(false, false)?;
        let mut editor = LineEditor::new(vec!["an older line".to_owned()]);
        editor.set_ghost(Some(Ghost::only("run the tests")));
        let is_raw = std::env::args().any(|argument| argument == "--raw");
        let markdown = if is_raw { Markdown::Raw } else { Markdown::Rendered };
        let screen = Screen::new(io::stdout(), Size::of_terminal()?, palette, markdown);
        Ok(Self {
            editor,
            consent: None,
            answer: Vec::new(),
            palette,
            screen,
            input: Input::of_terminal(),
            _guard: guard,
        })
    }

    async fn run(mut self) -> io::Result<()> {
        self.screen.print_above("Type a line; Ctrl-D ends.", Style::Dim)?;
        loop {
            self.draw()?;
            tokio::select! {
                event = self.input.next() => {
                    let Some(InputEvent::Terminal(event)) = event? else { return Ok(()) };
                    if !self.take(&event)? {
                        return Ok(());
                    }
                }
                () = tokio::time::sleep(Duration::from_millis(30)), if !self.answer.is_empty() => {
                    self.screen.stream_above(self.answer.remove(0));
                    if self.answer.is_empty() {
                        self.screen.end_answer()?;
                    }
                }
            }
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        self.screen.resize(Size::of_terminal()?);
        let status = match self.answer.len() {
            0 => self.editor.is_recalled().then(|| "from the history".to_owned()),
            left => Some(format!("answering: {left} words left")),
        };
        let search = self.editor.searches_for().map(|words| format!("searching: {words}"));
        let status = search.or(status);
        let view = View {
            size: self.screen.size(),
            palette: self.palette,
            live: &LIVE,
            status: status.as_deref(),
            footer: None,
        };
        let frame = match &self.consent {
            Some(consent) => consent.render(&view),
            None => render(&self.editor, &view),
        };
        self.screen.draw(frame, Instant::now())
    }

    /// Handles an event, and returns whether to go on.
    fn take(&mut self, event: &Event) -> io::Result<bool> {
        if let (Some(consent), Event::Key(_)) = (&mut self.consent, event) {
            match consent.handle(Instant::now(), event) {
                Some(ConsentAnswer::Yes) => self.screen.print_above("you said yes", Style::Added)?,
                Some(ConsentAnswer::No) => self.screen.print_above("you said no", Style::Removed)?,
                Some(ConsentAnswer::Diff) => {
                    let patch = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,0 +1 @@\n+all of it\n";
                    self.screen.print_diff_above(&Diff::parse(patch).unnamed(), usize::MAX, "")?;
                    return Ok(true);
                }
                Some(other) => self.screen.print_above(&format!("you said {other:?}"), Style::Dim)?,
                None => return Ok(true),
            }
            self.consent = None;
            return Ok(true);
        }
        match self.editor.handle(event) {
            // The next frame shows the result.
            Action::None
            | Action::Inserted
            | Action::Edited
            | Action::TurnGhost(GhostDirection::Next | GhostDirection::Previous)
            | Action::ListSuggestions
            | Action::Marked
            | Action::TakeListed(_)
            | Action::DismissGhost
            | Action::ClosePopup
            | Action::Escape
            | Action::EditQueued
            | Action::TakeBack
            | Action::Editor
            | Action::NextMode
            | Action::Redraw
            | Action::Suspend
            | Action::ReadAll
            | Action::ReadNewest
            | Action::Resized(_) => {}
            Action::Submit(text) => self.submit(&text)?,
            Action::Tab | Action::TakeGhost if self.editor.ghost().is_none() => {
                if let Some(text) = self.editor.send() {
                    self.submit(&text)?;
                }
            }
            action @ (Action::Tab | Action::TakeGhost | Action::InsertGhost) => {
                let rest = self.editor.ghost().map_or("", |ghost| &ghost.rest);
                let text = [self.editor.text(), rest].concat();
                self.editor.replace(&text);
                let name = if action == Action::InsertGhost { "Right" } else { "Tab" };
                self.screen.print_above(&format!("accepted with {name}"), Style::Dim)?;
            }
            Action::Interrupt | Action::EndOfInput => return Ok(false),
        }
        Ok(true)
    }

    fn submit(&mut self, text: &str) -> io::Result<()> {
        self.screen.print_above(&format!("> {text}"), Style::Strong)?;
        match text {
            "ask" => self.consent = Some(Consent::about_call("run this?", None, false, Instant::now())),
            "write" => self.consent = Some(Consent::about_changes("write this?", false, Instant::now())),
            "conflict" => self.consent = Some(Consent::about_conflict("a.txt:", true, true, Instant::now())),
            "stale" => self.consent = Some(Consent::about_stale("a.txt:", Instant::now())),
            "commits" => self.consent = Some(Consent::about_commits("keep its commit?", Instant::now())),
            "stream" => self.answer = ANSWER.split_inclusive(' ').collect(),
            "panic" => panic!("as you wish"),
            _ => self.screen.print_above(&format!("you said: {text}"), Style::Plain)?,
        }
        self.editor.set_ghost(Some(Ghost::only("fix the failing test")));
        Ok(())
    }
}
