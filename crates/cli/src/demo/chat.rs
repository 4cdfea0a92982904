use std::path::PathBuf;
use std::sync::Arc;

use headstart_budget::policy::{Mode, Policy};
use headstart_machine::config::{Config, ExternalTools, IndexConfig};
use headstart_machine::error::CliError;
use headstart_machine::models::Models;
use headstart_machine::workspace;
use headstart_tool_gate::ApprovalMode;

use super::REQUEST;
use super::sample::{SampleProject, recording};
use super::story::Story;
use crate::chat::ChatStart;

/// The user's configuration for a chat with a recording. No other model is asked, and work ahead is always on, because
/// it costs nothing here and is what the user wants to see. Edits need no consent unless the user has chosen a mode,
/// because the folder is deleted afterwards.
pub(crate) fn config_of_chat(users: Config, mode_is_chosen: bool) -> Config {
    let background = Policy { mode: Mode::Always, ..Policy::default() };
    let mode = if mode_is_chosen { users.mode } else { ApprovalMode::AutoEdit };
    Config {
        fast_model: None,
        base_url: None,
        suggestions: true,
        speculation: true,
        background,
        mode,
        // A recording does not use an index, and there is nothing to keep because the folder is deleted with the chat.
        index: IndexConfig { enabled: false, ..IndexConfig::default() },
        sessions: false,
        // The user's tool servers have nothing to do with the sample project.
        external_tools: ExternalTools::default(),
        ..users
    }
}

/// How many prompts of the recording a chat plays: one that is offered at the beginning, and three that are taken with
/// Tab.
const PARTS: usize = 4;

/// What a chat with the bundled recording needs: a model, and a sample project that is deleted when this value is
/// dropped.
pub(crate) struct DemoChat {
    sample: SampleProject,
    pub(crate) models: Models,
}

impl DemoChat {
    pub(crate) fn create(speed: f64) -> Result<Self, CliError> {
        let story = Story::new(recording(), REQUEST, PARTS, speed);
        Ok(Self { sample: SampleProject::create()?, models: Models::of_model(Arc::new(story)) })
    }

    pub(crate) fn workspace(&self) -> Result<String, CliError> {
        workspace::resolve(Some(&self.sample.root()))
    }

    /// The folder for state. It is beside the sample project, in the same temporary folder.
    pub(crate) fn state(&self) -> PathBuf {
        self.sample.root().with_file_name("state")
    }

    pub(crate) fn opening(&self, prompt: Option<String>, mode: ApprovalMode) -> ChatStart {
        let edits = match mode {
            ApprovalMode::AutoEdit | ApprovalMode::Yolo => {
                " Edits do not ask here; elsewhere, in default mode, Tab shows the diff and asks once."
            }
            _ => "",
        };
        let message = format!(
            "A recording answers here, not a model; nothing is sent anywhere. It works in a sample project, {}, which goes \
             when you leave. Nothing of yours is touched.{edits}",
            self.sample.root().display()
        );
        ChatStart { message, sent: prompt, first: REQUEST.to_owned(), leaves_nothing: true }
    }
}
