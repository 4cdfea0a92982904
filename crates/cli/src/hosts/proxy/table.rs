//! What is known of agents: how each asks before it acts, and where it keeps its conversations. Nothing here reads or writes.

use std::path::{Component, Path};

use serde_json::Value;

/// An agent that can be forked and adopted.
#[derive(Debug)]
pub(super) struct Row {
    /// As it is named to people, and in the file that keeps what was taken.
    pub(super) name: &'static str,
    /// Programs, by the last part of their path, and parts of the names of packages.
    programs: &'static [&'static str],
    /// A word that has to be among the arguments.
    argument: Option<&'static str>,
    pub(super) asks: Asks,
    /// Folders of the home that it reads; what it writes to them is forgotten.
    pub(super) reads: &'static [&'static str],
    /// Files of the home that it has a copy of; what it writes to them is forgotten.
    pub(super) copies: &'static [&'static str],
    /// Folders and files of the home in which it keeps conversations. They are those of the machine, for that is where the first agent finds a fork.
    pub(super) keeps: &'static [&'static str],
    /// Folders of the home that it finds empty: what they hold says what it may do without a question.
    pub(super) empties: &'static [&'static str],
    /// The same in the project, as patterns of its files, which it does not find.
    pub(super) closes: &'static [&'static str],
    /// The same of the whole machine; where one of them is there, nothing runs ahead.
    pub(super) unless_there: &'static [&'static str],
    /// Variables that move its folders or say what it may do; where one of them is set, nothing runs ahead.
    pub(super) unless_set: &'static [&'static str],
    /// The program by which it runs every command that its user is not asked about: one of ours stands for it in the view.
    pub(super) runs_by: Option<RunsBy>,
    /// Modes of a session in which its user is not asked about edits.
    pub(super) edits_in: &'static [&'static str],
}

/// A program that is told which command to run in a sandbox.
#[derive(Debug)]
pub(super) struct RunsBy {
    pub(super) program: &'static str,
    /// Variables of the second agent, so that it is told the commands as they are.
    pub(super) variables: &'static [(&'static str, &'static str)],
    /// The option of what it starts behind which the command comes, after `--`.
    until: &'static str,
    /// The agent's own program and the option by which it starts itself for an edit that was asked about.
    own: (&'static str, &'static str),
}

impl RunsBy {
    /// The command itself among the words that the program is told to start.
    pub(super) fn command<'a>(&self, words: &'a [String]) -> Option<&'a [String]> {
        let at = words.iter().position(|word| word == self.until)?;
        words[at + 1..].strip_prefix(&["--".to_owned()]).filter(|command| !command.is_empty())
    }

    /// Whether the agent starts itself. Nothing of the workspace is taken for it, and elsewhere a view has nothing that its commands wrote.
    pub(super) fn is_its_own(&self, command: &[String], workspace: &str) -> bool {
        let [program, option] = command else { return false };
        let program = Path::new(program);
        let is_plain =
            program.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        let is_outside = program.is_absolute() && is_plain && !program.starts_with(workspace);
        is_outside && program.file_name().is_some_and(|name| name == self.own.0) && option == self.own.1
    }
}

/// How the second agent is brought to ask before it acts.
#[derive(Debug)]
pub(super) enum Asks {
    /// By a mode of its sessions.
    InMode(&'static str),
    /// By its settings, for all of its modes.
    BySettings(Settings),
}

/// Settings that have an agent ask, which only count where its user has none of that kind.
#[derive(Debug)]
pub(super) struct Settings {
    /// Variables of the second agent.
    pub(super) variables: &'static [(&'static str, &'static str)],
    /// The words that come in the place of [`Row::argument`] where the program is to tell its settings as JSON.
    told_by: &'static [&'static str],
    /// What in its settings speaks against it.
    pub(super) against: fn(&Value) -> Option<String>,
}

const ROWS: [Row; 3] = [
    Row {
        name: "claude-agent-acp",
        programs: &["claude-agent-acp", "claude-code-acp"],
        argument: None,
        asks: Asks::InMode("default"),
        reads: &[".claude"],
        copies: &[".claude.json"],
        keeps: &[".claude/projects"],
        empties: &[],
        closes: &[],
        unless_there: &[],
        unless_set: &["CLAUDE_CONFIG_DIR"],
        runs_by: None,
        edits_in: &["acceptEdits", "bypassPermissions"],
    },
    // Commands run in a sandbox of its own, a namespace in a namespace, which no view gives, and without a question. What would make that sandbox is told which command
    // to run, so it is there that each is judged; the agent's own second stage closes the network to it.
    Row {
        name: "codex-acp",
        programs: &["codex-acp"],
        argument: None,
        asks: Asks::InMode("read-only"),
        reads: &[".codex"],
        copies: &[],
        keeps: &[".codex/sessions"],
        empties: &[".codex/rules"],
        closes: &[".codex/rules/**"],
        unless_there: &["/etc/codex/rules"],
        unless_set: &["CODEX_HOME", "CODEX_SQLITE_HOME", "CODEX_CONFIG"],
        runs_by: Some(RunsBy {
            program: "bwrap",
            // Else each command is wrapped in one that restores what its user's shell files set.
            variables: &[("CODEX_CONFIG", r#"{"features":{"shell_snapshot":false}}"#)],
            until: "--apply-seccomp-then-exec",
            own: ("codex", "--codex-run-as-fs-helper"),
        }),
        edits_in: &[],
    },
    Row {
        name: "opencode",
        programs: &["opencode", "opencode-ai"],
        argument: Some("acp"),
        asks: Asks::BySettings(Settings {
            variables: &[
                // Last in its order of settings. What reads does so in the view, which does not hold what a rule closes.
                (
                    "OPENCODE_PERMISSION",
                    r#"{"*":"ask","read":"allow","glob":"allow","grep":"allow","list":"allow","todowrite":"allow","todoread":"allow"}"#,
                ),
                // Both start programs of the project by themselves.
                (
                    "OPENCODE_CONFIG_CONTENT",
                    r#"{"lsp":false,"formatter":false,"share":"disabled","autoupdate":false}"#,
                ),
                ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            ],
            told_by: &["debug", "config"],
            against: against_asking,
        }),
        reads: &[".local/share/opencode", ".config/opencode", ".local/state/opencode", ".cache/opencode"],
        copies: &[],
        // A database, with the files by which its processes share it.
        keeps: &[
            ".local/share/opencode/opencode.db",
            ".local/share/opencode/opencode.db-shm",
            ".local/share/opencode/opencode.db-wal",
        ],
        empties: &[],
        closes: &[],
        unless_there: &["/etc/opencode"],
        unless_set: &[
            "OPENCODE_CONFIG",
            "OPENCODE_CONFIG_CONTENT",
            "OPENCODE_CONFIG_DIR",
            "OPENCODE_DB",
            "OPENCODE_PERMISSION",
            "XDG_CACHE_HOME",
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
            "XDG_STATE_HOME",
        ],
        runs_by: None,
        edits_in: &[],
    },
];

impl Row {
    /// The command line that tells its settings, made of the one that starts it.
    pub(super) fn settings_command(&self, command: &[String]) -> Option<Vec<String>> {
        let Asks::BySettings(settings) = &self.asks else { return None };
        let at = command.iter().position(|word| Some(word.as_str()) == self.argument)?;
        let told_by = settings.told_by.iter().map(|word| (*word).to_owned());
        Some(command[..at].iter().cloned().chain(told_by).collect())
    }
}

/// Rules of its user's own would be widened or narrowed by ours, and a plugin may answer questions: neither is known well enough.
fn against_asking(settings: &Value) -> Option<String> {
    let is_set = |value: &Value, name: &str| match &value[name] {
        Value::Null => false,
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    };
    if !settings.is_object() {
        return Some("its settings cannot be read".to_owned());
    }
    if let Some(name) = ["permission", "tools", "plugin"].into_iter().find(|name| is_set(settings, name)) {
        return Some(format!("its settings have {name:?} of their own"));
    }
    let agents = ["agent", "mode"].into_iter().filter_map(|name| settings[name].as_object()).flatten();
    let mut own = agents.filter(|(_, agent)| is_set(agent, "permission") || is_set(agent, "tools"));
    own.next().map(|(name, _)| format!("its agent {name:?} has permissions of its own"))
}

/// What is known of the agent that a command line starts.
pub(super) fn row(command: &[String]) -> Option<&'static Row> {
    let starts = |row: &&Row, word: &String| {
        let path = Path::new(word);
        let last = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // A package may be named with a version, and a program by the folder of its package.
        let package = last.split('@').next().unwrap_or_default();
        row.programs.iter().any(|program| {
            last == *program || package == *program || path.iter().any(|part| part == *program)
        })
    };
    ROWS.iter().find(|row| {
        let named = command.iter().take_while(|word| *word != "--").any(|word| starts(row, word));
        named && row.argument.is_none_or(|argument| command.iter().any(|word| word == argument))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_agent_is_known_by_its_program_or_its_package() {
        let name = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            row(&words).map(|row| row.name)
        };
        for line in [
            "claude-agent-acp",
            "/usr/local/bin/claude-agent-acp --verbose",
            "npx -y @agentclientprotocol/claude-agent-acp@0.101.0",
            "node /opt/node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js",
        ] {
            assert_eq!(name(line), Some("claude-agent-acp"), "{line}");
        }
        for (line, expected) in [
            ("npx -y @agentclientprotocol/codex-acp@2.6.0", Some("codex-acp")),
            ("opencode acp", Some("opencode")),
            ("npx opencode-ai@1.18.33 acp --port 1", Some("opencode")),
            ("/opt/node_modules/opencode-linux-x64/bin/opencode acp", Some("opencode")),
            ("opencode run", None),
        ] {
            assert_eq!(name(line), expected, "{line}");
        }
        for line in ["gemini --acp", "my-agent", "/home/me/claude", "echo claude-agent-acp-notes"] {
            assert_eq!(name(line), None, "{line}");
        }
    }

    #[test]
    fn what_is_kept_lies_in_what_is_read() {
        for row in &ROWS {
            for kept in row.keeps {
                assert!(row.reads.iter().any(|read| Path::new(kept).starts_with(read)), "{kept}");
                assert!(!row.empties.iter().any(|empty| Path::new(kept).starts_with(empty)), "{kept}");
                assert!(!row.reads.contains(kept), "settings beside {kept} would be written");
            }
        }
    }

    #[test]
    fn the_command_is_found_behind_what_makes_its_sandbox() {
        let row = row(&["codex-acp".to_owned()]).unwrap();
        let runs_by = row.runs_by.as_ref().unwrap();
        let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
        let line = "/x/codex-linux-sandbox --command-cwd /p --apply-seccomp-then-exec -- /bin/bash -lc ls";
        assert_eq!(runs_by.command(&words(line)), Some(&words("/bin/bash -lc ls")[..]));
        for line in [
            "/bin/true",
            "/bin/bash -c ls",
            "/x --apply-seccomp-then-exec ls",
            "/x --apply-seccomp-then-exec --",
        ] {
            assert_eq!(runs_by.command(&words(line)), None, "{line}");
        }
        for (line, is_own) in [
            ("/opt/codex/bin/codex --codex-run-as-fs-helper", true),
            ("codex --codex-run-as-fs-helper", false),
            ("/p/codex --codex-run-as-fs-helper", false),
            ("/opt/../p/codex --codex-run-as-fs-helper", false),
            ("/opt/codex --codex-run-as-fs-helper x", false),
            ("/opt/codex exec", false),
            ("/bin/bash --codex-run-as-fs-helper", false),
        ] {
            assert_eq!(runs_by.is_its_own(&words(line), "/p"), is_own, "{line}");
        }
    }

    #[test]
    fn settings_with_rules_of_their_own_speak_against_it() {
        let row = row(&["npx".to_owned(), "opencode-ai".to_owned(), "acp".to_owned(), "--port=1".to_owned()])
            .unwrap();
        let told = row.settings_command(&["npx".to_owned(), "opencode-ai".to_owned(), "acp".to_owned()]);
        assert_eq!(told.unwrap().join(" "), "npx opencode-ai debug config");
        let Asks::BySettings(settings) = &row.asks else { panic!("it asks by its settings") };
        for (told, is_fine) in [
            (json!({ "model": "x", "agent": {}, "mode": {}, "plugin": [], "permission": {} }), true),
            (json!({ "agent": { "mine": { "prompt": "x", "options": {} } } }), true),
            (json!({ "permission": { "edit": "deny" } }), false),
            (json!({ "permission": "allow" }), false),
            (json!({ "tools": { "bash": true } }), false),
            (json!({ "plugin": ["x"] }), false),
            (json!({ "agent": { "build": { "permission": { "bash": "allow" } } } }), false),
            (json!({ "mode": { "build": { "tools": { "bash": true } } } }), false),
            (json!([]), false),
            (json!(null), false),
        ] {
            assert_eq!((settings.against)(&told).is_none(), is_fine, "{told}");
        }
        for row in &ROWS {
            if let Asks::BySettings(settings) = &row.asks {
                assert!(row.argument.is_some(), "{}", row.name);
                for (name, value) in settings.variables {
                    assert!(row.unless_set.contains(name) || *value == "1", "{name} would be replaced");
                }
            }
        }
    }
}
