//! Suggestions as clients show them: the candidates, and a command that submits the first one.

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, SessionInfoUpdate, SessionUpdate,
    UnstructuredCommandInput,
};
use headstart_agent::View;
use headstart_machine::conversation::words::counted;
use headstart_machine::output::one_line;
use headstart_speculation::Ending;
use serde_json::{Value, json};

/// The suggestions, and the state of the work for the first one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::hosts) struct Offer {
    /// The candidates, best first. The one that is shown comes before all others.
    texts: Vec<String>,
    ahead: Option<AheadStatus>,
    /// Why there are none.
    unsuggested: Option<Unsuggested>,
}

/// A reason for which nothing is suggested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::hosts) struct Unsuggested {
    /// As in the ledger.
    pub(in crate::hosts) code: String,
    pub(in crate::hosts) why: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct AheadStatus {
    id: String,
    state: &'static str,
    changes: usize,
}

impl Offer {
    pub(super) fn of(view: &View) -> Self {
        let Some(suggestion) = &view.suggestion else { return Self::default() };
        let others = suggestion.all.iter().map(ToString::to_string).filter(|text| *text != suggestion.text);
        let texts = std::iter::once(suggestion.text.clone()).chain(others).collect();
        let ahead = view.ahead.as_ref().map(|ahead| AheadStatus {
            id: ahead.id.clone(),
            state: match ahead.finished.as_ref().map(|finished| (&finished.ending, finished.failures())) {
                None => "running",
                Some((Ending::Completed, failures)) if failures.is_empty() => "ready",
                Some((Ending::Completed, _)) => "failed",
                Some((Ending::Boundary { .. }, _)) => "boundary",
                Some(_) => "stopped",
            },
            changes: ahead.progress.staged.len(),
        });
        Self { texts, ahead, unsuggested: None }
    }

    /// No suggestion, and why.
    pub(in crate::hosts) fn withheld(unsuggested: Unsuggested) -> Self {
        Self { unsuggested: Some(unsuggested), ..Self::default() }
    }

    /// Why nothing is suggested, in words.
    pub(super) fn why_none(&self) -> Option<&Unsuggested> {
        self.unsuggested.as_ref()
    }

    /// An offer with one candidate. `work` is the id of the work for it, its state, and the number of files that it
    /// changes.
    pub(in crate::hosts) fn of_work(text: &str, work: Option<(&str, &'static str, usize)>) -> Self {
        let ahead = work.map(|(id, state, changes)| AheadStatus { id: id.to_owned(), state, changes });
        Self { texts: vec![text.to_owned()], ahead, unsuggested: None }
    }

    /// Whether other work runs ahead than in `than`.
    pub(super) fn is_for_other_work(&self, than: &Self) -> bool {
        let id = |offer: &Self| offer.ahead.as_ref().map(|ahead| ahead.id.clone());
        self.ahead.is_some() && id(self) != id(than)
    }

    /// The candidate that is shown, if there is one.
    pub(super) fn first(&self) -> Option<&str> {
        self.texts.first().map(String::as_str)
    }

    /// The candidates, in the form that is known to clients which show them. An empty list withdraws earlier ones.
    pub(in crate::hosts) fn update(&self) -> SessionUpdate {
        let candidates = self.texts.iter().enumerate().map(|(place, text)| {
            let mut candidate = json!({ "text": text });
            if let Some(AheadStatus { id, state, changes }) = self.ahead.as_ref().filter(|_| place == 0) {
                let ahead = json!({ "id": id, "state": state, "changes": changes });
                candidate["_meta"] = json!({ "headstart": ahead });
            }
            candidate
        });
        let suggestions: Vec<Value> = candidates.collect();
        let mut meta = serde_json::Map::new();
        meta.insert("promptSuggestions".to_owned(), json!({ "suggestions": suggestions }));
        if let Some(Unsuggested { code, why }) = &self.unsuggested {
            let unsuggested = json!({ "code": code, "why": why });
            meta.insert("headstart".to_owned(), json!({ "unsuggested": unsuggested }));
        }
        SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().meta(meta))
    }

    /// The command that submits the first candidate, if there is one.
    pub(in crate::hosts) fn next(&self) -> Option<AvailableCommand> {
        let text = one_line(self.first()?);
        let what = match &self.ahead {
            None => text,
            Some(AheadStatus { state, changes: 0, .. }) => format!("{text} · {state}"),
            Some(AheadStatus { state, changes, .. }) => {
                format!("{text} · {state}, {}", counted(*changes, "file"))
            }
        };
        Some(AvailableCommand::new("next", what))
    }

    /// The commands that are available now.
    pub(super) fn commands(&self, has_staged: bool) -> SessionUpdate {
        let ahead = UnstructuredCommandInput::new("on | off");
        let staged = [
            AvailableCommand::new("write", "Write what your turns have staged"),
            AvailableCommand::new("drop", "Drop what your turns have staged"),
        ];
        let staged = staged.into_iter().filter(|_| has_staged);
        let always = [
            AvailableCommand::new("diff", "Show what is staged, or what the work ahead would change"),
            AvailableCommand::new("undo", "Take back what the last turn wrote"),
            AvailableCommand::new("stats", "Show what work ahead cost and saved in this session"),
            AvailableCommand::new("tools", "Show what tools the model has, and what becomes of their calls"),
            AvailableCommand::new("mcp", "Show how the tool servers stand"),
            AvailableCommand::new("compact", "Have what was said summed up, all but the last turns"),
            AvailableCommand::new("ahead", "Whether the next prompt is suggested and run ahead")
                .input(AvailableCommandInput::Unstructured(ahead)),
        ];
        let commands = self.next().into_iter().chain(staged).chain(always).collect();
        SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands))
    }
}

/// The meaning of a line that begins with a slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SessionCommand {
    Next,
    Diff,
    Write,
    Drop,
    Undo,
    Stats,
    Tools,
    Servers,
    Compact,
    Ahead(bool),
    /// `/ahead` with another word, or without one.
    AheadHow,
}

/// The command in a prompt; `None` for a prompt that is for the model.
pub(super) fn command(prompt: &str) -> Option<SessionCommand> {
    let mut words = prompt.trim().strip_prefix('/')?.split_whitespace();
    let command = match (words.next()?, words.next()) {
        ("next", None) => SessionCommand::Next,
        ("diff", None) => SessionCommand::Diff,
        ("write", None) => SessionCommand::Write,
        ("drop", None) => SessionCommand::Drop,
        ("undo", None) => SessionCommand::Undo,
        ("stats", None) => SessionCommand::Stats,
        ("tools", None) => SessionCommand::Tools,
        ("mcp", None) => SessionCommand::Servers,
        ("compact", None) => SessionCommand::Compact,
        ("ahead", Some("on")) => SessionCommand::Ahead(true),
        ("ahead", Some("off")) => SessionCommand::Ahead(false),
        // The chat in a terminal has this command for it.
        ("ahead" | "background", _) => SessionCommand::AheadHow,
        _ => return None,
    };
    words.next().is_none().then_some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_commands_are_commands() {
        assert_eq!(command("/next"), Some(SessionCommand::Next));
        assert_eq!(command(" /ahead off\n"), Some(SessionCommand::Ahead(false)));
        assert_eq!(command("/ahead"), Some(SessionCommand::AheadHow));
        for prompt in ["next", "/etc/hosts is empty", "/next please", "/undo it", "", "/"] {
            assert_eq!(command(prompt), None, "{prompt}");
        }
    }

    #[test]
    fn the_first_candidate_says_what_is_ready() {
        let ahead = AheadStatus { id: "k-1".to_owned(), state: "ready", changes: 2 };
        let offer = Offer {
            texts: vec!["run the tests".into(), "commit".into()],
            ahead: Some(ahead),
            unsuggested: None,
        };
        let update = serde_json::to_value(offer.update()).unwrap();
        assert_eq!(
            update,
            json!({ "sessionUpdate": "session_info_update", "_meta": { "promptSuggestions": { "suggestions": [
                { "text": "run the tests", "_meta": { "headstart": { "id": "k-1", "state": "ready", "changes": 2 } } },
                { "text": "commit" },
            ] } } })
        );
        let commands = serde_json::to_value(offer.commands(false)).unwrap();
        let next = json!({ "name": "next", "description": "run the tests · ready, 2 files" });
        assert_eq!(commands["availableCommands"][0], next);
        let why = "the model runs on this machine, which is busy".to_owned();
        let withheld = Offer::withheld(Unsuggested { code: "load".to_owned(), why });
        let update = serde_json::to_value(withheld.update()).unwrap();
        assert_eq!(
            update["_meta"],
            json!({ "promptSuggestions": { "suggestions": [] }, "headstart": { "unsuggested":
                { "code": "load", "why": "the model runs on this machine, which is busy" } } })
        );
        let none = serde_json::to_value(Offer::default().commands(false)).unwrap();
        assert_eq!(none["availableCommands"][0]["name"], "diff");
    }
}
