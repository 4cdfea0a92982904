use std::time::{Duration, Instant};

use headstart_forked_query::ToolOutcome;
use headstart_machine::error::CliError;
use headstart_machine::output::{ColorMode, Output, call_title, print, print_json, shadow_line};
use headstart_speculation::Event;
use serde::Serialize;
use textwrap::{Options, WordSplitter};

/// The least columns with which each line shows the time.
const WITH_TIME: usize = 60;

/// Prints what happens while it happens: lines for people or JSON objects for programs.
pub(super) struct ProgressPrinter {
    started: Instant,
    output: Output,
    columns: usize,
}

/// One line of the story.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgressLine<'a> {
    r#type: &'static str,
    at_ms: u64,
    who: &'a str,
    text: &'a str,
}

impl ProgressPrinter {
    pub(super) fn new(output: Output) -> Self {
        // Longer lines of prose are hard to read.
        Self { started: Instant::now(), output, columns: output.columns().clamp(20, 100) }
    }

    /// Prints a heading, for people only.
    pub(super) fn heading(&self, text: &str) -> Result<(), CliError> {
        self.print_for_people(|| {
            let rows = wrapped(text, self.columns);
            let rows: Vec<_> = rows.iter().map(|row| self.style().bold(row)).collect();
            format!("\n{}\n", rows.join("\n"))
        })
    }

    /// Prints something that happened, with the name of who did it.
    pub(super) fn say(&self, who: &str, text: &str) -> Result<(), CliError> {
        let at = self.started.elapsed();
        if self.output.is_json() {
            let line = ProgressLine { r#type: "step", at_ms: millis(at), who, text };
            return print_json(&line);
        }
        let time =
            if self.columns < WITH_TIME { String::new() } else { format!("{:>6.2} s", at.as_secs_f64()) };
        let margin = if time.is_empty() { 0 } else { time.len() + 2 };
        let room = self.columns.saturating_sub(margin + WHO + 1);
        let mut shown = String::new();
        let rows = text.lines().flat_map(|line| wrapped(line, room).into_iter().map(move |row| (line, row)));
        for (number, (line, row)) in rows.enumerate() {
            // Only the first row has the time and the name.
            let (time, name) = if number == 0 && !who.is_empty() { (time.as_str(), who) } else { ("", "") };
            let name = format!("{name:<WHO$}");
            let time = format!("{time:<margin$}");
            let (time, name) = (self.style().dim(&time), self.name(who, &name));
            for piece in [&time, &name, " ", &self.text(who, line, &row)] {
                shown.push_str(piece);
            }
            shown.truncate(shown.trim_end().len());
            shown.push('\n');
        }
        print(&shown)
    }

    /// Prints an event of a run. `who` is `model` for a turn that the user watches, and `ahead` for a speculation.
    pub(super) fn event(&self, who: &str, event: &Event) -> Result<(), CliError> {
        match event {
            Event::ToolCall { call } => self.say(who, &call_title(call)),
            Event::ToolResult { result, .. } => match &result.outcome {
                ToolOutcome::Error(message) => self.say(who, &format!("  failed: {message}")),
                ToolOutcome::Output(_) => Ok(()),
            },
            Event::ShadowRan { .. } => self.say(who, &format!("  {}", shadow_line(event))),
            _ => Ok(()),
        }
    }

    /// Prints a value in its own JSON form, for programs only.
    pub(super) fn object(&self, value: &impl Serialize) -> Result<(), CliError> {
        if !self.output.is_json() {
            return Ok(());
        }
        print_json(value)
    }

    /// Prints something for people only.
    pub(super) fn print_for_people(&self, text: impl FnOnce() -> String) -> Result<(), CliError> {
        if self.output.is_json() { Ok(()) } else { print(&text()) }
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn style(&self) -> ColorMode {
        self.output.style()
    }

    fn name(&self, who: &str, name: &str) -> String {
        match who {
            "ahead" => self.style().cyan(name),
            "Tab" => self.style().green(name),
            "you" | "asks" => self.style().bold(name),
            _ => self.style().dim(name),
        }
    }

    /// A row of a line. The rows of a diff have their colours.
    fn text(&self, who: &str, line: &str, row: &str) -> String {
        match (who, line.as_bytes().first()) {
            ("", Some(b'+')) => self.style().green(row),
            ("", Some(b'-')) => self.style().red(row),
            ("", Some(b'@')) => self.style().cyan(row),
            _ => row.to_owned(),
        }
    }
}

/// The columns of a name.
const WHO: usize = 7;

fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let options = Options::new(columns.max(8)).word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(text, options).into_iter().map(std::borrow::Cow::into_owned).collect()
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
