//! What a conversation tells its model about the project: the system text, and the project's own rules.
//!
//! ```text
//! STATE/rules/WORKSPACE   a hash a line: the rules of this workspace whose text its user has been shown
//! ```

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use headstart_budget::ledger::Day;
use headstart_context::{Asking, Problem, ProjectRules, Rule, Surroundings, glance, system_text};
use headstart_forked_query::CacheSafeParams;
use headstart_overlay_fs::Tree;
use headstart_speculation::PromptOf;
use headstart_tool_gate::GateContext;
use headstart_toolbox::Toolbox;
use serde_json::json;
use xxhash_rust::xxh3::xxh3_64;

use crate::clock;
use crate::store::create_private_folder;
use crate::workspace::state_name;

/// So many lines of a rule that is new to the user are shown; the file has the rest.
const SHOWN_LINES: usize = 12;
/// A conversation does not wait longer than this for what git says.
const GIT_TIME: Duration = Duration::from_secs(1);

/// The rules of one workspace, and what its user has to be told of them.
pub(crate) struct Rules {
    /// `None` without a state folder: then every session shows them.
    shown: Option<PathBuf>,
    told: Mutex<Notices>,
}

#[derive(Default)]
struct Notices {
    /// The rules whose text was shown, by hash.
    shown: BTreeSet<u64>,
    /// Problems that were told.
    problems: BTreeSet<String>,
    waiting: Vec<String>,
}

impl Rules {
    /// Touches no file of the project.
    pub(crate) fn of(workspace: &str, state: Option<&Path>) -> Self {
        let shown = state.map(|state| state.join("rules").join(state_name(Path::new(workspace))));
        let text = shown.as_ref().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
        // A line that is no hash is none of ours, and what is not known to be shown is shown again.
        let known = text.lines().filter_map(|line| u64::from_str_radix(line, 16).ok()).collect();
        Self { shown, told: Mutex::new(Notices { shown: known, ..Notices::default() }) }
    }

    /// The system text of a session: its user is told which rules went into it.
    pub(crate) async fn system_text(
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
        let surroundings = surroundings(toolbox, tree, gate).await;
        system_text(&toolbox.schemas(), read.as_ref(), &surroundings)
    }

    /// What goes with a prompt. Its user is told which rules those are where it is their own; work that runs ahead may never be taken.
    pub(crate) async fn beside_prompt(
        &self,
        prompt: &str,
        whose: PromptOf,
        conversation: &CacheSafeParams,
        tree: &Arc<dyn Tree>,
        gate: &GateContext,
    ) -> Option<String> {
        let rules = ProjectRules::read(tree, gate).await;
        let (system, history) = (conversation.system(), conversation.history());
        let told = rules.beside_prompt(prompt, system, history, tree, gate).await;
        let gone = told.gone.iter().map(|file| format!("{file} is gone"));
        let names: Vec<_> = told.rules.iter().map(Rule::label).chain(gone).collect();
        if whose == PromptOf::User && !names.is_empty() {
            self.note(format!("with the project's rules: {}", names.join(", ")));
        }
        self.note_problems(rules.problems().iter().chain(&told.problems));
        told.rules.iter().for_each(|rule| self.show(rule));
        told.text
    }

    /// What the user has not been told yet.
    pub(crate) fn notices(&self) -> Vec<String> {
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

    fn note_problems<'a>(&self, problems: impl IntoIterator<Item = &'a Problem>) {
        let mut told = self.lock();
        for problem in problems {
            let line = format!("rules: {problem}");
            if told.problems.insert(line.clone()) {
                told.waiting.push(line);
            }
        }
    }

    /// Shows what a rule says that its user has not seen: it came with the project, and the model is about to go by it.
    fn show(&self, rule: &Rule) {
        let hash = xxh3_64(format!("{}\0{}", rule.path, rule.text).as_bytes());
        let mut told = self.lock();
        if !told.shown.insert(hash) {
            return;
        }
        told.waiting.push(format!("{} is new here, or has changed:", rule.label()));
        let text: Vec<_> = rule.text.lines().filter(|line| !line.trim().is_empty()).collect();
        for line in text.iter().take(SHOWN_LINES) {
            told.waiting.push(format!("  | {}", line.chars().take(200).collect::<String>()));
        }
        if SHOWN_LINES < text.len() {
            told.waiting.push(format!("  | … {} more lines", text.len() - SHOWN_LINES));
        }
        if let Some(file) = &self.shown {
            let lines: Vec<_> = told.shown.iter().map(|hash| format!("{hash:016x}")).collect();
            // Who cannot write it shows the rule once more.
            let folder = file.parent().unwrap_or(Path::new("."));
            let _ = create_private_folder(folder).map(|()| fs::write(file, lines.join("\n")));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Notices> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a session works, as it is now.
async fn surroundings(toolbox: &Toolbox, tree: &Arc<dyn Tree>, gate: &GateContext) -> Surroundings {
    Surroundings {
        folder: gate.workspace.clone(),
        system: format!("{} {}, bash", std::env::consts::OS, std::env::consts::ARCH),
        date: Day::of(clock::unix_ms()).to_string(),
        git: git(toolbox, tree, gate).await,
        files: glance(tree, gate).await,
    }
}

/// The branch of the workspace, with a `*` where files differ from the last commit. Nothing where git does not answer.
pub(crate) async fn branch(toolbox: &Toolbox, tree: &Arc<dyn Tree>, gate: &GateContext) -> Option<String> {
    Surroundings::branch_of(&status(toolbox, tree, gate).await)
}

/// What git says of the working tree. Nothing where it does not answer.
async fn git(toolbox: &Toolbox, tree: &Arc<dyn Tree>, gate: &GateContext) -> String {
    Surroundings::git_of(&status(toolbox, tree, gate).await, &gate.deny)
}

async fn status(toolbox: &Toolbox, tree: &Arc<dyn Tree>, gate: &GateContext) -> String {
    let asking = Asking { toolbox, tree, gate, attended: true, time: GIT_TIME };
    let args = json!({ "command": "git status --porcelain=v1 --branch" });
    asking.run("shell", &args).await.unwrap_or_default()
}
