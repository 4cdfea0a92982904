use std::sync::Arc;

use headstart_overlay_fs::{EntryKind, Overlay, Quota, Tree, TreeError, WorkspacePath};
use headstart_tool_gate::GateContext;
use headstart_toolbox::{ToolContext, ToolLimits};

use super::{FILE_BYTES, MAX_FILES, MAX_TOKENS, ProjectRules, Rule, RuleProblem, RuleScope, front_matter};
use crate::sanitize::{sanitize, sanitize_line};

/// The files that may hold a folder's rules. The first that exists counts: our own name, then those of other
/// products.
const NAMES: [&str; 4] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules"];
/// The last name, which only counts in the root.
const OF_ROOT: &str = ".github/copilot-instructions.md";
/// The folder of rules with front matter.
pub const FOLDER: &str = ".headstart/rules";

/// Reads files of a tree as the session permits: links are followed within the workspace only, and closed files are
/// not read.
pub(crate) struct GatedReader<'a> {
    view: Arc<Overlay>,
    gate: &'a GateContext,
    limits: ToolLimits,
}

impl<'a> GatedReader<'a> {
    /// A reader of what a conversation sees. Reads are not noted: if a rule changes meanwhile, the model is told, and
    /// it is no conflict.
    pub(crate) fn new(tree: &Arc<dyn Tree>, gate: &'a GateContext) -> Self {
        let view = Arc::new(Overlay::new(Arc::clone(tree), Quota::default()));
        Self { view, gate, limits: ToolLimits::default() }
    }

    /// The path without links and the length of a file, if one is there that may be read.
    pub(crate) async fn find(
        &self,
        path: &WorkspacePath,
    ) -> Result<Option<(WorkspacePath, EntryKind, u64)>, String> {
        if self.gate.denies(path) {
            return Ok(None);
        }
        let Some(name) = path.as_str() else { return Ok(None) };
        // Only a link can lead to a file from a path that does not exist itself.
        match self.view.metadata(path).await {
            Ok(_) => {}
            Err(TreeError::NotFound { .. } | TreeError::NotADirectory { .. }) => return Ok(None),
            Err(error) => return Err(without_path(path, &error.to_string())),
        }
        let context = ToolContext {
            view: &self.view,
            gate: self.gate,
            limits: &self.limits,
            hardened: None,
            consented: false,
            attended: true,
        };
        let real = context.locate(name).await.map_err(|error| without_path(path, &error.to_string()))?;
        match self.view.metadata(&real).await {
            Ok(found) => Ok(Some((real, found.kind, found.len))),
            Err(error) => Err(without_path(path, &error.to_string())),
        }
    }

    /// The text of a file of rules; `None` if there is none.
    async fn text(&self, path: &WorkspacePath) -> Result<Option<String>, String> {
        let Some((real, kind, len)) = self.find(path).await? else { return Ok(None) };
        if kind != EntryKind::File {
            return Err("is not a regular file".to_owned());
        }
        if FILE_BYTES < len {
            return Err(format!(
                "has {len} bytes and is not read; rules have at most {FILE_BYTES}: shorten it, or move parts to files in {FOLDER}"
            ));
        }
        let bytes = self.view.read(&real).await.map_err(|error| error.to_string())?;
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(Some(sanitize(&text))),
            _ => Err("is not a text in UTF-8 and is not read".to_owned()),
        }
    }

    /// The text of any file, for an expression; `None` if it is too long or not text.
    pub(super) async fn content(&self, path: &WorkspacePath, longest: u64) -> Option<String> {
        let (real, kind, len) = self.find(path).await.ok()??;
        if kind != EntryKind::File || longest < len {
            return None;
        }
        Some(String::from_utf8_lossy(&self.view.read(&real).await.ok()?).into_owned())
    }

    /// The bytes of a file for a mention. `real` is a path without links that is not closed.
    pub(crate) async fn bytes_of(&self, real: &WorkspacePath) -> Result<Vec<u8>, String> {
        self.view.read(real).await.map_err(|error| without_path(real, &error.to_string()))
    }

    /// The first entries of a folder, one on each line, without closed ones.
    pub(crate) async fn listed(&self, folder: &WorkspacePath, most: usize) -> Result<String, String> {
        let entries =
            self.view.list(folder).await.map_err(|error| without_path(folder, &error.to_string()))?;
        let is_open = |name: &[u8]| {
            name != b".git" && folder.join_bytes(name).is_ok_and(|path| !self.gate.denies(&path))
        };
        let open: Vec<_> = entries.iter().filter(|entry| is_open(&entry.name)).collect();
        let mut lines: Vec<_> = open
            .iter()
            .take(most)
            .map(|entry| {
                let slash = if entry.kind == EntryKind::Directory { "/" } else { "" };
                format!("{}{slash}", sanitize_line(&String::from_utf8_lossy(&entry.name), 200))
            })
            .collect();
        if most < open.len() {
            lines.push(format!("… {} more", open.len() - most));
        }
        Ok(lines.join("\n"))
    }

    /// The rules in a folder's own file.
    pub(super) async fn of_folder(&self, folder: &WorkspacePath) -> Result<Option<Rule>, RuleProblem> {
        let names = NAMES.into_iter().chain(folder.is_root().then_some(OF_ROOT));
        for name in names {
            let Ok(path) = folder.join(name) else { continue };
            match self.text(&path).await {
                Ok(Some(text)) if text.trim().is_empty() => return Ok(None),
                Ok(Some(text)) => {
                    let scope =
                        if folder.is_root() { RuleScope::Always } else { RuleScope::Folder(folder.clone()) };
                    return Ok(Some(Rule { path, description: None, scope, text }));
                }
                Ok(None) => {}
                Err(message) => return Err(RuleProblem { path, message }),
            }
        }
        Ok(None)
    }

    /// A rule in the folder of rules.
    async fn with_front_matter(&self, path: WorkspacePath) -> (Option<Rule>, Vec<RuleProblem>) {
        let text = match self.text(&path).await {
            Ok(Some(text)) => text,
            Ok(None) => return (None, Vec::new()),
            Err(message) => return (None, vec![RuleProblem { path, message }]),
        };
        let (front, text) = front_matter::split(&text);
        let scope = front.scope();
        let mut problems = front.problems;
        let rule = match scope {
            Ok(_) if text.trim().is_empty() => {
                problems.push("holds no text, so it says nothing".to_owned());
                None
            }
            Ok(scope) => {
                let about =
                    [front.name, front.description].into_iter().flatten().collect::<Vec<_>>().join(": ");
                let description = Some(sanitize_line(&about, 200)).filter(|about| !about.is_empty());
                Some(Rule { path: path.clone(), description, scope, text: text.to_owned() })
            }
            Err(problem) => {
                problems.push(format!("{problem}; the rule does not count until that is mended"));
                None
            }
        };
        (rule, problems.into_iter().map(|message| RuleProblem { path: path.clone(), message }).collect())
    }
}

/// An error for a user, as one about a path: the original names the path itself and tells a model what to do.
fn without_path(path: &WorkspacePath, error: &str) -> String {
    let message = error.strip_prefix(&format!("{path} ")).unwrap_or(error);
    message.trim_end_matches("; go on without it").to_owned()
}

impl ProjectRules {
    /// The rules of a project's root and of its folder of rules, as `tree` shows them and `gate` permits them.
    ///
    /// A file that is too long, not text or a link out of the workspace is reported in [`problems`](Self::problems),
    /// and the others count.
    pub async fn read(tree: &Arc<dyn Tree>, gate: &GateContext) -> Self {
        let reader = GatedReader::new(tree, gate);
        let mut read = Self::default();
        match reader.of_folder(&WorkspacePath::root()).await {
            Ok(rule) => read.rules.extend(rule),
            Err(problem) => read.problems.push(problem),
        }
        read.add_folder(&reader).await;
        read.rules.sort_by(|one, other| one.path.cmp(&other.path));
        read.keep_to_limit();
        read
    }

    async fn add_folder(&mut self, reader: &GatedReader<'_>) {
        let Ok(folder) = WorkspacePath::parse(FOLDER) else { return };
        let real = match reader.find(&folder).await {
            Ok(Some((real, EntryKind::Directory, _))) => real,
            Ok(Some(_)) => {
                self.problems.push(RuleProblem { path: folder, message: "is not a folder".to_owned() });
                return;
            }
            Ok(None) => return,
            Err(message) => {
                self.problems.push(RuleProblem { path: folder, message });
                return;
            }
        };
        let entries = match reader.view.list(&real).await {
            Ok(entries) => entries,
            Err(error) => {
                self.problems.push(RuleProblem { path: folder, message: error.to_string() });
                return;
            }
        };
        let names = entries
            .into_iter()
            .filter(|entry| entry.kind != EntryKind::Directory && entry.name.ends_with(b".md"));
        let names: Vec<_> = names.collect();
        if MAX_FILES < names.len() {
            let message =
                format!("holds {} files, of which the first {MAX_FILES} by name count", names.len());
            self.problems.push(RuleProblem { path: folder.clone(), message });
        }
        for entry in names.into_iter().take(MAX_FILES) {
            let Ok(path) = folder.join_bytes(&entry.name) else { continue };
            let (rule, problems) = reader.with_front_matter(path).await;
            self.rules.extend(rule);
            self.problems.extend(problems);
        }
    }

    /// Drops rules for everything that exceed the limit of a request.
    fn keep_to_limit(&mut self) {
        let mut left = MAX_TOKENS;
        let (rules, problems) = (&mut self.rules, &mut self.problems);
        rules.retain(|rule| {
            if rule.scope != RuleScope::Always {
                return true;
            }
            let fits = left.checked_sub(rule.tokens());
            match fits {
                Some(rest) => left = rest,
                None => problems.push(RuleProblem {
                    path: rule.path.clone(),
                    message: format!(
                        "is left out: with it the rules for all files come to more than {MAX_TOKENS} tokens; shorten them, or give \
                         some of them globs"
                    ),
                }),
            }
            fits.is_some()
        });
    }
}

/// Bytes as text.
pub(crate) fn text_in(bytes: Vec<u8>) -> Result<String, String> {
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err("is not a text in UTF-8".to_owned()),
    }
}
