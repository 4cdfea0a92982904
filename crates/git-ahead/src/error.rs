use headstart_overlay_fs::{TreeError, WorkspacePath};

/// Why a repository was not read, or why what was read is not accepted. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// The name of a ref that git would not accept.
    #[error("{name} is no name of a ref")]
    RefName {
        /// The name as it was found.
        name: String,
    },
    /// Something stands in the place of an object's name.
    #[error("{name} is no name of an object")]
    ObjectName {
        /// The text as it was found.
        name: String,
    },
    /// A record does not hold a change.
    #[error("what was noted of the repository is damaged: {message}")]
    Damaged {
        /// What is wrong.
        message: String,
        /// What the parser found, if it was the parser.
        source: Option<serde_json::Error>,
    },
    /// A repository contains something that git does not put there.
    #[error("{path}: {reason}")]
    Hostile {
        /// The path, from the workspace.
        path: String,
        /// What it is, and why it is refused.
        reason: String,
    },
    /// There is more than is read.
    #[error("{path}: more than {limit} {unit} are in the way; run the command yourself")]
    Limit {
        /// The path, from the workspace.
        path: String,
        /// The limit.
        limit: u64,
        /// What is counted.
        unit: &'static str,
    },
    /// A kind of repository that is not supported.
    #[error("{reason}, so git commands are not run ahead here")]
    Unsupported {
        /// Which kind.
        reason: String,
    },
    /// There is no git, or it is too old.
    #[error("{reason}; install git 2.34 or later")]
    NoGit {
        /// What was found.
        reason: String,
    },
    /// Git reported an error.
    #[error("git {command}: {message}")]
    Git {
        /// The command.
        command: String,
        /// Git's words.
        message: String,
        /// What the system answered, if git could not be started or read.
        source: Option<std::io::Error>,
    },
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// The path.
        path: String,
        /// The system's answer.
        source: std::io::Error,
    },
}

impl From<GitError> for TreeError {
    fn from(error: GitError) -> Self {
        let path = WorkspacePath::parse(".git").unwrap_or_default();
        match error {
            GitError::Unsupported { .. } => Self::Unsupported { path, reason: error.to_string() },
            error => {
                let source = match &error {
                    GitError::Io { source, .. } | GitError::Git { source: Some(source), .. } => {
                        Some(source.into())
                    }
                    _ => None,
                };
                Self::Io { path, message: error.to_string(), source }
            }
        }
    }
}
