//! Plays the stories of `crates/agent/tests/stories` in the terminal. A user does with keys what a story says and sees
//! what the story waits for; in the end the project, the ledger and the conversation must be as the story says. If the
//! terminal differs, the story says so in `without.terminal`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::fixture::{Chat, project};
use crate::ledger::lines;

struct Player {
    chat: Chat,
    arguments: Vec<String>,
    /// The text that was typed into the line.
    line: String,
    /// The question that the user is asked.
    question: String,
}

impl Player {
    fn perform(mut self, verb: &str, about: &Value) -> Self {
        let text = || about.as_str().unwrap_or_else(|| panic!("{verb} wants a text: {about}"));
        match verb {
            "submit" => {
                if self.line != text() {
                    self.replace_line(text());
                }
                self.chat.send("\r");
                self.line.clear();
            }
            "type" => {
                self.replace_line(text());
            }
            "take" => {
                self.chat.take();
                self.line.clear();
            }
            "interrupt" => self.chat.send("\x03"),
            "retry" => {
                self.replace_line("/retry");
                self.chat.send("\r");
                self.line.clear();
            }
            "answer" => self.answer(about),
            "background" => self.chat.send(&format!("/background {}\r", text())),
            "mode" => self.chat.send(&format!("/mode {}\r", text())),
            "write" => {
                for (path, content) in about.as_object().unwrap() {
                    self.chat.project.session.write(&format!("project/{path}"), content.as_str().unwrap());
                }
            }
            "pass" => std::thread::sleep(Duration::from_millis(about.as_u64().unwrap())),
            "until" => self.until(about),
            "restart" => return self.resume(),
            // The view is checked by hosts that have it as data.
            "view" => {}
            other => panic!("there is no step {other:?}"),
        }
        self
    }

    fn replace_line(&mut self, text: &str) {
        self.chat.send(&"\x7f".repeat(self.line.chars().count()));
        self.chat.send(text);
        text.clone_into(&mut self.line);
    }

    fn answer(&mut self, about: &Value) {
        if let Some(why) = about["no"].as_str() {
            self.chat.answer_to("run this?", "w");
            self.chat.wait_for("why not?");
            return self.chat.send(&format!("{why}\r"));
        }
        let (question, key) = match (self.question.as_str(), about.as_str()) {
            ("call", Some("yes")) => ("run this?", "y"),
            ("call", Some("always")) => ("run this?", "a"),
            ("call", Some("no")) => ("run this?", "n"),
            ("changes", Some("yes")) => ("write this?", "y"),
            ("conflicts", Some("anew")) => ("[a]sk again", "a"),
            ("conflicts", Some("no")) => ("[a]sk again", "\x1b"),
            ("conflicts", None) if about["keep"][0] == "work" => ("[a]sk again", "t"),
            (question, _) => panic!("to a question about {question} nobody says {about}"),
        };
        self.chat.answer_to(question, key);
    }

    fn until(&mut self, wanted: &Value) {
        let chat = &self.chat;
        match &wanted["suggestion"] {
            Value::Object(suggestion) if suggestion.get("rest").is_none() => {
                chat.wait_for(&format!("> {}  [Tab]", suggestion["text"].as_str().unwrap()));
            }
            Value::Object(suggestion) if suggestion["rest"].is_string() => chat.wait_for("[Tab]"),
            _ if wanted.get("suggestion").is_some() => chat.wait_until_gone("[Tab]"),
            _ => {}
        }
        match wanted["ahead"]["state"].as_str() {
            Some("ready") => chat.wait_for("ready"),
            Some("waits") => chat.wait_for("then asks"),
            _ => {}
        }
        if let Some(question) = wanted["question"]["type"].as_str() {
            question.clone_into(&mut self.question);
        }
        for item in wanted["items"].as_array().into_iter().flatten() {
            match (item["type"].as_str(), &item["text"]) {
                (Some("answer"), Value::String(text)) => chat.wait_for(text),
                (Some("notTaken"), _) => chat.wait_for("nothing of the work ahead was applied"),
                (Some("applied"), _) => chat.wait_for("of this was done ahead"),
                _ => {}
            }
        }
        for queued in wanted["queued"].as_array().into_iter().flatten() {
            chat.wait_for(&format!("next: {}", queued.as_str().unwrap()));
        }
        if let Some(draft) = wanted["draft"]["text"].as_str() {
            chat.wait_for(&format!("> {draft}"));
            draft.clone_into(&mut self.line);
        }
        // A wait that shows nothing on the screen gets time to happen.
        if wanted["items"].as_array().is_none_or(|items| items.iter().all(|item| item["text"].is_null())) {
            chat.settle();
        }
    }

    /// Goes on with the same conversation in a new process.
    fn resume(self) -> Self {
        let Self { mut chat, mut arguments, .. } = self;
        chat.send("\x04");
        assert_eq!(chat.exit_code(), 0);
        if !arguments.contains(&"--continue".to_owned()) {
            arguments.push("--continue".to_owned());
        }
        // The recording has to go on where it was, so the turns that were played are removed.
        let recording = chat.project.session.home().join("recording.json");
        let mut left: Value = serde_json::from_str(&fs::read_to_string(&recording).unwrap()).unwrap();
        left["turns"].as_array_mut().unwrap().drain(..6);
        left["suggestions"] = Value::Array(Vec::new());
        fs::write(&recording, left.to_string()).unwrap();
        let Chat { project, .. } = chat;
        Self {
            chat: Chat::spawn(project, &arguments, 100, 60),
            arguments,
            line: String::new(),
            question: String::new(),
        }
    }

    fn end(self) -> Chat {
        let Self { mut chat, .. } = self;
        // The text in the line has to be deleted before the chat can be left.
        chat.send("\x15\x04");
        assert_eq!(chat.exit_code(), 0);
        chat
    }
}

fn play(file: &Path) {
    let story: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let project = project();
    for (path, content) in story["files"].as_object().unwrap() {
        project.session.write(&format!("project/{path}"), content.as_str().unwrap());
    }
    let before = project.session.tree();
    let arguments = project.arguments(story["mode"].as_str().unwrap_or("auto-edit"));
    project.session.write("home/recording.json", story["recording"].to_string());
    let chat = Chat::spawn(project, &arguments, 100, 60);
    let mut player = Player { chat, arguments, line: String::new(), question: String::new() };
    for step in story["steps"].as_array().unwrap() {
        // A step that would be refused is left out, because a user of the terminal cannot do it.
        if step["refused"].is_null() {
            let (verb, about) = step.as_object().unwrap().iter().next().unwrap();
            player = player.perform(verb, about);
        }
    }
    let chat = player.end();
    let says = story["story"].as_str().unwrap();
    let (then, workspace) = (&story["then"], chat.project.session.workspace());
    let files: BTreeMap<_, _> = then["files"].as_object().unwrap().iter().collect();
    for (path, content) in &files {
        assert_eq!(
            fs::read_to_string(workspace.join(path)).ok().as_deref(),
            content.as_str(),
            "{says}: {path}"
        );
    }
    let is_known = |path: &Path| {
        before.iter().any(|(known, _)| known == path) || files.keys().any(|known| path.ends_with(known))
    };
    let after = chat.project.session.tree();
    let new: Vec<_> = after.iter().filter(|(path, content)| content.is_some() && !is_known(path)).collect();
    assert!(new.is_empty(), "{says}: {new:?}");
    let expected = then["outcomes"].as_array().unwrap();
    let outcomes = if expected.is_empty() { Vec::new() } else { lines(&chat, "outcome", expected.len()) };
    let outcomes: Vec<_> = outcomes.iter().map(|line| &line["outcome"]).collect();
    assert_eq!(outcomes, expected.iter().collect::<Vec<_>>(), "{says}");
    let told: Vec<_> =
        then["told"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect();
    assert_eq!(
        messages_to_model(&chat.project.session.home().join(".local/state/headstart/sessions")),
        told,
        "{says}"
    );
}

/// What the user's messages told the model, in the only conversation that is kept.
fn messages_to_model(folder: &Path) -> Vec<String> {
    let mut folders = vec![folder.to_owned()];
    let mut told = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else if entry.path().extension().is_some_and(|extension| extension == "jsonl") {
                let text = fs::read_to_string(entry.path()).unwrap();
                let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
                let messages =
                    lines.filter(|line| line["type"] == "message" && line["message"]["role"] == "user");
                told.extend(
                    messages.map(|line| line["message"]["parts"][0]["text"].as_str().unwrap().to_owned()),
                );
            }
        }
    }
    told
}

fn stories() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent/tests/stories");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_story = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.ends_with(".json") && !name.ends_with(".views.json")
    };
    let mut stories: Vec<_> = files.filter(is_story).collect();
    stories.sort();
    stories
}

#[test]
fn every_story_goes_in_a_terminal_as_it_is_told() {
    let played = stories().into_iter().filter(|story| {
        let text: Value = serde_json::from_str(&fs::read_to_string(story).unwrap()).unwrap();
        text["without"]["terminal"].is_null()
    });
    let played: Vec<_> = played.collect();
    assert!(12 <= played.len(), "{}", played.len());
    // Each story has a terminal and a project of its own. Eight run at a time, because a machine may have few
    // processors.
    let mut failed = Vec::new();
    for some in played.chunks(8) {
        std::thread::scope(|scope| {
            let running: Vec<_> =
                some.iter().map(|story| (story, scope.spawn(move || play(story)))).collect();
            failed.extend(
                running.into_iter().filter_map(|(story, playing)| playing.join().is_err().then_some(story)),
            );
        });
    }
    assert!(failed.is_empty(), "these do not, see above: {failed:#?}");
}
