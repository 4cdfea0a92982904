//! What is sent along with the prompts of an `Agent` besides its user's words: what they mention, and the project's
//! rules.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use headstart_context::{
    HostMention, MentionSource, ProjectRules, ResolvedMentions, Rule, RuleProblem, ToolMentionSource,
    mention_budget, mentions_of_paths, resolve_mentions,
};
use headstart_forked_query::CacheSafeParams;
use headstart_overlay_fs::{Tree, WorkspacePath};
use headstart_speculation::{Attachments, PromptOrigin};
use headstart_tool_gate::GateContext;
use headstart_toolbox::Toolbox;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, json};
use crate::input::parse;
use crate::port::Callbacks;

/// How many files and folders are offered by their names.
const MAX_PATHS: usize = 20_000;

/// Finds what is sent along with prompts.
pub(crate) struct AttachmentFinder {
    pub(crate) callbacks: Arc<Callbacks>,
    pub(crate) toolbox: Toolbox,
    /// What the developer's callbacks can tell about.
    pub(crate) kinds: Vec<HostMention>,
    /// Whether the project's rules are sent to the model.
    pub(crate) rules: bool,
    /// How many tokens the model sees at once.
    pub(crate) window: Mutex<Option<u64>>,
}

/// The project's rules that are sent along with a prompt, for display.
#[derive(Serialize)]
struct RulesFields {
    rules: Vec<RuleFields>,
    gone: Vec<String>,
    problems: Vec<String>,
}

#[derive(Serialize)]
struct RuleFields {
    path: String,
    text: String,
}

/// Something that may be mentioned, as a list shows it.
#[derive(Serialize)]
struct Mentionable {
    mention: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    words: &'static str,
}

impl AttachmentFinder {
    /// The kinds of mentions that callbacks can tell about, from their names.
    pub(crate) fn parse_mention_kinds(kinds: &[String]) -> Result<Vec<HostMention>, Failure> {
        let known = || HostMention::ALL.map(HostMention::name).join(", ");
        let of_name = |name: &String| {
            HostMention::of_name(name).ok_or_else(|| {
                Failure::input(
                    format!("mentions.{name}"),
                    format!("there is no such mention; there are {}", known()),
                )
            })
        };
        kinds.iter().map(of_name).collect()
    }

    pub(crate) fn set_window(&self, window: Option<u64>) {
        *self.window.lock().unwrap_or_else(PoisonError::into_inner) = window;
    }

    /// What the model reads with a prompt; the error says what could not be found out.
    pub(crate) async fn for_prompt(
        &self,
        prompt: &str,
        whose: PromptOrigin,
        conversation: &CacheSafeParams,
        tree: &Arc<dyn Tree>,
        gate: &GateContext,
    ) -> Result<Attachments, String> {
        let window = *self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let by_tools =
            ToolMentionSource { toolbox: &self.toolbox, tree, gate, attended: whose == PromptOrigin::User };
        let source = PromptMentionSource { beside: self, by_tools };
        let room = mention_budget(window, conversation);
        let resolved = resolve_mentions(prompt, tree, gate, &source, room).await;
        let ResolvedMentions { text, images, read } = resolved.map_err(|error| error.to_string())?;
        let rules_text =
            if self.rules { self.rules_text(prompt, whose, conversation, tree, gate).await } else { None };
        let texts: Vec<_> = text.into_iter().chain(rules_text).collect();
        Ok(Attachments { text: (!texts.is_empty()).then(|| texts.join("\n\n")), images, read })
    }

    /// The rules that are new to the model. The developer is told of them only if the prompt is the user's own, because
    /// work ahead may never be taken.
    async fn rules_text(
        &self,
        prompt: &str,
        whose: PromptOrigin,
        conversation: &CacheSafeParams,
        tree: &Arc<dyn Tree>,
        gate: &GateContext,
    ) -> Option<String> {
        let rules = ProjectRules::read(tree, gate).await;
        let (system, history) = (conversation.system(), conversation.history());
        let sent = rules.rules_for_prompt(prompt, system, history, tree, gate).await;
        if whose == PromptOrigin::User {
            let problems = rules.problems().iter().chain(&sent.problems);
            report_rules(&self.callbacks, &sent.rules, sent.gone, problems);
        }
        sent.text
    }

    /// What may be mentioned, with files and folders last: a list in JSON.
    pub(crate) async fn mentionable(&self, tree: &Arc<dyn Tree>, gate: &GateContext) -> String {
        let tells = |what: &HostMention| {
            self.kinds.contains(what) || ToolMentionSource::supports(&self.toolbox, *what)
        };
        let outside = HostMention::ALL.into_iter().filter(tells);
        let mut all: Vec<_> = outside
            .map(|what| Mentionable { mention: format!("@{}", what.name()), words: what.description() })
            .collect();
        let rules = ProjectRules::read(tree, gate).await;
        all.extend(rules.rules().iter().map(|rule: &Rule| Mentionable {
            mention: format!("@rule:{}", rule.name()),
            words: "a rule of the project",
        }));
        let paths = mentions_of_paths(tree, gate, MAX_PATHS).await;
        all.extend(paths.into_iter().map(|mention| Mentionable { mention, words: "" }));
        json(&all)
    }
}

/// Tells the developer which rules are sent to the model.
pub(crate) fn report_rules<'a>(
    callbacks: &Callbacks,
    rules: &[Rule],
    gone: Vec<String>,
    problems: impl IntoIterator<Item = &'a RuleProblem>,
) {
    let shown = RulesFields {
        rules: rules.iter().map(|rule| RuleFields { path: rule.label(), text: rule.text.clone() }).collect(),
        gone,
        problems: problems.into_iter().map(RuleProblem::to_string).collect(),
    };
    let is_empty = shown.rules.is_empty() && shown.gone.is_empty() && shown.problems.is_empty();
    if !is_empty {
        callbacks.rules_told(&json(&shown));
    }
}

/// Asks the developer's callbacks first; what they cannot tell may be known by a tool.
struct PromptMentionSource<'a> {
    beside: &'a AttachmentFinder,
    by_tools: ToolMentionSource<'a>,
}

#[async_trait]
impl MentionSource for PromptMentionSource<'_> {
    async fn resolve(&self, what: HostMention, prompt: &str) -> Result<String, String> {
        let Self { beside, by_tools } = self;
        if beside.kinds.contains(&what) {
            let answer = beside.callbacks.mention(what.name(), prompt, !by_tools.attended).single().await;
            let parts = answer
                .and_then(|text| parse::<Vec<MentionPart>>(&format!("mentions.{}", what.name()), &text));
            return readable_text(&parts.map_err(|failure| failure.message)?, by_tools.gate);
        }
        if ToolMentionSource::supports(&beside.toolbox, what) {
            return by_tools.resolve(what, prompt).await;
        }
        Err("is not known here".to_owned())
    }
}

/// A part of what a callback tells.
#[derive(Deserialize)]
struct MentionPart {
    /// The file to which the part belongs.
    path: Option<String>,
    text: String,
}

/// What of it the model may read. An editor also shows files that are closed to the model, so their parts are left out.
fn readable_text(parts: &[MentionPart], gate: &GateContext) -> Result<String, String> {
    let is_open = |part: &&MentionPart| {
        let Some(path) = &part.path else { return true };
        WorkspacePath::resolve(path, &gate.workspace).is_ok_and(|path| !gate.denies(&path))
    };
    let open: Vec<_> = parts.iter().filter(is_open).map(|part| part.text.as_str()).collect();
    if open.is_empty() && !parts.is_empty() {
        return Err(
            "is closed: a deny rule covers it, it holds a secret by its name, or is outside of the project"
                .to_owned(),
        );
    }
    Ok(open.join("\n"))
}
