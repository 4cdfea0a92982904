use std::io::{self, Write};
use std::time::{Duration, Instant};

use headstart_forked_query::{ToolCall, ToolOutcome};
use headstart_speculation::Event;
use serde::Serialize;

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
    pub(super) fn heading(&self, text: &str) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        writeln!(io::stdout(), "\n{text}")
    }

    /// Something happened.
    pub(super) fn say(&self, who: &str, text: &str) -> io::Result<()> {
        let at = self.started.elapsed();
        if self.json {
            let line = Line { r#type: "step", at_ms: millis(at), who, text };
            return writeln!(io::stdout(), "{}", serde_json::to_string(&line)?);
        }
        let mut out = io::stdout().lock();
        for (number, line) in text.lines().enumerate() {
            if number == 0 {
                writeln!(out, "{:>8.2} s  {who:<8} {line}", at.as_secs_f64())?;
            } else {
                writeln!(out, "{:>21}{line}", "")?;
            }
        }
        out.flush()
    }

    /// An event of a run; `who` is `model` for a turn that the user watches, `ahead` for a speculation.
    pub(super) fn event(&self, who: &str, event: &Event) -> io::Result<()> {
        match event {
            Event::ToolCall { call } => self.say(who, &one_line(call)),
            Event::ToolResult { result } => match &result.outcome {
                ToolOutcome::Error(message) => self.say(who, &format!("  failed: {message}")),
                ToolOutcome::Output(_) => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Anything that has a JSON form of its own.
    pub(super) fn object(&self, value: &impl Serialize) -> io::Result<()> {
        if !self.json {
            return Ok(());
        }
        writeln!(io::stdout(), "{}", serde_json::to_string(value)?)
    }

    pub(super) fn is_json(&self) -> bool {
        self.json
    }
}

/// A call as a person would write it down: the name and the argument that matters.
pub(crate) fn one_line(call: &ToolCall) -> String {
    let key = ["command", "pattern", "file_path", "path"]
        .into_iter()
        .find_map(|key| call.args.get(key).and_then(serde_json::Value::as_str));
    let argument = key.unwrap_or_default().lines().next().unwrap_or_default();
    let cut: String = argument.chars().take(100).collect();
    format!("{} {cut}", call.name).trim_end().to_owned()
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
