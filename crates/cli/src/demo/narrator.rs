use std::time::{Duration, Instant};

use headstart_forked_query::ToolOutcome;
use headstart_speculation::Event;
use serde::Serialize;

use crate::error::CliError;
use crate::output::{call_title, print, print_json};

/// Tells what happens, as it happens: a line for people or a JSON object for programs.
pub(super) struct Narrator {
    started: Instant,
    json: bool,
}

/// One line of the story.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    r#type: &'static str,
    at_ms: u64,
    who: &'a str,
    text: &'a str,
}

impl Narrator {
    pub(super) fn new(json: bool) -> Self {
        Self { started: Instant::now(), json }
    }

    /// A heading; people only.
    pub(super) fn heading(&self, text: &str) -> Result<(), CliError> {
        if self.json {
            return Ok(());
        }
        print(&format!("\n{text}\n"))
    }

    /// Something happened.
    pub(super) fn say(&self, who: &str, text: &str) -> Result<(), CliError> {
        let at = self.started.elapsed();
        if self.json {
            let line = Line { r#type: "step", at_ms: millis(at), who, text };
            return print_json(&line);
        }
        for (number, line) in text.lines().enumerate() {
            match number {
                0 => print(&format!("{:>8.2} s  {who:<8} {line}\n", at.as_secs_f64()))?,
                _ => print(&format!("{:>20} {line}\n", ""))?,
            }
        }
        Ok(())
    }

    /// An event of a run; `who` is `model` for a turn that the user watches, `ahead` for a speculation.
    pub(super) fn event(&self, who: &str, event: &Event) -> Result<(), CliError> {
        match event {
            Event::ToolCall { call } => self.say(who, &call_title(call)),
            Event::ToolResult { result } => match &result.outcome {
                ToolOutcome::Error(message) => self.say(who, &format!("  failed: {message}")),
                ToolOutcome::Output(_) => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Anything that has a JSON form of its own.
    pub(super) fn object(&self, value: &impl Serialize) -> Result<(), CliError> {
        if !self.json {
            return Ok(());
        }
        print_json(value)
    }

    pub(super) fn is_json(&self) -> bool {
        self.json
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
