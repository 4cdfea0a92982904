//! The settings of a session: approval mode, model, and whether work is done ahead. Nothing here does IO.

use agent_client_protocol_schema::v1::{
    SessionConfigBoolean, SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory,
    SessionConfigSelect, SessionConfigSelectOption, SessionMode, SessionModeState,
};
use headstart_machine::conversation::mode_name;
use headstart_tool_gate::ApprovalMode;

/// The ids of the settings in the protocol.
pub(super) const MODE: &str = "mode";
pub(super) const MODEL: &str = "model";
pub(super) const AHEAD: &str = "headstart_ahead";

const MODES: [(ApprovalMode, &str, &str); 5] = [
    (ApprovalMode::Default, "Default", "Asks before it writes or runs what may do more than read"),
    (ApprovalMode::Plan, "Plan", "Only looks: nothing is written, nothing is suggested"),
    (ApprovalMode::Chat, "Chat", "Talks only: the model has no tools"),
    (ApprovalMode::AutoEdit, "Auto edit", "Writes files without a question, and asks before commands"),
    (ApprovalMode::Yolo, "Yolo", "Asks for nothing; rules that deny still count"),
];

/// The current settings of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionOptions {
    pub(super) mode: ApprovalMode,
    /// The model that answers, under its user's name for it.
    pub(super) model: String,
    /// The models that can be chosen, including the current one.
    pub(super) models: Vec<String>,
    pub(super) ahead: bool,
}

impl SessionOptions {
    /// The approval modes, for clients that know no other settings.
    pub(super) fn modes(&self) -> SessionModeState {
        let modes = MODES
            .map(|(mode, name, what)| SessionMode::new(mode_name(mode), name).description(what.to_owned()));
        SessionModeState::new(mode_name(self.mode), modes.to_vec())
    }

    /// All settings, for clients that know more than modes. `switches` says whether the client knows boolean settings.
    pub(super) fn options(&self, switches: bool) -> Vec<SessionConfigOption> {
        let approvals = MODES.map(|(mode, name, what)| {
            SessionConfigSelectOption::new(mode_name(mode), name).description(what.to_owned())
        });
        let approval = SessionConfigSelect::new(mode_name(self.mode), approvals.to_vec());
        let choices =
            self.models.iter().map(|model| SessionConfigSelectOption::new(model.clone(), model.clone()));
        let model = SessionConfigSelect::new(self.model.clone(), choices.collect::<Vec<_>>());
        let ahead = if switches {
            SessionConfigKind::Boolean(SessionConfigBoolean::new(self.ahead))
        } else {
            let switch = ["on", "off"].map(|word| SessionConfigSelectOption::new(word, word));
            let now = if self.ahead { "on" } else { "off" };
            SessionConfigKind::Select(SessionConfigSelect::new(now, switch.to_vec()))
        };
        vec![
            SessionConfigOption::new(MODE, "Approval mode", SessionConfigKind::Select(approval))
                .category(SessionConfigOptionCategory::Mode),
            SessionConfigOption::new(MODEL, "Model", SessionConfigKind::Select(model))
                .category(SessionConfigOptionCategory::Model),
            SessionConfigOption::new(AHEAD, "Suggestions and work ahead", ahead)
                .description("Whether the next prompt is suggested and run ahead".to_owned()),
        ]
    }
}

/// The approval mode with this name.
pub(super) fn mode(name: &str) -> Option<ApprovalMode> {
    MODES.into_iter().map(|(mode, ..)| mode).find(|mode| mode_name(*mode) == name)
}

/// The names of all approval modes.
pub(super) fn mode_names() -> String {
    MODES.map(|(mode, ..)| mode_name(mode)).join(", ")
}
