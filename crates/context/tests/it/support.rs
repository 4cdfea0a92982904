//! A conversation over files in memory.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use futures::executor::block_on;
use headstart_context::{ProjectRules, PromptRules, SessionEnvironment, system_text};
use headstart_forked_query::{Message, Part, Role, ToolCall, ToolOutcome, ToolResult};
use headstart_overlay_fs::{MemoryTree, Tree};
use headstart_tool_gate::{DenyRules, GateContext};
use serde_json::json;

/// A conversation over files that a test edits between its turns.
pub(crate) struct Conversation {
    pub(crate) files: Vec<(String, String)>,
    pub(crate) gate: GateContext,
    pub(crate) system: String,
    pub(crate) messages: Vec<Message>,
}

impl Conversation {
    pub(crate) fn over<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self::closing(files, &[])
    }

    /// A conversation whose user denies these paths.
    pub(crate) fn closing<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>, deny: &[&str]) -> Self {
        let files = files.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect();
        let deny = DenyRules::from_patterns(deny.iter().copied()).unwrap();
        let gate = GateContext { workspace: "/w".to_owned(), deny, ..GateContext::default() };
        let mut talk = Self { files, gate, system: String::new(), messages: Vec::new() };
        talk.system = system_text(&[], Some(&talk.rules()), &SessionEnvironment::default());
        talk
    }

    pub(crate) fn tree(&self) -> Arc<dyn Tree> {
        let files = self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
        Arc::new(MemoryTree::from_files(files).unwrap())
    }

    pub(crate) fn rules(&self) -> ProjectRules {
        block_on(ProjectRules::read(&self.tree(), &self.gate))
    }

    pub(crate) fn write(&mut self, path: &str, text: &str) {
        self.remove(path);
        self.files.push((path.to_owned(), text.to_owned()));
    }

    pub(crate) fn remove(&mut self, path: &str) {
        self.files.retain(|(known, _)| known != path);
    }

    /// The user sends this prompt, and an answer follows.
    pub(crate) fn send_prompt(&mut self, prompt: &str) -> PromptRules {
        let told = block_on(self.rules().rules_for_prompt(
            prompt,
            Some(&self.system),
            &self.messages,
            &self.tree(),
            &self.gate,
        ));
        let text = told.text.iter().fold(prompt.to_owned(), |said, rules| format!("{said}\n\n{rules}"));
        self.messages.push(Message::text(Role::User, &text));
        self.messages.push(Message::text(Role::Model, "Done."));
        told
    }

    /// The paths of the rules that are told with this prompt.
    pub(crate) fn rules_sent(&mut self, prompt: &str) -> Vec<String> {
        self.send_prompt(prompt).rules.iter().map(|rule| rule.path.to_string()).collect()
    }

    /// The model calls a tool for a file.
    pub(crate) fn call(&mut self, name: &str, path: &str) {
        let id = self.messages.len().to_string();
        let args = json!({ "file_path": path }).as_object().cloned().unwrap();
        let call = ToolCall { id: id.clone(), name: name.to_owned(), args };
        let outcome = ToolOutcome::Output(json!("done"));
        let result = ToolResult { id, name: name.to_owned(), outcome };
        self.messages.push(Message { role: Role::Model, parts: vec![Part::ToolCall(call)] });
        self.messages.push(Message { role: Role::Tool, parts: vec![Part::ToolResult(result)] });
    }
}
