use headstart_speculation::{Event, Events, Speculation, Status};

use super::books::Account;

/// The speculation behind the suggestion, with what it has told so far.
pub(super) struct Ahead {
    pub(super) speculation: Speculation,
    pub(super) events: Events,
    /// In order; shown only when the user takes the work.
    pub(super) told: Vec<Event>,
    /// Whether there is nothing more to tell.
    pub(super) ended: bool,
    pub(super) account: Account,
}

impl Ahead {
    pub(super) fn new(speculation: Speculation, events: Events) -> Self {
        let account = Account::new(speculation.id().to_owned());
        Self { speculation, events, told: Vec::new(), ended: false, account }
    }

    /// Keeps what the work told; nothing is the end of it.
    pub(super) fn hear(&mut self, told: Option<Event>) {
        match told {
            Some(event) => self.told.push(event),
            None => self.ended = true,
        }
    }

    /// A line for the status above the prompt. It does not tell the prompt before the suggestion shows.
    pub(super) fn status(&self) -> String {
        let calls = self.told.iter().filter(|event| matches!(event, Event::ToolResult { .. })).count();
        let staged = self.speculation.changes().changes.len();
        let word = match self.speculation.status() {
            Status::Running => "working ahead",
            Status::Completed => "ready",
            Status::Boundary => "waits for you",
            _ => "stopped early",
        };
        format!("{word}: {}, {} staged", counted(calls, "call"), counted(staged, "change"))
    }
}

fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
