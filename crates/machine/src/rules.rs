//! What the model of a conversation is told about the project: the system text, and the project's own rules.
//!
//! ```text
//! STATE/rules/WORKSPACE   one hash per line: the rules of this workspace whose text the user has been shown
//! ```

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use headstart_budget::ledger::Day;
use headstart_context::{
    ProjectRules, Rule, RuleProblem, SessionEnvironment, ToolCaller, file_overview, system_text,
};
use headstart_forked_query::CacheSafeParams;
use headstart_overlay_fs::Tree;
use headstart_speculation::PromptOrigin;
use headstart_tool_gate::GateContext;
use headstart_toolbox::Toolbox;
use serde_json::json;
use xxhash_rust::xxh3::xxh3_64;

use crate::clock;
use crate::store::create_private_folder;
use crate::workspace::state_name;

/// The most lines of a rule that are shown to the user when it is new; the rest is in the file.
const SHOWN_LINES: usize = 12;
/// The most characters that are shown of such a line.
const SHOWN_CHARS: usize = 200;
/// The longest that a conversation waits for git's answer.
const GIT_TIME: Duration = Duration::from_secs(1);

/// The rules of one workspace, and what the user must be told about them.
pub struct Rules {
    /// The file of the hashes; `None` without a state folder, in which case every session shows the rules.
    shown: Option<PathBuf>,
    told: Mutex<RuleNotices>,
}

#[derive(Default)]
struct RuleNotices {
    /// The hashes of the rules whose text was shown.
    shown: BTreeSet<u64>,
    /// The problems that were reported.
    problems: BTreeSet<String>,
    waiting: Vec<String>,
}

impl Rules {
    /// The rules of a workspace. Touches no file of the project.
    pub(crate) fn of(workspace: &str, state: Option<&Path>) -> Self {
        let shown = state.map(|state| state.join("rules").join(state_name(Path::new(workspace))));
        let text = shown.as_ref().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
        // A line that is not a hash is ignored; at worst a rule is shown again.
        let known = text.lines().filter_map(|line| u64::from_str_radix(line, 16).ok()).collect();
        Self { shown, told: Mutex::new(RuleNotices { shown: known, ..RuleNotices::default() }) }
    }

    /// The system text of a session. The user is told which rules it contains.
    pub async fn system_text(
        rules: Option<&Arc<Self>>,
        toolbox: &Toolbox,
        tree: &Arc<dyn Tree>,
        gate: &GateContext,
    ) -> String {
        let read = match rules {
            Some(rules) => {
                let read = ProjectRules::read(tree, gate).await;
                rules.note_read(&read);
                Some(read)
            }
            None => None,
        };
        let environment = session_environment(toolbox, tree, gate).await;
        system_text(&toolbox.schemas(), read.as_ref(), &environment)
    }

    /// The rules that are added to a prompt. The user is only told of them for a prompt of their own, because work that
    /// runs ahead may never be accepted.
    pub(crate) async fn rules_for_prompt(
        &self,
        prompt: &str,
        whose: PromptOrigin,
        conversation: &CacheSafeParams,
        tree: &Arc<dyn Tree>,
        gate: &GateContext,
    ) -> Option<String> {
        let rules = ProjectRules::read(tree, gate).await;
        let (system, history) = (conversation.system(), conversation.history());
        let told = rules.rules_for_prompt(prompt, system, history, tree, gate).await;
        let gone = told.gone.iter().map(|file| format!("{file} is gone"));
        let names: Vec<_> = told.rules.iter().map(Rule::label).chain(gone).collect();
        if whose == PromptOrigin::User && !names.is_empty() {
            self.note(format!("with the project's rules: {}", names.join(", ")));
        }
        self.note_problems(rules.problems().iter().chain(&told.problems));
        told.rules.iter().for_each(|rule| self.show(rule));
        told.text
    }

    /// What the user has not been told yet.
    pub fn notices(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().waiting)
    }

    fn note_read(&self, read: &ProjectRules) {
        let files: Vec<_> = read.rules().iter().map(Rule::label).collect();
        if !files.is_empty() {
            self.note(format!("the project's rules go to the model: {}", files.join(", ")));
        }
        self.note_problems(read.problems());
        read.rules().iter().for_each(|rule| self.show(rule));
    }

    fn note(&self, text: String) {
        self.lock().waiting.push(text);
    }

    fn note_problems<'a>(&self, problems: impl IntoIterator<Item = &'a RuleProblem>) {
        let mut told = self.lock();
        for problem in problems {
            let line = format!("rules: {problem}");
            if told.problems.insert(line.clone()) {
                told.waiting.push(line);
            }
        }
    }

    /// Shows the user the text of a rule that they have not seen, because it came with the project, and the model is
    /// about to follow it.
    fn show(&self, rule: &Rule) {
        let hash = xxh3_64(format!("{}\0{}", rule.path, rule.text).as_bytes());
        let mut told = self.lock();
        if !told.shown.insert(hash) {
            return;
        }
        told.waiting.push(format!("{} is new here, or has changed:", rule.label()));
        let text: Vec<_> = rule.text.lines().filter(|line| !line.trim().is_empty()).collect();
        for line in text.iter().take(SHOWN_LINES) {
            let shown: String = line.chars().take(SHOWN_CHARS).collect();
            let more = match line.chars().count().saturating_sub(SHOWN_CHARS) {
                0 => String::new(),
                more => format!("… {more} more characters"),
            };
            told.waiting.push(format!("  | {shown}{more}"));
        }
        if SHOWN_LINES < text.len() {
            let more = text.len() - SHOWN_LINES;
            told.waiting
                .push(format!("  | … {more} more lines, which the model reads as well: {}", rule.path));
        }
        if let Some(file) = &self.shown {
            let lines: Vec<_> = told.shown.iter().map(|hash| format!("{hash:016x}")).collect();
            // If the file cannot be written, the rule is shown once more.
            let folder = file.parent().unwrap_or(Path::new("."));
            let _ = create_private_folder(folder).map(|()| fs::write(file, lines.join("\n")));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, RuleNotices> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The environment of a session as it is now.
async fn session_environment(
    toolbox: &Toolbox,
    tree: &Arc<dyn Tree>,
    gate: &GateContext,
) -> SessionEnvironment {
    SessionEnvironment {
        folder: gate.workspace.clone(),
        system: format!("{} {}, bash", std::env::consts::OS, std::env::consts::ARCH),
        date: Day::of(clock::unix_ms()).to_string(),
        git: git(toolbox, tree, gate).await,
        files: file_overview(tree, gate).await,
    }
}

/// The branch of the workspace, with a `*` if files differ from the last commit; `None` if git does not answer.
pub async fn branch(toolbox: &Toolbox, tree: &Arc<dyn Tree>, gate: &GateContext) -> Option<String> {
    SessionEnvironment::branch_of(&status(toolbox, tree, gate).await)
}

/// What git reports about the working tree; empty if it does not answer.
async fn git(toolbox: &Toolbox, tree: &Arc<dyn Tree>, gate: &GateContext) -> String {
    SessionEnvironment::git_of(&status(toolbox, tree, gate).await, &gate.deny)
}

async fn status(toolbox: &Toolbox, tree: &Arc<dyn Tree>, gate: &GateContext) -> String {
    let asking = ToolCaller { toolbox, tree, gate, attended: true, time: GIT_TIME };
    let args = json!({ "command": "git status --porcelain=v1 --branch" });
    asking.run("shell", &args).await.unwrap_or_default()
}
