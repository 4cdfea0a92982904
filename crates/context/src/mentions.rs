//! What a prompt names with an `@`, and what the model reads of it.

mod by_tools;
mod parse;
mod paths;
mod resolve;
mod room;
mod write;

use async_trait::async_trait;
use headstart_overlay_fs::WorkspacePath;

pub use self::by_tools::ToldByTools;
pub use self::parse::{Mention, escape_mentions, mentions};
pub use self::paths::mentions_of_paths;
pub use self::resolve::{Resolved, resolve_mentions};
pub use self::room::mention_room;
pub use self::write::{MentionStart, mention_of_path, mention_of_resource, mention_start};

/// What only the program around a conversation can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outside {
    /// `@diff`: what differs from the last commit.
    Diff,
    /// `@codebase`: what a search of the project finds for the prompt.
    Codebase,
    /// `@terminal`: what the terminal shows.
    Terminal,
    /// `@problems`: what language servers complain of.
    Problems,
    /// `@open`: the file that is open in the editor.
    Open,
    /// `@selection`: what is selected there.
    Selection,
}

impl Outside {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Diff, Self::Codebase, Self::Terminal, Self::Problems, Self::Open, Self::Selection];

    /// Its name, as it is written behind the `@`.
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

    /// The one of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|what| what.name() == name)
    }

    /// What it is, for a list of what may be mentioned.
    pub const fn words(self) -> &'static str {
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

/// Tells what is outside of files and rules.
#[async_trait]
pub trait MentionSource: Send + Sync {
    /// What the model reads of it with this prompt, in words; the error says why there is nothing, for the user.
    async fn tell(&self, what: Outside, prompt: &str) -> Result<String, String>;

    /// A page of the web as text. By default there is no web: `None`, and what is written stays text.
    async fn fetch(&self, _address: &str) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// What a server has at an address. By default there are no servers: `None`, and what is written is a path or stays text.
    async fn resource(&self, _server: &str, _uri: &str) -> Result<Option<String>, String> {
        Ok(None)
    }
}

/// A mention of which there is nothing to tell: the prompt is not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("@{mention}: {problem}; a backslash before the @ makes it plain text")]
pub struct MentionError {
    /// What stands behind the `@`.
    pub mention: String,
    /// What is wrong, and what to do.
    pub problem: String,
}

/// The paths that a prompt names are part of what work rests on.
pub(crate) type Read = Vec<WorkspacePath>;
