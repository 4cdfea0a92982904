use headstart_speculation::{Event, Events, Speculation, Status};

/// The speculation behind the suggestion, with what it has told so far.
pub(super) struct Ahead {
    pub(super) speculation: Speculation,
    pub(super) events: Events,
    /// In order; shown only when the user takes the work.
    pub(super) told: Vec<Event>,
    /// Whether the suggestion stands in the prompt, put there by the user's key.
    pub(super) inserted: bool,
    /// Whether there is nothing more to tell.
    pub(super) ended: bool,
}

impl Ahead {
    pub(super) fn new(speculation: Speculation, events: Events) -> Self {
        Self { speculation, events, told: Vec::new(), inserted: false, ended: false }
    }

    /// Keeps what the work told; nothing is the end of it.
    pub(super) fn hear(&mut self, told: Option<Event>) {
        match told {
            Some(event) => self.told.push(event),
            None => self.ended = true,
        }
    }

    /// Whether a submitted text is the prompt that runs, but for blanks around it and a full stop at its end.
    pub(super) fn is_for(&self, text: &str) -> bool {
        let plain = |text: &str| text.trim().trim_end_matches(['.', '。']).trim_end().to_owned();
        plain(text) == plain(self.speculation.prompt())
    }

    /// A line for the status above the prompt.
    pub(super) fn status(&self) -> String {
        let calls = self.told.iter().filter(|event| matches!(event, Event::ToolResult { .. })).count();
        let staged = self.speculation.changes().changes.len();
        let word = match self.speculation.status() {
            Status::Running => "working ahead",
            Status::Completed => "ready",
            Status::Boundary => "waits for you",
            _ => "stopped early",
        };
        format!("{word}: {} ({calls} calls, {staged} changes staged)", self.speculation.prompt())
    }
}
