//! A project's rules for whoever works on it.

mod fences;
mod files;
mod front_matter;
mod prompt_rules;
mod read;
mod tools;

use headstart_overlay_fs::WorkspacePath;

pub(crate) use self::fences::without_fences;
pub use self::files::FilePatterns;
pub use self::prompt_rules::PromptRules;
pub use self::read::FOLDER as RULES_FOLDER;
pub(crate) use self::read::{GatedReader, text_in};
pub use self::tools::{create_rule_tool, request_rule_tool, rule_declarations};
use crate::sanitize::sanitize_line;

/// A longer file is not read, in bytes.
pub(crate) const FILE_BYTES: u64 = 64 * 1024;
/// The most files of a folder of rules that are read.
pub(crate) const MAX_FILES: usize = 256;
/// The most tokens of all rules in a conversation.
pub(crate) const MAX_TOKENS: usize = 16_000;

/// A rule of the project.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The file that contains it.
    pub path: WorkspacePath,
    /// What it is about, from its front matter.
    pub description: Option<String>,
    /// The files to which it applies.
    pub scope: RuleScope,
    /// Its text, without the front matter and without characters that hide something.
    pub text: String,
}

/// The files to which a rule applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleScope {
    /// Everything.
    Always,
    /// Everything in a folder, for an `AGENTS.md` in it.
    Folder(WorkspacePath),
    /// Some files.
    Files(FilePatterns),
    /// None by itself: the model reads the rule when its description fits.
    OnRequest,
}

/// What is wrong with a file of rules, in words for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleProblem {
    /// The file, or the folder.
    pub path: WorkspacePath,
    /// What is wrong, and what to do.
    pub message: String,
}

impl std::fmt::Display for RuleProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", sanitize_line(&self.path.to_string(), 200), sanitize_line(&self.message, 500))
    }
}

/// The rules of a project, as they are on disk at one moment.
#[derive(Debug, Clone, Default)]
pub struct ProjectRules {
    rules: Vec<Rule>,
    problems: Vec<RuleProblem>,
}

impl ProjectRules {
    /// The rules, by path.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rule of this name. The error lists the names that exist, in words for a model and a user.
    pub(crate) fn find_rule(&self, name: &str) -> Result<&Rule, String> {
        self.rules.iter().find(|rule| rule.name() == name).ok_or_else(|| {
            let names: Vec<_> = self.rules.iter().map(|rule| sanitize_line(&rule.name(), 80)).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            format!("there is no such rule; the rules are: {known}")
        })
    }

    /// Files that could not be read or understood.
    pub fn problems(&self) -> &[RuleProblem] {
        &self.problems
    }
}

impl Rule {
    /// An estimate of the tokens of its text.
    pub fn tokens(&self) -> usize {
        tokens(&self.text)
    }

    /// The name of its file, as the model and the user see it.
    pub fn label(&self) -> String {
        fences::label(&self.path)
    }

    /// Its name in a mention: that of its file, without `.md`.
    pub fn name(&self) -> String {
        let path = self.path.to_string();
        let file = path.rsplit('/').next().unwrap_or_default();
        file.strip_suffix(".md").unwrap_or(file).to_owned()
    }

    /// Its text in a fence that names its file.
    pub(crate) fn fenced_text(&self) -> String {
        fences::fenced(&self.label(), "", &self.text)
    }
}

/// An estimate without a tokenizer: 3.5 bytes for each token, which is close enough for texts in most languages.
pub(crate) fn tokens(text: &str) -> usize {
    text.len() * 2 / 7
}
