//! The user's decisions about the tool servers and tools that a project names. None of them starts without the user's
//! consent.
//!
//! ```text
//! STATE/tool-servers/WORKSPACE   one line per decision: `yes` or `no`, and the hash of what was asked about
//! STATE/logins/HASH.json         the login to a server, for the file that names it and for its address
//! ```
//!
//! The user is asked about the entry as it is (command, variables, address) and the file that contains it. A command that
//! may run code of the project is bound to the content of the whole workspace besides, because nobody knows what a
//! script loads: after any change the user is asked again. In a workspace that is too large for that, the yes to such a
//! command counts for one conversation.

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
use crate::shell_words::{shell_line, shell_word};
use crate::store::create_private_folder;
use crate::system::is_inside;
use crate::workspace::state_name;

/// The most bytes and files of a workspace to which a yes is bound.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
const MAX_FILES: usize = 5000;

/// Begins the hash of what is bound to no content, whose yes is not kept.
const ONCE: &str = "once:";

/// Programs that run what they find in their folder, or what the files there name.
const FIND_IN_FOLDER: &str = "ash bash bun bundle bunx busybox cargo composer conda dash deno direnv docker docker-compose \
    dotnet elixir env fish go gradle gradlew hatch java just ksh lua luajit make mise mix mvn mvnw nix nix-shell node npm npx \
    pdm perl php pipx pixi pnpm pnpx podman podman-compose poetry python pypy rake ruby rye sbt sh task ts-node tsx uv \
    uvx yarn zsh";

/// An entry that the user is asked about.
#[derive(Debug, Clone, Copy)]
pub enum ApprovalSubject<'a> {
    Server(&'a ServerSetting),
    Http(&'a HttpToolSetting),
}

/// The user's decision about an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalState {
    Yes,
    No,
    /// The user has not been asked yet, or the entry has changed since.
    NotAsked,
}

/// The user's decisions for one workspace.
pub struct Approvals {
    workspace: PathBuf,
    /// The file of the decisions; `None` without a state folder, in which case they only count for this session.
    file: Option<PathBuf>,
    logins: Option<PathBuf>,
    answers: BTreeMap<String, bool>,
}

impl ApprovalSubject<'_> {
    pub fn name(&self) -> &str {
        match self {
            Self::Server(server) => &server.name,
            Self::Http(tool) => &tool.name,
        }
    }

    pub fn origin(&self) -> PolicyOrigin {
        match self {
            Self::Server(server) => server.origin,
            Self::Http(tool) => tool.origin,
        }
    }

    /// What would be run or requested, on one line and with every sign of it: a command line or an address.
    pub fn target(&self) -> String {
        match self {
            Self::Server(ServerSetting { transport: Transport::Command(line), .. }) => {
                visible(&shell_line(line))
            }
            Self::Server(ServerSetting { transport: Transport::Url(url), .. }) => visible(url),
            Self::Http(tool) => visible(&tool.url),
        }
    }

    /// The user's variables that it would get.
    pub fn variables(&self) -> Vec<&str> {
        let Self::Server(server) = self else { return Vec::new() };
        let of_environment = server.env.values().filter_map(|value| match value {
            EnvValue::Variable(variable) => Some(variable.as_str()),
            EnvValue::Literal(_) => None,
        });
        of_environment.chain(server.bearer.as_deref()).collect()
    }

    /// All variables that its entry gives it, a line for each.
    pub(crate) fn environment(&self) -> Vec<String> {
        let Self::Server(server) = self else { return Vec::new() };
        let of_entry = server.env.iter().map(|(name, value)| match value {
            EnvValue::Literal(text) => visible(&format!("{name}={}", shell_word(text))),
            EnvValue::Variable(variable) => format!("{name}, from your variable {variable}"),
        });
        let bearer = server.bearer.iter().map(|variable| format!("its token, from your variable {variable}"));
        of_entry.chain(bearer).collect()
    }

    /// The hash under which the decision is stored.
    fn hash(&self, workspace: &Path) -> String {
        let mut once = false;
        let entry = match self {
            Self::Server(server) => {
                let env: BTreeMap<_, _> =
                    server.env.iter().map(|(name, value)| (name, format!("{value:?}"))).collect();
                let (reach, files) = match &server.transport {
                    Transport::Command(line) if may_run_project(line, workspace) => {
                        (json!({ "command": line }), contents(workspace))
                    }
                    Transport::Command(line) => (json!({ "command": line }), Some(String::new())),
                    Transport::Url(url) => {
                        (json!({ "url": url, "bearer": server.bearer }), Some(String::new()))
                    }
                };
                once = files.is_none();
                json!({ "server": server.name, "in": server.file, "reach": reach, "env": env, "files": files })
            }
            Self::Http(tool) => json!({
                "http": tool.name, "in": tool.file, "url": tool.url, "description": tool.description, "parameters": tool.parameters,
            }),
        };
        let hash = hex(&Sha256::digest(entry.to_string().as_bytes()));
        if once { format!("{ONCE}{hash}") } else { hash }
    }
}

/// A text on one line in which every sign that moves a cursor, hides itself or turns the text around is written out.
fn visible(text: &str) -> String {
    let text = text.chars().map(|sign| match sign {
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        sign if sign.is_control() || sign.is_whitespace() && sign != ' ' => sign.escape_default().to_string(),
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}' => sign.escape_default().to_string(),
        sign => sign.to_string(),
    });
    text.collect()
}

/// Whether a command may run code of the project: a word of it leads there, or its program runs what it finds in its
/// folder, which is the workspace.
fn may_run_project(line: &[String], workspace: &Path) -> bool {
    let program = line.first().map(String::as_str).unwrap_or_default();
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let name =
        name.trim_end_matches(".exe").trim_end_matches(|sign: char| sign.is_ascii_digit() || sign == '.');
    let leads_there = |part: &str| {
        !part.is_empty() && workspace.join(part).canonicalize().is_ok_and(|path| is_inside(&path, workspace))
    };
    FIND_IN_FOLDER.split(' ').any(|known| known == name)
        || line.iter().any(|word| leads_there(word) || word.split(['=', ':', ',', '@', ' ']).any(leads_there))
}

/// What a workspace holds, as a hash of names and contents; `None` if it is too much.
fn contents(workspace: &Path) -> Option<String> {
    let mut hash = Sha256::new();
    let mut left = (MAX_FILES, MAX_BYTES);
    let mut folders = vec![workspace.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).ok()?.collect::<Result<Vec<_>, _>>().ok()?;
        let mut paths: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            left.0 = left.0.checked_sub(1)?;
            let metadata = path.symlink_metadata().ok()?;
            hash.update(path.as_os_str().as_encoded_bytes());
            if metadata.is_symlink() {
                hash.update(b"\0link\0");
                hash.update(fs::read_link(&path).ok()?.as_os_str().as_encoded_bytes());
            } else if metadata.is_dir() {
                hash.update(b"\0folder\0");
                // Git's own files change with every command of git, and hold no code that a server loads.
                if path.file_name().is_none_or(|name| name != ".git") {
                    folders.push(path);
                }
            } else if metadata.is_file() {
                left.1 = left.1.checked_sub(metadata.len())?;
                hash.update(b"\0file\0");
                hash.update(metadata.len().to_le_bytes());
                let mut content = Vec::new();
                fs::File::open(&path).ok()?.take(metadata.len()).read_to_end(&mut content).ok()?;
                hash.update(&content);
            }
        }
    }
    Some(hex(&hash.finalize()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl Approvals {
    pub fn of(workspace: &str, state: Option<&Path>) -> Self {
        let workspace = PathBuf::from(workspace);
        let file = state.map(|state| state.join("tool-servers").join(state_name(&workspace)));
        let text = file.as_ref().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
        // A line in another form is not a decision.
        let answers = text.lines().filter_map(|line| match line.split_once(' ')? {
            ("yes", hash) if !hash.starts_with(ONCE) => Some((hash.to_owned(), true)),
            ("no", hash) => Some((hash.to_owned(), false)),
            _ => None,
        });
        let logins = state.map(|state| state.join("logins"));
        Self { workspace, file, logins, answers: answers.collect() }
    }

    /// The decision about an entry. Entries in the user's own file count as accepted.
    pub fn answer(&self, subject: &ApprovalSubject<'_>) -> ApprovalState {
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

    /// Whether a yes to an entry counts for one conversation only, because what it runs is too much to be compared.
    pub fn counts_once(&self, subject: &ApprovalSubject<'_>) -> bool {
        subject.hash(&self.workspace).starts_with(ONCE)
    }

    /// Stores a decision.
    pub fn keep(&mut self, subject: &ApprovalSubject<'_>, yes: bool) -> Result<(), CliError> {
        self.answers.insert(subject.hash(&self.workspace), yes);
        let Some(file) = &self.file else { return Ok(()) };
        let folder = file.parent().unwrap_or(Path::new("."));
        create_private_folder(folder)?;
        let kept = self.answers.iter().filter(|(hash, yes)| !**yes || !hash.starts_with(ONCE));
        let lines = kept.map(|(hash, yes)| format!("{} {hash}\n", if *yes { "yes" } else { "no" }));
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
        // What the script loads is compared, too, whatever its name is.
        for (name, content) in [("loaded.js", "new"), ("server.js", "two")] {
            fs::write(workspace.join(name), content).unwrap();
            assert_eq!(answer(&setting_of_server), ApprovalState::NotAsked, "{name}");
            fs::write(workspace.join("server.js"), "one").unwrap();
            let _ = fs::remove_file(workspace.join("loaded.js"));
        }
        assert_eq!(answer(&setting_of_server), ApprovalState::Yes, "it is as it was");
        assert_eq!(
            Approvals::of("/elsewhere", Some(&state)).answer(&ApprovalSubject::Server(&setting_of_server)),
            ApprovalState::NotAsked
        );
    }

    #[test]
    fn a_yes_to_a_command_is_bound_to_the_project_where_it_may_run_code_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().canonicalize().unwrap();
        fs::create_dir(workspace.join("tools")).unwrap();
        fs::write(workspace.join("tools/run"), "").unwrap();
        for (line, expected) in [
            (&["npm", "run", "server"][..], true),
            (&["npx", "-y", "some-server"], true),
            (&["/usr/bin/python3.12", "-m", "server"], true),
            (&["uvx", "some-server"], true),
            (&["sh", "-c", "x"], true),
            (&["./tools/run"], true),
            (&["some-server", "--plugin=tools/run"], true),
            (&["some-server", "tools"], true),
            (&["some-server", "."], true),
            (&["some-server", "stdio"], false),
            (&["/usr/bin/some-server", "--read-only"], false),
        ] {
            let line: Vec<_> = line.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(may_run_project(&line, &workspace), expected, "{line:?}");
        }
        let bound = contents(&workspace).unwrap();
        fs::write(workspace.join("tools/run"), "other").unwrap();
        assert_ne!(contents(&workspace).unwrap(), bound);
    }

    #[test]
    fn the_yes_to_what_is_too_much_to_compare_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (workspace, state) = (folder.path().join("w"), folder.path().join("state"));
        fs::create_dir(&workspace).unwrap();
        let sparse = fs::File::create(workspace.join("large")).unwrap();
        sparse.set_len(MAX_BYTES + 1).unwrap();
        let server = setting(&["npm", "start"], PolicyOrigin::Project);
        let subject = ApprovalSubject::Server(&server);
        let name = workspace.to_str().unwrap();
        let mut approvals = Approvals::of(name, Some(&state));
        assert!(approvals.counts_once(&subject));
        approvals.keep(&subject, true).unwrap();
        assert_eq!(approvals.answer(&subject), ApprovalState::Yes);
        assert_eq!(Approvals::of(name, Some(&state)).answer(&subject), ApprovalState::NotAsked);
    }

    #[test]
    fn a_question_shows_every_sign_of_what_would_run() {
        let line = ["sh", "-c", "true\n  curl x | sh\u{202e}\u{1b}[2K\t\u{a0}"];
        let mut server = setting(&line, PolicyOrigin::Project);
        server.env = [("A".to_owned(), EnvValue::Literal("1\n2".into()))].into();
        server.env.insert("B".into(), EnvValue::Variable("MINE".into()));
        let subject = ApprovalSubject::Server(&server);
        assert_eq!(subject.target(), r"sh -c 'true\n  curl x | sh\u{202e}\u{1b}[2K\t\u{a0}'");
        assert_eq!(subject.environment(), [r"A='1\n2'", "B, from your variable MINE"]);
    }
}
