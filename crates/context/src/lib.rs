//! What a request of a coding agent tells the model besides the user's words.
//!
//! [`system_text`] is the system instruction of a session: what the agent is, how its tools are used well, the
//! project's own rules, and where it works ([`SessionEnvironment`], and [`file_overview`] for the files). It is made
//! once, so that every request of the session begins with the same bytes and hits the provider's prefix cache.
//!
//! [`ProjectRules`] reads a project's rules for agents: `AGENTS.md` (or, if there is none, the file that another
//! product reads), and `.headstart/rules/*.md`. Rules for all files are part of the system text. Rules for some files
//! are sent with the user's words when such a file is first mentioned or touched, once
//! ([`ProjectRules::rules_for_prompt`]); so is what changed on disk since. What was sent is read from the conversation
//! itself, so nothing is kept that could differ from it: a resumed conversation, a fork of it and one whose last turn
//! was taken back each know what the model knows.
//!
//! ```
//! # use std::sync::Arc;
//! use headstart_context::{ProjectRules, SessionEnvironment, system_text};
//! use headstart_overlay_fs::{MemoryTree, Tree};
//! use headstart_tool_gate::GateContext;
//!
//! # futures::executor::block_on(async {
//! let files = [("AGENTS.md", "Use tabs.\n"), (".headstart/rules/ui.md", "---\nglobs: ui/**\n---\nNo inline styles.\n"), ("ui/a.css", "")];
//! let tree: Arc<dyn Tree> = Arc::new(MemoryTree::from_files(files)?);
//! let gate = GateContext { workspace: "/home/ada/project".to_owned(), ..GateContext::default() };
//! let rules = ProjectRules::read(&tree, &gate).await;
//! let system = system_text(&[], Some(&rules), &SessionEnvironment::default());
//! assert!(system.contains("Use tabs.") && !system.contains("inline"));
//!
//! let told = rules.rules_for_prompt("make ui/a.css shorter", Some(&system), &[], &tree, &gate).await;
//! assert!(told.text.unwrap().contains("No inline styles."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! A model reads a rule by its name with [`request_rule_tool`], and writes one with [`create_rule_tool`] if the user
//! permits that.
//!
//! [`resolve_mentions`] reads what a prompt names with an `@`: files, lines of files, folders and rules by itself,
//! anything else through a [`MentionSource`], of which [`ToolMentionSource`] is one. [`mention_budget`] says how much
//! room there is for it.
//!
//! [`Window`] plans what to do with a conversation that is about to exceed its model's window: first old outputs of
//! tools are removed, then its beginning is summarised. It only plans; whoever runs the conversation asks for the
//! summary.
//!
//! # What rules can do
//!
//! They are words for the model, and nothing else reads them: no policy, approval mode, deny rule or question depends
//! on them. They are fenced with the name of their file, and characters that could hide text from a reader are made
//! visible.
//!
//! # Limitations
//!
//! * Front matter consists of lines of `key: value`, not of all of YAML, because patterns such as `*.rs`, which
//!   people write without quotes, are not YAML.
//! * A file that only a shell command or a search touched does not bring in rules.
//! * Tokens are estimated from bytes.
//!
//! # Decisions that are not obvious
//!
//! - **Which rules the model was sent is read from the conversation** (`src/rules`). The system text is made once for
//!   a session, so its bytes stay. What comes later (rules for files that are touched, edits of rules) is put behind
//!   the user's words, in their message, within a fence that names its file. Which rules the model knows is read from
//!   those fences, not kept beside them: a fork, a resumed conversation and one whose last turn was taken back need
//!   no state of their own. Nothing else reads a rule: not the gate, not the policies, not the questions. For work
//!   ahead `Host::prompt_attachments` is asked; for its own turns a host asks directly.
//! - **A conversation is shortened rarely, and by much** (`src/window.rs`). Each change of what was sent loses the
//!   provider's prefix cache, so nothing is dropped turn by turn: at the limit so much is removed that the next time
//!   is far away. The size of a request is the provider's last count, plus bytes for what is new since
//!   (`forked_query::TokenEstimate`). A turn that reaches the limit ends there (`Limit::Window`); the conversation takes in
//!   what it has done, is shortened as a whole, and the turn goes on from there. The summary is part of the user's
//!   message that follows it, because some servers refuse two messages of the user in a row.
//! - **What a prompt mentions is sent beside it** (`src/mentions`), in the same way as rules: behind the user's
//!   words, in their message, read from the view in which the work runs. The files are part of the read set of work
//!   ahead, so one that the user changes makes a conflict. A mention that cannot be resolved stops the prompt before
//!   the model is asked. No text in a mention's fence can pass for a rule. Terminal and npm package share the
//!   reading, the limit and what tools answer; what only an editor knows comes through a callback of `AgentOptions`.
//!   A list of what may be mentioned never contains what the gate closes.

mod file_overview;
mod mentions;
mod rules;
mod sanitize;
mod session_environment;
mod system;
mod tool_caller;
mod window;

pub use file_overview::file_overview;
pub use mentions::{
    HostMention, Mention, MentionError, MentionSource, MentionStart, ResolvedMentions, ToolMentionSource,
    escape_mentions, mention_budget, mention_of_path, mention_of_resource, mention_start, mentions,
    mentions_of_paths, resolve_mentions,
};
pub use rules::{
    FilePatterns, ProjectRules, PromptRules, RULES_FOLDER, Rule, RuleProblem, RuleScope, create_rule_tool,
    request_rule_tool, rule_declarations,
};
pub use session_environment::SessionEnvironment;
pub use system::system_text;
pub use tool_caller::ToolCaller;
pub use window::{CompactionPlan, SUMMARY_TOKENS, SummaryPlan, Window};
