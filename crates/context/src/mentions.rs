//! What a prompt names with an `@`, and what the model is sent for it.

mod budget;
mod completion;
mod parse;
mod paths;
mod resolve;
mod tool_source;

use async_trait::async_trait;
use headstart_overlay_fs::WorkspacePath;

pub use self::budget::mention_budget;
pub use self::completion::{MentionStart, mention_of_path, mention_of_resource, mention_start};
pub use self::parse::{Mention, escape_mentions, mentions};
pub use self::paths::mentions_of_paths;
pub use self::resolve::{ResolvedMentions, resolve_mentions};
pub use self::tool_source::ToolMentionSource;

/// Mentions that only the program around a conversation can resolve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HostMention {
    /// `@diff`: what differs from the last commit.
    Diff,
    /// `@codebase`: what a search of the project finds for the prompt.
    Codebase,
    /// `@terminal`: what the terminal shows.
    Terminal,
    /// `@problems`: what language servers report.
    Problems,
    /// `@open`: the file that is open in the editor.
    Open,
    /// `@selection`: what is selected there.
    Selection,
}

impl HostMention {
    /// All of these mentions.
    pub const ALL: [Self; 6] =
        [Self::Diff, Self::Codebase, Self::Terminal, Self::Problems, Self::Open, Self::Selection];

    /// The name behind the `@`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Diff => "diff",
            Self::Codebase => "codebase",
            Self::Terminal => "terminal",
            Self::Problems => "problems",
            Self::Open => "open",
            Self::Selection => "selection",
        }
    }

    /// The mention with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|what| what.name() == name)
    }

    /// A description, for a list of what may be mentioned.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Diff => "what differs from the last commit",
            Self::Codebase => "what a search of the project finds for your prompt",
            Self::Terminal => "what the terminal shows",
            Self::Problems => "what the editor complains of",
            Self::Open => "the file that is open in the editor",
            Self::Selection => "what is selected in the editor",
        }
    }
}

/// Resolves mentions of anything but files and rules.
#[async_trait]
pub trait MentionSource: Send + Sync {
    /// What the model is sent for it with this prompt, in words. The error says why there is nothing, for the user.
    async fn resolve(&self, what: HostMention, prompt: &str) -> Result<String, String>;

    /// A web page as text. By default there is no web: `None`, and the mention stays text.
    async fn fetch(&self, _address: &str) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// What a server has at an address. By default there are no servers: `None`, and the mention is a path or stays
    /// text.
    async fn resource(&self, _server: &str, _uri: &str) -> Result<Option<String>, String> {
        Ok(None)
    }
}

/// A mention that cannot be resolved. The prompt is not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("@{mention}: {problem}; a backslash before the @ makes it plain text")]
pub struct MentionError {
    /// The text behind the `@`.
    pub mention: String,
    /// What is wrong, and what to do.
    pub problem: String,
}

/// The paths that a prompt names. Work that follows depends on them.
pub(crate) type ReadPaths = Vec<WorkspacePath>;
