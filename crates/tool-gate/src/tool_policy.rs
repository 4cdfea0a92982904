//! What a user wants done with the calls of each tool, whatever the gate knows of them.

mod apply;
mod decide;
mod pattern;
mod session;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub(crate) use self::apply::{ahead, deciding, now, standing_consent};
pub use self::decide::ToolDecision;
use self::pattern::{Pattern, Words};
pub use self::session::SessionRule;
use crate::path_pattern::PathPattern;
#[cfg(feature = "shell")]
use crate::shell::{SimpleCommands, simple_commands};
use crate::{Declaration, PolicyOrigin, Role, built_in};

/// The most rules of one origin.
const MAX_RULES: usize = 256;

/// What becomes of the calls of a tool. Each policy is stricter than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolPolicy {
    /// A turn does not ask. Ahead of the user nothing changes.
    Automatic,
    /// The user is asked in every mode: about changes and commands, and also about reads if the tool is named.
    Ask,
    /// The tool is not offered, and calls of it do not run.
    Exclude,
}

impl ToolPolicy {
    /// Its name in a configuration file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Automatic => "automatic",
            Self::Ask => "ask",
            Self::Exclude => "exclude",
        }
    }
}

/// What one configuration file says about tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolTable {
    /// For tools that nothing else in the file names.
    pub default: Option<ToolPolicy>,
    /// By name, in which `*` stands for any text.
    pub tools: Vec<(String, ToolPolicy)>,
    /// Rules for single calls. They are tried before the names, and the first one that matches counts.
    pub rules: Vec<ToolRule>,
}

/// A policy for some calls of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolRule {
    /// The tool's name; `*` stands for any text.
    pub tool: String,
    /// Arguments by name, each with a pattern that it must match: for `path` a glob of workspace paths, for `command`
    /// the words of a simple command, for `directory` the folder in which it runs (`.` for the workspace), for any other a text in which `*` stands for any text.
    #[serde(default)]
    pub when: BTreeMap<String, String>,
    /// What becomes of such calls.
    pub policy: ToolPolicy,
}

/// What is wrong in a table, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct ToolPolicyError {
    /// Whose table it is.
    pub origin: PolicyOrigin,
    /// The entry: the name of a tool, `default`, or as in `rule 2.when`.
    pub place: String,
    /// The key of the entry in the table, for whoever searches for its line.
    pub key: String,
    /// What is wrong, and what to do.
    pub problem: String,
}

/// What the user and the project say about tools, after checks.
#[derive(Clone, Default)]
pub struct ToolPolicies {
    layers: Arc<[Layer; 2]>,
    /// What the user said for the rest of the session.
    session: Arc<Layer>,
}

#[derive(Default)]
struct Layer {
    source: ToolTable,
    named: Vec<(Pattern, String, ToolPolicy)>,
    rules: Vec<Rule>,
}

struct Rule {
    tool: Pattern,
    command: Option<Words>,
    /// The folder in which a command runs.
    folder: Option<Pattern>,
    path: Option<PathPattern>,
    others: Vec<(String, Pattern)>,
    policy: ToolPolicy,
}

impl ToolPolicies {
    /// Checks both tables. `known` are the names of all tools besides the gate's own. A name that begins with `mcp__`
    /// or contains a `*` may be that of a tool that comes later.
    ///
    /// # Errors
    ///
    /// A project can only tighten, so `automatic` in its table is an error. So is a name that no tool has; the error
    /// suggests the most similar one.
    pub fn new(user: ToolTable, project: ToolTable, known: &[&str]) -> Result<Self, ToolPolicyError> {
        let user = Layer::new(user, PolicyOrigin::User, known)?;
        let layers = Arc::new([user, Layer::new(project, PolicyOrigin::Project, known)?]);
        Ok(Self { layers, session: Arc::default() })
    }

    /// Whether nothing is said about any tool.
    pub fn is_empty(&self) -> bool {
        self.layers.iter().chain([&*self.session]).all(|layer| layer.source == ToolTable::default())
    }

    /// The table of one origin, as it was given.
    pub fn of(&self, origin: PolicyOrigin) -> &ToolTable {
        &self.layers[usize::from(origin == PolicyOrigin::Project)].source
    }

    /// Whether the tool is not to be offered.
    pub fn excludes(&self, tool: &str) -> bool {
        self.of_tool(tool).is_some_and(|decision| decision.policy == ToolPolicy::Exclude)
    }
}

impl Layer {
    fn new(source: ToolTable, origin: PolicyOrigin, known: &[&str]) -> Result<Self, ToolPolicyError> {
        let error = |key: &str, place: String, problem: String| ToolPolicyError {
            origin,
            place,
            key: key.to_owned(),
            problem,
        };
        let loosens = |policy| {
            (origin == PolicyOrigin::Project && policy == ToolPolicy::Automatic).then(|| {
                "a project can only have more asked or excluded; set automatic in your own file".to_owned()
            })
        };
        if let Some(problem) = source.default.and_then(loosens) {
            return Err(error("default", "default".to_owned(), problem));
        }
        let mut layer = Self::default();
        for (name, policy) in &source.tools {
            let problem = loosens(*policy).or_else(|| pattern::unknown_tool(name, known));
            if let Some(problem) = problem {
                return Err(error(name, name.clone(), problem));
            }
            layer.named.push((Pattern::new(canonical(name)), name.clone(), *policy));
        }
        // An exact name counts before a pattern of names.
        layer.named.sort_by_key(|(pattern, ..)| pattern.is_open());
        if MAX_RULES < source.rules.len() {
            return Err(error("rule", "rule".to_owned(), format!("there are more than {MAX_RULES} rules")));
        }
        for (index, rule) in source.rules.iter().enumerate() {
            let wrong =
                |field: &str, problem: String| error("rule", format!("rule {}{field}", index + 1), problem);
            if let Some(problem) = loosens(rule.policy) {
                return Err(wrong(".policy", problem));
            }
            if let Some(problem) = pattern::unknown_tool(&rule.tool, known) {
                return Err(wrong(".tool", problem));
            }
            layer.rules.push(Rule::new(rule).map_err(|problem| wrong(".when", problem))?);
        }
        layer.source = source;
        Ok(layer)
    }
}

impl Rule {
    fn new(source: &ToolRule) -> Result<Self, String> {
        let tool = canonical(&source.tool);
        let mut rule = Self {
            tool: Pattern::new(tool),
            command: None,
            folder: None,
            path: None,
            others: Vec::new(),
            policy: source.policy,
        };
        let is_shell = runs_commands(tool);
        for (argument, pattern) in &source.when {
            match argument.as_str() {
                "command" | "cmd" if is_shell => rule.command = Some(Words::new(pattern)?),
                _ if is_shell && built_in::SHELL.takes(Role::Folder, argument) => {
                    rule.folder = Some(Pattern::new(pattern));
                }
                "path" | "file_path" | "filePath" | "absolute_path" | "dir_path" => {
                    let path = PathPattern::new(pattern.trim_start_matches("./"));
                    rule.path = Some(path.map_err(|error| format!("{argument}: {pattern:?}: {error}"))?);
                }
                _ => rule.others.push((argument.clone(), Pattern::new(pattern))),
            }
        }
        Ok(rule)
    }
}

/// Whether a tool's command is a line for the shell, which is compared by its simple commands and never as text.
fn runs_commands(name: &str) -> bool {
    Declaration::of_ours(name).is_some_and(Declaration::runs_commands)
}

/// The simple commands of a line, of which there are none without the feature `shell`.
#[cfg(not(feature = "shell"))]
struct SimpleCommands {
    words: Vec<Vec<Vec<u8>>>,
    is_piped: bool,
}

/// Without the feature `shell` no line is understood.
#[cfg(not(feature = "shell"))]
fn simple_commands(_line: &str) -> Option<SimpleCommands> {
    None
}

/// The name by which the gate knows a tool.
fn canonical(name: &str) -> &str {
    Declaration::in_files(name).map_or(name, |tool| &tool.name)
}

impl fmt::Debug for ToolPolicies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.layers.iter().map(|layer| &layer.source)).finish()
    }
}

impl PartialEq for ToolPolicies {
    fn eq(&self, other: &Self) -> bool {
        self.session.source == other.session.source
            && self.layers.iter().zip(other.layers.iter()).all(|(one, other)| one.source == other.source)
    }
}

impl Eq for ToolPolicies {}
