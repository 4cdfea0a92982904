use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// A server that the user configured, and how to reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// Its name in the configuration, with which the names of its tools begin.
    pub name: ServerName,
    /// How to reach it.
    pub connect: Connect,
    /// What the server's claims are worth.
    pub trust: Trust,
    /// The time limit for its start, and for the answer to a call.
    pub timeout: Duration,
}

/// How to reach a server.
#[derive(Clone, PartialEq, Eq)]
pub enum Connect {
    /// A program that is started for it, communicates over its standard input and output, and ends with the
    /// connection.
    Command {
        /// The program and its arguments, without a shell.
        line: Vec<String>,
        /// All of its environment.
        environment: BTreeMap<String, String>,
        /// Its working directory.
        folder: PathBuf,
    },
    /// An address (the protocol's streamable HTTP).
    Http {
        /// The address.
        url: String,
        /// A token that is sent with each request. It appears in no error and no log.
        bearer: Option<String>,
        /// The user's login (OAuth), if there is no token and a login can be kept.
        login: Option<Login>,
        /// Whether requests of work ahead may be sent from this machine.
        ahead: bool,
    },
}

/// How a user logs in to a server (OAuth). Without the feature `oauth` nobody can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The file that keeps the login, in a private folder. The login is for this server at this address only.
    pub file: PathBuf,
    /// The client as which headstart is registered where the user logs in; `None` if it registers itself.
    pub client: Option<LoginClient>,
    /// The permissions that the login requests; if empty, those that the server says it needs.
    pub scopes: Vec<String>,
}

/// A client that was registered by hand.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginClient {
    /// Its id, which is no secret.
    pub id: String,
    /// Its secret, where it has one.
    pub secret: Option<String>,
}

impl fmt::Debug for LoginClient {
    /// Does not show the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginClient").field("id", &self.id).finish_non_exhaustive()
    }
}

impl fmt::Debug for Connect {
    /// Shows neither the values of the environment nor the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { line, environment, folder } => {
                let names: Vec<_> = environment.keys().collect();
                f.debug_struct("Command")
                    .field("line", line)
                    .field("environment", &names)
                    .field("folder", folder)
                    .finish()
            }
            Self::Http { url, login, ahead, .. } => f
                .debug_struct("Http")
                .field("url", url)
                .field("login", login)
                .field("ahead", ahead)
                .finish_non_exhaustive(),
        }
    }
}

/// What a server's claims are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Trust {
    /// Nothing: the user has to allow each call.
    #[default]
    Ask,
    /// If a tool says that it only reads and reaches nothing outside, that counts.
    ReadOnlyHints,
}

/// The name of a server: letters, digits, `-` and single `_`, at most 32 characters, with a letter or digit at both ends.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerName(String);

/// A text that is not a valid name of a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no name of a tool server; use 1 to 32 letters, digits, \"-\" and single \"_\", with a letter or digit at both ends"
)]
pub struct NameError(pub String);

impl ServerName {
    /// Reads a name.
    pub fn new(name: &str) -> Result<Self, NameError> {
        let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        let at_ends = |name: &str| {
            let mut ends = name.bytes().take(1).chain(name.bytes().last());
            ends.all(|byte| byte.is_ascii_alphanumeric())
        };
        // With two underscores inside, tools of two servers could get the same name.
        if name.is_empty() || 32 < name.len() || !is_plain || !at_ends(name) || name.contains("__") {
            return Err(NameError(name.to_owned()));
        }
        Ok(Self(name.to_owned()))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_be_told_from_the_tool_behind_it() {
        for name in ["github", "a", "my-server_2", &"x".repeat(32)] {
            assert_eq!(ServerName::new(name).map(|name| name.as_str().to_owned()).as_deref(), Ok(name));
        }
        for name in ["", "a__b", "_a", "a_", "-a", "a.b", "a b", "ä", "a/b", "a\n", &"x".repeat(33)] {
            assert!(ServerName::new(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn what_is_printed_holds_no_secret() {
        let client = Some(LoginClient { id: "x".into(), secret: Some("hidden".into()) });
        let login = Some(Login { file: "/x".into(), client, scopes: Vec::new() });
        let http =
            Connect::Http { url: "https://x".into(), bearer: Some("hidden".into()), login, ahead: false };
        let environment = [("TOKEN".to_owned(), "hidden".to_owned())].into();
        let command = Connect::Command { line: vec!["x".into()], environment, folder: "/".into() };
        assert!(!format!("{http:?}{command:?}").contains("hidden"));
    }
}
