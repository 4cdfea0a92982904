//! The rules that are sent with a prompt.

use std::collections::BTreeSet;
use std::sync::Arc;

use headstart_forked_query::Message;
use headstart_overlay_fs::{EntryKind, Tree, WorkspacePath};
use headstart_tool_gate::{Behaviour, GateContext};

use super::fences::{fenced, known_rules, label, without_fences};
use super::read::GatedReader;
use super::{MAX_TOKENS, ProjectRules, Rule, RuleProblem, RuleScope, tokens};

/// The most files that a conversation touched for which rules are looked up; the last ones count.
const MAX_TOUCHED: usize = 256;
/// The most folders in which rules are looked up.
const MAX_FOLDERS: usize = 256;
/// The most words of a prompt that are tried as paths.
const MAX_MENTIONED: usize = 64;
/// The most files that are read for one rule's expression.
const MAX_SEARCHED: usize = 64;
/// The longest of these files, in bytes.
const SEARCHED_BYTES: u64 = 256 * 1024;

/// What is sent with a prompt.
#[derive(Debug, Clone, Default)]
pub struct PromptRules {
    /// The text behind the user's words; `None` if nothing is new.
    pub text: Option<String>,
    /// The rules in it.
    pub rules: Vec<Rule>,
    /// Files whose rules do not apply any more.
    pub gone: Vec<String>,
    /// Problems with rules that would have been sent.
    pub problems: Vec<RuleProblem>,
}

impl ProjectRules {
    /// The rules for this prompt that the model does not know: for the files that it mentions, and those that calls
    /// of the conversation read or wrote. Also changes of rules that the model does know. `self` has to be read anew
    /// for each prompt.
    ///
    /// `system` and `messages` are what the model knows: the whole conversation, without the prompt.
    pub async fn rules_for_prompt(
        &self,
        prompt: &str,
        system: Option<&str>,
        messages: &[Message],
        tree: &Arc<dyn Tree>,
        gate: &GateContext,
    ) -> PromptRules {
        let reader = GatedReader::new(tree, gate);
        let known = known_rules(system, messages);
        let mentioned = mentioned(prompt, &reader, gate).await;
        let touched: Vec<_> = mentioned.into_iter().chain(touched(messages, gate)).collect();
        let mut prompt_rules = PromptRules::default();
        let mut wanted = Vec::new();
        for rule in &self.rules {
            let counts = match &rule.scope {
                RuleScope::Always => true,
                RuleScope::Files(_) => {
                    known.contains_key(rule.label().as_str()) || applies_to(rule, &touched, &reader).await
                }
                RuleScope::Folder(_) | RuleScope::OnRequest => false,
            };
            if counts {
                wanted.push(rule.clone());
            }
        }
        // Files whose rules the model knows come first, because whether they changed is checked in any case.
        let read = known.keys().filter_map(|label| WorkspacePath::parse(label).ok()?.parent());
        let mut seen = BTreeSet::new();
        let folders = read.chain(touched.iter().flat_map(Touched::folders));
        let mut folders: Vec<_> = folders
            .filter(|folder| !folder.is_root() && seen.insert(folder.clone()))
            .take(MAX_FOLDERS)
            .collect();
        // A rule for a larger folder comes before one for a smaller.
        folders.sort();
        for folder in folders {
            match reader.of_folder(&folder).await {
                Ok(rule) => wanted.extend(rule),
                Err(problem) => prompt_rules.problems.push(problem),
            }
        }
        let there: BTreeSet<_> = self.rules.iter().chain(&wanted).map(Rule::label).collect();
        let unclear: BTreeSet<_> =
            self.problems.iter().chain(&prompt_rules.problems).map(|problem| label(&problem.path)).collect();
        let mut spent: usize = known.values().map(|body| tokens(body)).sum();
        let mut blocks = String::new();
        for rule in wanted {
            let name = rule.label();
            let body = without_fences(&rule.text);
            let remark = match known.get(name.as_str()) {
                Some(known) if *known == body => continue,
                Some(_) => " changed=\"the text before counts no more\"",
                None => "",
            };
            if MAX_TOKENS < spent + rule.tokens() {
                let message = format!(
                    "is not told: the rules of this conversation would come to more than {MAX_TOKENS} tokens"
                );
                prompt_rules.problems.push(RuleProblem { path: rule.path.clone(), message });
                continue;
            }
            spent += rule.tokens();
            blocks.push_str(&fenced(&name, remark, &rule.text));
            prompt_rules.rules.push(rule);
        }
        for (name, body) in &known {
            // A file that cannot be read at this moment is not gone.
            if !body.is_empty() && !there.contains(*name) && !unclear.contains(*name) {
                blocks.push_str(&fenced(name, " gone=\"these rules count no more\"", ""));
                prompt_rules.gone.push((*name).to_owned());
            }
        }
        prompt_rules.text = (!blocks.is_empty()).then(|| blocks.trim_end().to_owned());
        prompt_rules
    }
}

/// A file or folder that a conversation touched.
struct Touched {
    path: WorkspacePath,
    is_folder: bool,
}

impl Touched {
    fn file(path: WorkspacePath) -> Self {
        Self { path, is_folder: false }
    }

    /// The folders above it.
    fn folders(&self) -> impl Iterator<Item = WorkspacePath> {
        let first = if self.is_folder { Some(self.path.clone()) } else { self.path.parent() };
        std::iter::successors(first, WorkspacePath::parent)
    }
}

/// The files that calls read or wrote, the last ones first.
fn touched(messages: &[Message], gate: &GateContext) -> Vec<Touched> {
    let mut seen = BTreeSet::new();
    let calls = messages.iter().rev().flat_map(Message::tool_calls);
    let paths = calls.filter_map(|call| {
        let declared = gate.declaration(&call.name)?;
        // The path of a search is a folder, and so may be that of a tool which reads in a way of its host's own.
        let is_of_file = match declared.behaviour {
            Behaviour::Reads => declared.is_built_in(),
            Behaviour::RunsCommand => false,
            _ => declared.stages_in(&call.args),
        };
        let path = declared.only_path(&call.args).filter(|_| is_of_file)?;
        WorkspacePath::resolve(path, &gate.workspace).ok()
    });
    paths.filter(|path| seen.insert(path.clone())).take(MAX_TOUCHED).map(Touched::file).collect()
}

/// The files and folders that a prompt names and that exist.
async fn mentioned(prompt: &str, reader: &GatedReader<'_>, gate: &GateContext) -> Vec<Touched> {
    let ends = |sign: char| sign.is_whitespace() || "\"'`()<>,;|".contains(sign);
    let mut seen = BTreeSet::new();
    let words =
        prompt.split(ends).map(|word| word.trim_start_matches('@').trim_end_matches(['.', ':', '!', '?']));
    // `src/lib.rs:12:5` names that file.
    let words = words.map(|word| word.split(':').next().unwrap_or_default());
    let paths = words
        .filter(|word| word.contains(['/', '.']))
        .filter_map(|word| WorkspacePath::resolve(word, &gate.workspace).ok());
    let paths: Vec<_> = paths.filter(|path| seen.insert(path.clone())).take(MAX_MENTIONED).collect();
    let mut mentioned = Vec::new();
    for path in paths {
        if let Ok(Some((_, kind, _))) = reader.find(&path).await {
            mentioned.push(Touched { path, is_folder: kind == EntryKind::Directory });
        }
    }
    mentioned
}

async fn applies_to(rule: &Rule, touched: &[Touched], reader: &GatedReader<'_>) -> bool {
    let RuleScope::Files(files) = &rule.scope else { return false };
    let mut fitting =
        touched.iter().filter(|touched| !touched.is_folder && files.matches_path(&touched.path));
    if !files.needs_content() {
        return fitting.next().is_some();
    }
    for touched in fitting.take(MAX_SEARCHED) {
        if let Some(text) = reader.content(&touched.path, SEARCHED_BYTES).await
            && files.matches_content(&text)
        {
            return true;
        }
    }
    false
}
