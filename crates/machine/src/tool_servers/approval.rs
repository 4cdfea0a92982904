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
use std::path::{Path, PathBuf};

use headstart_tool_gate::PolicyOrigin;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::project_code;
use crate::config::{EnvValue, HttpToolSetting, ServerSetting, Transport};
use crate::error::CliError;
use crate::shell_words::{shell_line, shell_word};
use crate::store::create_private_folder;
use crate::workspace::state_name;

/// Begins the hash of what is bound to no content, whose yes is not kept.
const ONCE: &str = "once:";

/// The most signs of an entry of a project: with its question it fits a screen, so that nothing of it has scrolled away
/// when the user answers.
const MAX_SHOWN: usize = 1000;
const MAX_SHOWN_LINES: usize = 12;

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

/// An entry with all that its command may run, as it was when the user was asked.
pub struct ApprovalQuestion(String);

/// The user's decisions for one workspace.
#[derive(Clone)]
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
    fn environment(&self) -> Vec<String> {
        let Self::Server(server) = self else { return Vec::new() };
        let of_entry = server.env.iter().map(|(name, value)| match value {
            EnvValue::Literal(text) => visible(&format!("{name}={}", shell_word(text))),
            EnvValue::Variable(variable) => format!("{name}, from your variable {variable}"),
        });
        let bearer = server.bearer.iter().map(|variable| format!("its token, from your variable {variable}"));
        of_entry.chain(bearer).collect()
    }

    /// All that the user is asked about: what would be run or requested, and a line for each variable.
    pub fn shown(&self) -> String {
        let variables = self.environment();
        let mut text = format!("{}: {}\n", self.name(), self.target());
        if !variables.is_empty() {
            text.push_str("  It gets these variables:\n");
            text.extend(variables.iter().map(|variable| format!("    {variable}\n")));
        }
        text
    }

    /// Whether an entry of a project is more than a screen holds, so that nobody can agree to it there.
    pub fn is_too_long_to_show(&self) -> bool {
        let shown = self.shown();
        self.origin() == PolicyOrigin::Project
            && (MAX_SHOWN < shown.chars().count() || MAX_SHOWN_LINES < shown.lines().count())
    }

    /// The hash under which the decision is stored.
    fn hash(&self, workspace: &Path) -> String {
        let mut once = false;
        let entry = match self {
            Self::Server(server) => {
                let env: BTreeMap<_, _> =
                    server.env.iter().map(|(name, value)| (name, format!("{value:?}"))).collect();
                let (reach, files) = match &server.transport {
                    Transport::Command(line) if project_code::may_run(line, workspace) => {
                        (json!({ "command": line }), project_code::contents(line, workspace))
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

/// A text on one line in which every sign that is not of ASCII is written out: some move a cursor, hide themselves or turn
/// the text around, and some look like a letter of ASCII (`nodе`, with a Cyrillic е).
fn visible(text: &str) -> String {
    let sign = |sign: char| {
        if sign == ' ' || sign.is_ascii_graphic() {
            sign.to_string()
        } else {
            sign.escape_default().to_string()
        }
    };
    text.chars().map(sign).collect()
}

pub(super) fn hex(bytes: &[u8]) -> String {
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
        let answers = file.as_deref().map(read).unwrap_or_default();
        let logins = state.map(|state| state.join("logins"));
        Self { workspace, file, logins, answers }
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

    /// What the user is asked about now. The answer is about this, whatever changes while they read.
    pub fn question(&self, subject: &ApprovalSubject<'_>) -> ApprovalQuestion {
        ApprovalQuestion(subject.hash(&self.workspace))
    }

    /// Stores a decision.
    pub fn keep(&mut self, question: ApprovalQuestion, yes: bool) -> Result<(), CliError> {
        self.answers.insert(question.0, yes);
        let Some(file) = &self.file else { return Ok(()) };
        let folder = file.parent().unwrap_or(Path::new("."));
        create_private_folder(folder)?;
        let kept = self.answers.iter().filter(|(hash, yes)| !**yes || !hash.starts_with(ONCE));
        let lines = kept.map(|(hash, yes)| format!("{} {hash}\n", if *yes { "yes" } else { "no" }));
        fs::write(file, lines.collect::<String>()).map_err(CliError::io("write", file))
    }

    /// The decisions as they stand now, those of another process among them.
    pub(super) fn reread(&self) -> Self {
        let Some(file) = &self.file else { return self.clone() };
        let mut now = Self { answers: read(file), ..self.clone() };
        let once = self.answers.iter().filter(|(hash, _)| hash.starts_with(ONCE));
        now.answers.extend(once.map(|(hash, yes)| (hash.clone(), *yes)));
        now
    }
}

impl ApprovalQuestion {
    /// Whether a yes counts for one conversation only, because what would run is too much to be compared.
    pub fn counts_once(&self) -> bool {
        self.0.starts_with(ONCE)
    }
}

/// The decisions that a file keeps. A line in another form is not a decision.
fn read(file: &Path) -> BTreeMap<String, bool> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let answers = text.lines().filter_map(|line| match line.split_once(' ')? {
        ("yes", hash) if !hash.starts_with(ONCE) => Some((hash.to_owned(), true)),
        ("no", hash) => Some((hash.to_owned(), false)),
        _ => None,
    });
    answers.collect()
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
        let asked = approvals.question(&ApprovalSubject::Server(&setting_of_server));
        approvals.keep(asked, true).unwrap();

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
    fn the_yes_to_what_is_too_much_to_compare_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (workspace, state) = (folder.path().join("w"), folder.path().join("state"));
        fs::create_dir(&workspace).unwrap();
        let sparse = fs::File::create(workspace.join("large")).unwrap();
        sparse.set_len(project_code::MAX_BYTES + 1).unwrap();
        let server = setting(&["npm", "start"], PolicyOrigin::Project);
        let subject = ApprovalSubject::Server(&server);
        let name = workspace.to_str().unwrap();
        let mut approvals = Approvals::of(name, Some(&state));
        let asked = approvals.question(&subject);
        assert!(asked.counts_once());
        approvals.keep(asked, true).unwrap();
        assert_eq!(approvals.answer(&subject), ApprovalState::Yes);
        assert_eq!(Approvals::of(name, Some(&state)).answer(&subject), ApprovalState::NotAsked);
    }

    #[test]
    fn a_question_shows_every_sign_of_what_would_run() {
        let line = ["sh", "-c", "true\n  curl x | sh\u{202e}\u{1b}[2K\t\u{a0}"];
        let mut server = setting(&line, PolicyOrigin::Project);
        server.env = [("A".to_owned(), EnvValue::Literal("1\n2".into()))].into();
        server.env.insert("B".into(), EnvValue::Variable("MINE".into()));
        let shown = ApprovalSubject::Server(&server).shown();
        let expected = [
            r"x: sh -c 'true\n  curl x | sh\u{202e}\u{1b}[2K\t\u{a0}'",
            "  It gets these variables:",
            r"    A='1\n2'",
            "    B, from your variable MINE",
        ];
        assert_eq!(shown.lines().collect::<Vec<_>>(), expected);
        // What is not seen, what turns a text around, and what looks like something else.
        for sign in "\u{7}\u{8}\r\u{7f}\u{9b}\u{85}\u{ad}\u{34f}\u{61c}\u{115f}\u{17b4}\u{180e}\u{200b}\u{200d}\u{2028}\u{2066}\u{2800}\u{3164}\u{fe0f}\u{feff}\u{ffa0}\u{1d173}\u{e0061}еο℮ｅ𝐞ı".chars() {
            let server = setting(&["nod", &format!("x{sign}y")], PolicyOrigin::Project);
            let shown = ApprovalSubject::Server(&server).shown();
            assert!(shown.trim_end().chars().all(|sign| sign.is_ascii_graphic() || sign == ' '), "{shown:?}");
            assert!(shown.contains(&sign.escape_default().to_string()), "{shown:?}");
        }
        let url = ServerSetting { transport: Transport::Url("https://gіthub.com/x".into()), ..server };
        assert!(ApprovalSubject::Server(&url).shown().contains(r"https://g\u{456}thub.com/x"));
    }

    /// Where a question scrolls away, its user does not see what they agree to.
    #[test]
    fn an_entry_that_no_screen_holds_is_not_asked_about() {
        let long = "x".repeat(MAX_SHOWN);
        let project = |line: &[&str]| setting(line, PolicyOrigin::Project);
        let with = |count: usize| ServerSetting {
            env: (0..count).map(|at| (format!("V{at}"), EnvValue::Literal("1".into()))).collect(),
            ..project(&["a"])
        };
        for (server, expected) in [
            (project(&["sh", "-c", "curl x | sh", &long]), true),
            (project(&["sh", "-c", "curl x | sh", &" ".repeat(MAX_SHOWN)]), true),
            (with(MAX_SHOWN_LINES), true),
            (with(4), false),
            (project(&["npx", "-y", "some-server"]), false),
            (setting(&["mine", &long], PolicyOrigin::User), false),
        ] {
            assert_eq!(ApprovalSubject::Server(&server).is_too_long_to_show(), expected, "{server:?}");
        }
    }

    #[test]
    fn an_answer_is_about_what_was_asked_though_it_changes_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let (workspace, state) = (folder.path().join("w"), folder.path().join("state"));
        fs::create_dir(&workspace).unwrap();
        fs::write(workspace.join("server.js"), "one").unwrap();
        let server = setting(&["node", "server.js"], PolicyOrigin::Project);
        let subject = ApprovalSubject::Server(&server);
        let name = workspace.to_str().unwrap();
        let mut approvals = Approvals::of(name, Some(&state));
        let asked = approvals.question(&subject);
        fs::write(workspace.join("server.js"), "two").unwrap();
        approvals.keep(asked, true).unwrap();
        assert_eq!(approvals.answer(&subject), ApprovalState::NotAsked);
        // What another process was told since counts as well.
        let mut other = Approvals::of(name, Some(&state));
        let asked = other.question(&subject);
        other.keep(asked, true).unwrap();
        assert_eq!(approvals.answer(&subject), ApprovalState::NotAsked);
        assert_eq!(approvals.reread().answer(&subject), ApprovalState::Yes);
        fs::write(workspace.join("server.js"), "one").unwrap();
        assert_eq!(approvals.reread().answer(&subject), ApprovalState::Yes, "both answers are kept");
    }
}
