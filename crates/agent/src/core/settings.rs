//! What the host can set in the middle of a conversation, and ask for apart from prompts.

use std::sync::Arc;

use futures::FutureExt;
use headstart_budget::policy::{Mode, SkipReason, Tariff};
use headstart_context::Window;
use headstart_followup_state::{Event as Followup, Suggestion, Suggestions};
use headstart_overlay_fs::{ChangeSet, WorkspacePath};
use headstart_speculation::{Finished, Speculation, UndoReport};
use headstart_tool_gate::ApprovalMode;
#[cfg(feature = "native")]
use headstart_toolbox::Toolbox;

use super::compaction::CompactionState;
use super::suggestions::Offer;
use super::{Activity, Core, Effect};
use crate::item::Item;
use crate::options::ModelSettings;
#[cfg(feature = "native")]
use crate::view::ActionError;

/// How many pieces of taken work are kept, so that their changes can be looked at.
const MOST_APPLIED: usize = 20;

/// The work that has the changes.
pub(crate) enum ChangeSource {
    Running(Speculation),
    Finished(Arc<Finished>),
}

impl ChangeSource {
    pub(crate) fn changes(&self) -> ChangeSet {
        match self {
            Self::Running(speculation) => speculation.changes(),
            Self::Finished(finished) => finished.changes.clone(),
        }
    }
}

impl Core {
    /// The approval mode in force now.
    pub(super) fn mode(&self) -> ApprovalMode {
        self.engine.host.gate_context().mode
    }

    /// Follows a change of the host's rules. Nothing is suggested in plan mode.
    pub(crate) fn rules_changed(&mut self) {
        if self.mode() == ApprovalMode::Plan {
            self.forget_suggestion();
        }
        // A turn that is running keeps the tools that it was offered.
        if !self.is_busy() {
            self.offer_tools();
        }
    }

    /// Offers the model the tools that the mode in force allows. Work that runs ahead was offered other tools.
    pub(super) fn offer_tools(&mut self) {
        let mut tools = self.engine.offered_tools();
        tools.retain(|tool| !self.withheld.contains(&tool.name));
        let left_out = self.compaction.window().map_or(Vec::new(), |window| window.remove_tools(&mut tools));
        if self.left_out != left_out {
            if !left_out.is_empty() {
                let sees = self.compaction.window().map_or(0, |window| window.tokens);
                let text = format!(
                    "the model sees {sees} tokens at once, and not all tools fit into them beside a conversation; it is not offered {}",
                    left_out.join(", ")
                );
                self.log.push(Item::Trouble { text });
            }
            self.left_out = left_out;
        }
        if self.conversation.tools() != tools {
            self.forget_suggestion();
            self.conversation.set_tools(tools);
        }
    }

    /// Tells the model with the user's next words that it has no tools any more, or has them again. This is needed
    /// because what the conversation says of tools stays in it.
    pub(super) fn announce_tools(&mut self) {
        let mode = self.mode();
        let before = std::mem::replace(&mut self.announced_mode, mode);
        match (before, self.announced_mode) {
            (ApprovalMode::Chat, ApprovalMode::Chat) => {}
            (_, ApprovalMode::Chat) => self.conversation.add_note(
                "You have no tools from now on, whatever was said of them before: answer in words.",
            ),
            (ApprovalMode::Chat, _) => self.conversation.add_note("You have your tools again from now on."),
            _ => {}
        }
    }

    /// Tells the model this with the user's next prompt. Work that runs ahead already does not know it, so it is not
    /// taken.
    pub(crate) fn add_note(&mut self, note: &str) {
        self.conversation.add_note(note);
        self.keep_note();
    }

    /// Sets how much is done ahead from now on.
    pub(crate) fn set_background(&mut self, mode: Mode) {
        self.options.metering.set_mode(mode);
        if mode == Mode::Off {
            self.forget_suggestion();
            self.drop_summary_ahead();
            self.drop_title();
        }
        self.enable();
    }

    /// Grants this conversation the limit of a day once more, as the user wishes. Returns whether that changes anything.
    pub(crate) fn grant(&mut self) -> bool {
        let is_limited = self.options.metering.left_today(self.now.unix_ms).is_some();
        if is_limited {
            self.options.metering.grant();
        }
        is_limited
    }

    /// Whether a suggestion would be asked for at this time. Asking does not change the view.
    pub(crate) fn may_ask(&mut self, unix_ms: u64) -> Result<(), SkipReason> {
        self.update_machine();
        self.options.metering.may_ask(unix_ms)
    }

    /// Asks for a suggestion, unless something goes on or one is there. Returns whether it asks.
    pub(crate) fn suggest_now(&mut self) -> bool {
        if !self.is_over
            && !self.is_busy()
            && self.suggesting.query.is_none()
            && self.suggesting.offers.is_empty()
        {
            self.ask_for_suggestion();
        }
        self.suggesting.query.is_some()
    }

    /// Shows a suggestion that the host gives.
    pub(crate) fn offer(&mut self, suggestion: Suggestion) {
        if self.is_over || self.is_busy() || !self.suggesting.controller.is_enabled() {
            return;
        }
        self.forget_suggestion();
        let (request, id) = (self.next_request(), self.next_id());
        self.suggesting.pending = vec![Offer::new(id)];
        self.suggesting.is_offered_by_host = true;
        self.followup(Followup::suggested(request, Suggestions::from(suggestion)));
        self.suggesting.is_offered_by_host = false;
        self.close_pending();
    }

    /// Sets whether suggestions are asked for and shown. If not, what is on offer goes, together with its work.
    pub(crate) fn set_suggestions(&mut self, are_shown: bool) {
        self.options.suggestions = are_shown;
        if !are_shown {
            self.forget_suggestion();
        }
        self.enable();
    }

    pub(crate) fn set_speculation(&mut self, runs: bool) {
        self.options.speculation = runs;
        if !runs && self.suggesting.offers.iter().any(|offer| offer.work.is_some()) {
            self.forget_suggestion();
        }
    }

    pub(crate) fn drop_suggestion(&mut self) {
        self.forget_suggestion();
    }

    pub(crate) fn set_candidates(&mut self, candidates: usize) {
        self.options.candidates = candidates;
    }

    /// Offers other tools from now on. Work that runs ahead was offered the former ones.
    #[cfg(feature = "native")]
    pub(crate) fn set_toolbox(&mut self, toolbox: Toolbox) -> Result<(), ActionError> {
        self.is_open()?;
        if self.is_busy() {
            return Err(ActionError::Busy);
        }
        self.forget_suggestion();
        self.log.set_toolbox(toolbox.clone());
        self.engine.toolbox = toolbox.clone();
        self.offer_tools();
        self.effects.push_back(Effect::UseTools(toolbox));
        Ok(())
    }

    pub(crate) fn set_model(&mut self, name: &str, tariff: Tariff, window: Option<Window>) {
        if self.is_over {
            return;
        }
        self.change_model(name, window, tariff);
        name.clone_into(&mut self.engine.background.name);
        self.effects.push_back(Effect::UseModel(name.to_owned()));
        self.suggest_now();
    }

    pub(crate) fn use_models(&mut self, models: ModelSettings) {
        if self.is_over {
            return;
        }
        let ModelSettings { name, model, background, window, tariff } = models;
        self.change_model(&name, window, tariff);
        self.engine.background = background.clone();
        self.effects.push_back(Effect::UseModels(Box::new((model, background))));
        self.suggest_now();
    }

    fn change_model(&mut self, name: &str, window: Option<Window>, tariff: Tariff) {
        self.forget_suggestion();
        self.conversation.set_model(name);
        self.options.window = window;
        self.compaction = CompactionState::new(window);
        self.options.metering.set_tariff(tariff);
    }

    /// Has undone files looked for. While something goes on this is not needed, because the check is made anyway before
    /// the next prompt runs.
    pub(crate) fn files_changed(&mut self) {
        if !self.is_over && !self.is_busy() {
            self.effects.push_back(Effect::LookUndone);
        }
    }

    pub(super) fn undo_found(&mut self, undo_report: UndoReport) {
        self.take_undone(undo_report);
        let told = std::mem::take(&mut self.told_undone);
        self.keep_undone(&told);
    }

    fn take_undone(&mut self, undo_report: UndoReport) {
        if self.is_over || self.is_busy() || undo_report == self.undone {
            return;
        }
        self.mark_undone(undo_report);
        // The suggestion, and the work that ran for it, assumed that the files were as before.
        self.forget_suggestion();
        self.keep_note();
    }

    /// Marks what is undone in the lists of applied files.
    pub(super) fn mark_undone(&mut self, undo_report: UndoReport) {
        let before = std::mem::replace(&mut self.undone, undo_report);
        let UndoReport { undone, redone } = self.undone.clone();
        let is_in = |list: &[headstart_speculation::RestoredFile], path: &WorkspacePath| {
            list.iter().any(|restored| restored.path == *path)
        };
        // For what was news before and is none now, the opposite is true again.
        let back = before.redone.into_iter().filter(|one| !is_in(&redone, &one.path));
        let forth = before.undone.into_iter().filter(|one| !is_in(&undone, &one.path));
        let marked = undone.iter().cloned().chain(back).map(|one| (one.path, true));
        let unmarked = redone.iter().cloned().chain(forth).map(|one| (one.path, false));
        for (path, is_undone) in unmarked.chain(marked).collect::<Vec<_>>() {
            self.log.change_applied(|applied| {
                let is_listed = applied.changes.iter().any(|change| change.path == path);
                if is_listed {
                    applied.undone.retain(|known| *known != path);
                    if is_undone {
                        applied.undone.push(path.clone());
                    }
                }
                is_listed
            });
        }
    }

    /// Notes that the model now knows what the user has undone.
    pub(super) fn clear_undo_report(&mut self) {
        self.undone = UndoReport::default();
    }

    pub(super) fn keep_changes(&mut self, speculation: &Speculation) {
        if let Some(finished) = speculation.finished().now_or_never() {
            self.applied.push_back(finished);
            if MOST_APPLIED < self.applied.len() {
                self.applied.pop_front();
            }
        }
    }

    /// The changes that the work with this id made or would make.
    pub(crate) fn changes(&mut self, id: &str) -> Option<ChangeSource> {
        if let Activity::Accepting(taken) | Activity::AwaitingAnswer(taken) = &self.activity
            && taken.speculation.id() == id
        {
            return Some(ChangeSource::Running(taken.speculation.clone()));
        }
        let mut offered = self.suggesting.offers.iter().filter_map(|offer| offer.work.as_ref());
        if let Some(work) = offered.find(|work| work.speculation.id() == id) {
            return Some(ChangeSource::Running(work.speculation.clone()));
        }
        let applied = self.applied.iter().find(|finished| finished.id == id);
        applied.map(|finished| ChangeSource::Finished(Arc::clone(finished)))
    }
}
