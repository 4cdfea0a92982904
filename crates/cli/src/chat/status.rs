//! The last row of the screen, which shows the state of the conversation and what it has cost.

use std::sync::Arc;

use headstart_agent::{Phase, View, WindowUse};
use headstart_budget::Metering;
use headstart_budget::ledger::Costs;
use headstart_budget::policy::Mode;
use headstart_machine::config::{StatusPart, TabKey, background_name};
use headstart_machine::conversation::costs::{cost_words, duration_words, time_saved};
use headstart_machine::conversation::mode_name;
use headstart_machine::ledger::Ledger;
use headstart_machine::rules;
use headstart_overlay_fs::Tree;
use headstart_terminal::{StatusItem, StatusLine};
use headstart_tool_gate::ApprovalMode;
use tokio::task::JoinHandle;

use super::Chat;
use super::spending::SpendingToday;

/// From this share of the window on, in percent, the context is highlighted.
const FULL: u64 = 85;
/// A narrower row only contains what changes the meaning of a key, or what ends the conversation.
const NARROW: usize = 48;
/// A wider row contains the model's name with its provider, what was spent today, and how much is done ahead.
const WIDE: usize = 100;

/// The parts of the row that have to be looked up.
#[derive(Default)]
pub(super) struct Status {
    branch: Option<String>,
    branch_query: Option<JoinHandle<Option<String>>>,
    context: WindowUse,
    spending: SpendingToday,
    /// How many entries of the ledger belong to a conversation that was forgotten.
    forgotten_entries: usize,
}

impl Status {
    /// Ends when something that was looked up is known.
    pub(super) async fn update(&mut self) {
        let Self { branch, branch_query, spending, .. } = self;
        let found = async {
            match branch_query {
                Some(query) => query.await.ok().flatten(),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            found = found => (*branch, self.branch_query) = (found, None),
            () = spending.update() => {}
        }
    }

    /// Waits for a running look-up of the branch, which lasts at most a second because git is given no more.
    pub(super) async fn close(&mut self) {
        while self.branch_query.is_some() {
            self.update().await;
        }
    }
}

impl Chat {
    /// Looks up what only changes by what this chat does itself. This is done once.
    pub(super) fn begin_status(&mut self, ledger: &Ledger) {
        if self.display.has_keys() && self.settings.screen.status.contains(&StatusPart::Cost) {
            self.status.spending.read(ledger);
        }
    }

    /// Looks up what may have changed. This is done at the beginning and after each turn.
    pub(super) fn refresh_status(&mut self) {
        if !self.display.has_keys() {
            return;
        }
        let parts = &self.settings.screen.status;
        if parts.contains(&StatusPart::Context) {
            self.status.context = self.agent.window_use();
        }
        let is_repository = self.parts.workspace.ancestors().any(|folder| folder.join(".git").exists());
        if parts.contains(&StatusPart::Branch) && is_repository && self.status.branch_query.is_none() {
            let (toolbox, gate) = (self.parts.engine.toolbox.clone(), self.parts.gate_context());
            let tree = Arc::clone(&self.parts.engine.workspace) as Arc<dyn Tree>;
            self.status.branch_query =
                Some(tokio::spawn(async move { rules::branch(&toolbox, &tree, &gate).await }));
        }
    }

    /// The last row of a screen with this many columns.
    pub(super) fn status_line(&self, view: &View, columns: usize) -> StatusLine {
        let is_kept =
            |part: &&StatusPart| NARROW <= columns || matches!(part, StatusPart::Mode | StatusPart::Context);
        let parts = self.settings.screen.status.iter().filter(is_kept);
        let mode = self.editor.vi_mode();
        let mode = mode.map(|mode| StatusItem { text: mode.to_owned(), is_marked: mode == "NORMAL" });
        let items = parts.filter_map(|part| self.status_item(*part, columns));
        let items = mode.into_iter().chain(items).collect();
        let of_list = || self.lists_guesses().then(|| vec!["Enter or its number takes one".to_owned()]);
        let mut hints = self.take_hints(view).or_else(of_list).unwrap_or_default();
        hints.push("? keys".to_owned());
        // A question is answered by its own letters.
        hints.retain(|_| self.question.is_none());
        StatusLine { items, hints }
    }

    /// What the keys of the suggestion do now that its work has ended, the longest form first; `None` if they do
    /// something else, or if there is no such work.
    fn take_hints(&self, view: &View) -> Option<Vec<String>> {
        let suggestion = view.suggestion.as_ref()?;
        view.ahead.as_ref()?.finished.as_ref()?;
        let is_elsewhere = self.editor.popup().is_some()
            || self.editor.searches_for().is_some()
            || view.phase != Phase::Idle;
        if is_elsewhere {
            return None;
        }
        let keys = &self.settings.screen.keys;
        if suggestion.rest.as_ref().is_none_or(String::is_empty) {
            return Some(vec![format!("{} takes it", keys.hint("send")?)]);
        }
        self.editor.ghost()?;
        let take = keys.hint("take")?;
        if self.settings.tab == TabKey::Insert {
            return Some(vec![format!("{take} edits it, {take} again takes it")]);
        }
        let takes = format!("{take} takes it");
        // Before the end of the prompt, the same key only moves the cursor.
        let right = keys.hint("right").filter(|_| self.editor.cursor() == self.editor.text().len());
        let right = right.map(|key| if key == "Right" { "→".to_owned() } else { key });
        let both = right.map(|right| format!("{takes} · {right} edits it"));
        Some(both.into_iter().chain([takes]).collect())
    }

    /// What the chat has cost, including conversations that were forgotten; `None` if it has cost nothing yet.
    pub(super) fn cost_so_far(&self) -> Option<String> {
        self.cost_from(0)
    }

    /// What the conversation has cost since it began, or since `/clear`; `None` if it has cost nothing yet.
    pub(super) fn cost_of_conversation(&self) -> Option<String> {
        self.cost_from(self.status.forgotten_entries)
    }

    /// Whether an earlier conversation of this chat was forgotten that has cost something.
    pub(super) fn has_forgotten(&self) -> bool {
        0 < self.status.forgotten_entries
    }

    /// What the entries of the ledger from this one on have cost.
    fn cost_from(&self, first: usize) -> Option<String> {
        self.agent.metering(|metering| {
            let costs = Costs::of(metering.session().get(first..).unwrap_or_default());
            let is_spent = costs != Costs::default();
            is_spent.then(|| cost_words(costs.total(), metering.experience().tariff().is_free()))
        })
    }

    /// Lets the row begin anew with a new conversation. What was spent today stays.
    pub(super) fn restart_status(&mut self) {
        self.status.forgotten_entries = self.agent.metering(|metering| metering.session().len());
        self.refresh_status();
    }

    /// How much is done ahead.
    fn background_in_words(&self) -> &'static str {
        let mode = self.agent.metering(Metering::mode);
        background_name(if self.settings.suggestions { mode } else { Mode::Off })
    }

    fn status_item(&self, part: StatusPart, columns: usize) -> Option<StatusItem> {
        let plain = |text: String| Some(StatusItem { text, is_marked: false });
        match part {
            StatusPart::Mode => {
                let mode = self.settings.mode;
                let text = mode_name(mode).to_owned();
                Some(StatusItem { text, is_marked: mode == ApprovalMode::Yolo })
            }
            StatusPart::Model => {
                let name = self.settings.main_model();
                let name = if name.is_empty() { &self.parts.model_name } else { &name };
                let is_short = columns < WIDE || name.contains('/');
                plain(if is_short { short_name(name) } else { name }.to_owned())
            }
            StatusPart::Branch => plain(self.status.branch.clone()?),
            StatusPart::Context => {
                let WindowUse { tokens, window } = self.status.context;
                let of = window.map(|window| format!("/{}", short_count(window))).unwrap_or_default();
                let is_marked = window.is_some_and(|window| window * FULL <= tokens * 100);
                Some(StatusItem { text: format!("{}{of}", short_count(tokens)), is_marked })
            }
            StatusPart::Cost => {
                let spent = &self.status.spending;
                let today = self.agent.metering(|metering| spent.words(metering.session()));
                let costs = self.cost_of_conversation().into_iter().chain(today.filter(|_| WIDE <= columns));
                plain(Some(costs.collect::<Vec<_>>().join(" ")).filter(|costs| !costs.is_empty())?)
            }
            StatusPart::Saved => {
                let seconds = time_saved(&self.agent).as_secs();
                let saved = (1 <= seconds).then(|| format!("saved {}", duration_words(seconds)));
                let mode = (WIDE <= columns).then(|| format!("ahead {}", self.background_in_words()));
                let parts: Vec<_> = mode.into_iter().chain(saved).collect();
                plain(Some(parts.join(", ")).filter(|parts| !parts.is_empty())?)
            }
        }
    }
}

/// A model's name without its provider, or a recording's name without its folder.
fn short_name(name: &str) -> &str {
    let name = name.split_once(':').map_or(name, |(_, name)| name);
    name.rsplit('/').next().unwrap_or(name)
}

/// A short form of a number: `812`, `24k`, `1.2M`.
pub(super) fn short_count(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        for (name, short) in [
            ("anthropic:sonnet", "sonnet"),
            ("ollama:qwen3:8b", "qwen3:8b"),
            ("replay:/tmp/x/recording.json", "recording.json"),
            ("openai:meta/llama", "llama"),
            ("recording", "recording"),
        ] {
            assert_eq!(short_name(name), short);
        }
        let counts = [0, 999, 1_000, 24_999, 200_000, 1_000_000, 1_250_000].map(short_count);
        assert_eq!(counts, ["0", "999", "1k", "24k", "200k", "1.0M", "1.2M"]);
    }
}
