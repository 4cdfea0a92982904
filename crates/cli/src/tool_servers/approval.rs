//! The user's decisions about the tool servers and tools that a project names. None of them starts without the user's
//! consent.
//!
//! ```text
//! STATE/tool-servers/WORKSPACE   one line per decision: `yes` or `no`, and the hash of what was asked about
//! STATE/logins/HASH.json         the login to a server, for the file that names it and for its address
//! ```
//!
//! The user is asked about the entry as it is (command, variables, address), the file that contains it, and the content
//! of those files in the workspace that its command names. If such a script changes, the user is asked again. What the
//! script itself loads is not checked.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use headstart_tool_gate::PolicyOrigin;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::config::{EnvValue, HttpToolSetting, ServerSetting, Transport};
use crate::error::CliError;
use crate::shell_words::shell_line;
use crate::store::create_private_folder;
use crate::workspace::state_name;

/// The most bytes of a script that are hashed. Of a larger file the beginning and the length count.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// An entry that the user is asked about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ApprovalSubject<'a> {
    Server(&'a ServerSetting),
    Http(&'a HttpToolSetting),
}

/// The user's decision about an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApprovalState {
    Yes,
    No,
    /// The user has not been asked yet, or the entry has changed since.
    NotAsked,
}

/// The user's decisions for one workspace.
pub(crate) struct Approvals {
    workspace: PathBuf,
    /// The file of the decisions; `None` without a state folder, in which case they only count for this session.
    file: Option<PathBuf>,
    logins: Option<PathBuf>,
    answers: BTreeMap<String, bool>,
}

impl ApprovalSubject<'_> {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Server(server) => &server.name,
            Self::Http(tool) => &tool.name,
        }
    }

    pub(crate) fn origin(&self) -> PolicyOrigin {
        match self {
            Self::Server(server) => server.origin,
            Self::Http(tool) => tool.origin,
        }
    }

    /// What would be run or requested: a command line or an address.
    pub(crate) fn target(&self) -> String {
        match self {
            Self::Server(ServerSetting { transport: Transport::Command(line), .. }) => shell_line(line),
            Self::Server(ServerSetting { transport: Transport::Url(url), .. }) => url.clone(),
            Self::Http(tool) => tool.url.clone(),
        }
    }

    /// The user's variables that it would get.
    pub(crate) fn variables(&self) -> Vec<&str> {
        let Self::Server(server) = self else { return Vec::new() };
        let of_environment = server.env.values().filter_map(|value| match value {
            EnvValue::Variable(variable) => Some(variable.as_str()),
            EnvValue::Literal(_) => None,
        });
        of_environment.chain(server.bearer.as_deref()).collect()
    }

    /// The hash under which the decision is stored.
    fn hash(&self, workspace: &Path) -> String {
        let entry = match self {
            Self::Server(server) => {
                let env: BTreeMap<_, _> =
                    server.env.iter().map(|(name, value)| (name, format!("{value:?}"))).collect();
                let (reach, files) = match &server.transport {
                    Transport::Command(line) => (json!({ "command": line }), contents(line, workspace)),
                    Transport::Url(url) => (json!({ "url": url, "bearer": server.bearer }), Vec::new()),
                };
                json!({ "server": server.name, "in": server.file, "reach": reach, "env": env, "files": files })
            }
            Self::Http(tool) => json!({
                "http": tool.name, "in": tool.file, "url": tool.url, "description": tool.description, "parameters": tool.parameters,
            }),
        };
        hex(&Sha256::digest(entry.to_string().as_bytes()))
    }
}

/// The files in the workspace that a command names, each with the hash of its content.
fn contents(line: &[String], workspace: &Path) -> Vec<(String, String)> {
    let words =
        line.iter().flat_map(|word| [Some(word.as_str()), word.split_once('=').map(|(_, value)| value)]);
    let mut files = Vec::new();
    for word in words.flatten() {
        let Ok(path) = workspace.join(word).canonicalize() else { continue };
        let Ok(file) = fs::File::open(&path) else { continue };
        if !path.starts_with(workspace) || !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        let length = file.metadata().map(|metadata| metadata.len()).unwrap_or_default();
        let mut content = Vec::new();
        // A file that cannot be read completely counts as changed whenever its length changes.
        let _ = file.take(MAX_BYTES).read_to_end(&mut content);
        files.push((word.to_owned(), format!("{length} {}", hex(&Sha256::digest(&content)))));
    }
    files
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl Approvals {
    pub(crate) fn of(workspace: &str, state: Option<&Path>) -> Self {
        let workspace = PathBuf::from(workspace);
        let file = state.map(|state| state.join("tool-servers").join(state_name(&workspace)));
        let text = file.as_ref().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
        // A line in another form is not a decision.
        let answers = text.lines().filter_map(|line| match line.split_once(' ')? {
            ("yes", hash) => Some((hash.to_owned(), true)),
            ("no", hash) => Some((hash.to_owned(), false)),
            _ => None,
        });
        let logins = state.map(|state| state.join("logins"));
        Self { workspace, file, logins, answers: answers.collect() }
    }

    /// The decision about an entry. Entries in the user's own file count as accepted.
    pub(crate) fn answer(&self, subject: &ApprovalSubject<'_>) -> ApprovalState {
        if subject.origin() == PolicyOrigin::User {
            return ApprovalState::Yes;
        }
        match self.answers.get(&subject.hash(&self.workspace)) {
            Some(true) => ApprovalState::Yes,
            Some(false) => ApprovalState::No,
            None => ApprovalState::NotAsked,
        }
    }

    /// The private file for the login to a server; `None` without a state folder. There are separate files for the same
    /// address in another file, such as a project's, and for another address with the same name.
    pub(crate) fn login_file(&self, setting: &ServerSetting) -> Result<Option<PathBuf>, CliError> {
        let (Some(folder), Transport::Url(url)) = (&self.logins, &setting.transport) else { return Ok(None) };
        create_private_folder(folder)?;
        let of = json!({ "in": setting.file, "url": url });
        Ok(Some(folder.join(format!("{}.json", hex(&Sha256::digest(of.to_string().as_bytes()))))))
    }

    /// Stores a decision.
    pub(crate) fn keep(&mut self, subject: &ApprovalSubject<'_>, yes: bool) -> Result<(), CliError> {
        self.answers.insert(subject.hash(&self.workspace), yes);
        let Some(file) = &self.file else { return Ok(()) };
        let folder = file.parent().unwrap_or(Path::new("."));
        create_private_folder(folder)?;
        let lines =
            self.answers.iter().map(|(hash, yes)| format!("{} {hash}\n", if *yes { "yes" } else { "no" }));
        fs::write(file, lines.collect::<String>()).map_err(CliError::io("write", file))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::{OAuthSetting, TrustSetting};

    fn setting(line: &[&str], origin: PolicyOrigin) -> ServerSetting {
        ServerSetting {
            name: "x".into(),
            origin,
            file: "/w/.headstart/config.toml".into(),
            transport: Transport::Command(line.iter().map(|word| (*word).to_owned()).collect()),
            env: BTreeMap::new(),
            bearer: None,
            oauth: OAuthSetting::default(),
            trust: TrustSetting::Ask,
            trust_network: false,
            timeout: Duration::from_secs(1),
        }
    }

    #[test]
    fn an_answer_counts_for_what_was_asked_about_and_for_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("w").canonicalize().unwrap_or_else(|_| {
            fs::create_dir(folder.path().join("w")).unwrap();
            folder.path().join("w").canonicalize().unwrap()
        });
        fs::write(workspace.join("server.js"), "one").unwrap();
        let (state, name) = (folder.path().join("state"), workspace.to_str().unwrap());
        let setting_of_server = setting(&["node", "server.js"], PolicyOrigin::Project);
        let mut approvals = Approvals::of(name, Some(&state));
        assert_eq!(approvals.answer(&ApprovalSubject::Server(&setting_of_server)), ApprovalState::NotAsked);
        assert_eq!(
            approvals.answer(&ApprovalSubject::Server(&setting(&["node"], PolicyOrigin::User))),
            ApprovalState::Yes
        );
        approvals.keep(&ApprovalSubject::Server(&setting_of_server), true).unwrap();

        let approvals = Approvals::of(name, Some(&state));
        let answer = |setting: &ServerSetting| approvals.answer(&ApprovalSubject::Server(setting));
        assert_eq!(answer(&setting_of_server), ApprovalState::Yes, "it is kept");
        let others = [
            setting(&["node", "server.js", "--all"], PolicyOrigin::Project),
            ServerSetting { name: "y".into(), ..setting_of_server.clone() },
            ServerSetting { file: "/other/config.toml".into(), ..setting_of_server.clone() },
            ServerSetting {
                env: [("A".into(), EnvValue::Variable("KEY".into()))].into(),
                ..setting_of_server.clone()
            },
            ServerSetting { transport: Transport::Url("https://x".into()), ..setting_of_server.clone() },
        ];
        for other in &others {
            assert_eq!(answer(other), ApprovalState::NotAsked, "{other:?}");
        }
        fs::write(workspace.join("server.js"), "two").unwrap();
        assert_eq!(answer(&setting_of_server), ApprovalState::NotAsked, "the script is another one");
        assert_eq!(
            Approvals::of("/elsewhere", Some(&state)).answer(&ApprovalSubject::Server(&setting_of_server)),
            ApprovalState::NotAsked
        );
    }
}
