use headstart_overlay_fs::{TreeError, WorkspacePath};

/// Why a repository was not read, or what was read not accepted. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// The name of a ref that git would not take.
    #[error("{name} is no name of a ref")]
    RefName {
        /// As it was found.
        name: String,
    },
    /// Something in the place of an object's name.
    #[error("{name} is no name of an object")]
    ObjectName {
        /// As it was found.
        name: String,
    },
    /// A record holds something else than a change.
    #[error("what was noted of the repository is damaged: {message}")]
    Damaged {
        /// What is wrong.
        message: String,
        /// What the parser found, where it did.
        source: Option<serde_json::Error>,
    },
    /// Something in a repository that git does not put there.
    #[error("{path}: {reason}")]
    Hostile {
        /// Where, from the workspace.
        path: String,
        /// What it is.
        reason: String,
    },
    /// More than is read.
    #[error("{path}: more than {limit} {unit} are in the way; run the command yourself")]
    Limit {
        /// Where, from the workspace.
        path: String,
        /// How many.
        limit: u64,
        /// Of what.
        unit: &'static str,
    },
    /// A kind of repository that is left alone.
    #[error("{reason}, so git commands are not run ahead here")]
    Unsupported {
        /// Which.
        reason: String,
    },
    /// There is no git, or too old a one.
    #[error("{reason}; install git 2.45 or later")]
    NoGit {
        /// What was found.
        reason: String,
    },
    /// Git said no.
    #[error("git {command}: {message}")]
    Git {
        /// What it was asked to do.
        command: String,
        /// Its words.
        message: String,
        /// What the system answered, where git could not be heard.
        source: Option<std::io::Error>,
    },
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// Where.
        path: String,
        /// Its words.
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
