//! What is known of agents: how each is made to ask before it acts, and where it stores its conversations. Nothing here
//! does IO.

use std::path::{Component, Path};

use serde_json::Value;

/// An agent that can be forked, and can load the fork later.
#[derive(Debug)]
pub(super) struct AgentProfile {
    /// The name for people, and for the file with the stored forks.
    pub(super) name: &'static str,
    /// Names of programs (the last part of their path), and parts of the names of packages.
    programs: &'static [&'static str],
    /// An argument that the command line must have.
    argument: Option<&'static str>,
    pub(super) ask_method: AskMethod,
    /// Folders of the home folder that the agent reads. What it writes to them is discarded.
    pub(super) reads: &'static [&'static str],
    /// Files of the home folder that the agent gets a copy of. What it writes to them is discarded.
    pub(super) copies: &'static [&'static str],
    /// Folders and files of the home folder in which the agent stores conversations. They are not copies, because the
    /// first agent must find a fork there.
    pub(super) keeps: &'static [&'static str],
    /// Folders of the home folder that are empty in the view, because their content says what the agent may do without
    /// a question.
    pub(super) empties: &'static [&'static str],
    /// Patterns of such files in the project, which are hidden in the view.
    pub(super) closes: &'static [&'static str],
    /// Such files of the whole machine. If one of them exists, nothing runs ahead.
    pub(super) unless_there: &'static [&'static str],
    /// Variables that move the agent's folders or say what it may do. If one of them is set, nothing runs ahead.
    pub(super) unless_set: &'static [&'static str],
    /// The program by which the agent runs every command that its user is not asked about. In the view a program of
    /// headstart's replaces it.
    pub(super) sandbox: Option<CommandSandbox>,
    /// Modes of a session in which the user is not asked about edits.
    pub(super) edits_in: &'static [&'static str],
}

/// A program that runs a command in a sandbox.
#[derive(Debug)]
pub(super) struct CommandSandbox {
    pub(super) program: &'static str,
    /// Variables of the second agent that make it pass commands unchanged.
    pub(super) variables: &'static [(&'static str, &'static str)],
    /// The option of the inner program that is followed by `--` and the command.
    until: &'static str,
    /// The agent's own program, and the option with which it starts itself for an edit that was asked about.
    own: (&'static str, &'static str),
}

impl CommandSandbox {
    /// The command among the words that the program is told to start.
    pub(super) fn command<'a>(&self, words: &'a [String]) -> Option<&'a [String]> {
        let at = words.iter().position(|word| word == self.until)?;
        words[at + 1..].strip_prefix(&["--".to_owned()]).filter(|command| !command.is_empty())
    }

    /// Whether the command is the agent itself. A program in the workspace never counts, and outside the workspace a
    /// view has no files that the agent's commands wrote.
    pub(super) fn is_its_own(&self, command: &[String], workspace: &str) -> bool {
        let [program, option] = command else { return false };
        let program = Path::new(program);
        let is_plain =
            program.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        let is_outside = program.is_absolute() && is_plain && !program.starts_with(workspace);
        is_outside && program.file_name().is_some_and(|name| name == self.own.0) && option == self.own.1
    }
}

/// How the second agent is made to ask before it acts.
#[derive(Debug)]
pub(super) enum AskMethod {
    /// With this mode of its sessions.
    InMode(&'static str),
    /// With settings that count in all modes.
    BySettings(AskSettings),
}

/// Settings that make an agent ask. They only have an effect if the user has no settings of that kind.
#[derive(Debug)]
pub(super) struct AskSettings {
    /// Variables of the second agent.
    pub(super) variables: &'static [(&'static str, &'static str)],
    /// The words that replace [`AgentProfile::argument`] so that the program prints its settings as JSON.
    report_arguments: &'static [&'static str],
    /// Says why the agent's settings prevent that it asks; `None` if they do not.
    pub(super) against: fn(&Value) -> Option<String>,
}

const PROFILES: [AgentProfile; 3] = [
    AgentProfile {
        name: "claude-agent-acp",
        programs: &["claude-agent-acp", "claude-code-acp"],
        argument: None,
        ask_method: AskMethod::InMode("default"),
        reads: &[".claude"],
        copies: &[".claude.json"],
        keeps: &[".claude/projects"],
        empties: &[],
        closes: &[],
        unless_there: &[],
        unless_set: &["CLAUDE_CONFIG_DIR"],
        sandbox: None,
        edits_in: &["acceptEdits", "bypassPermissions"],
    },
    // This agent runs commands without a question in a sandbox of its own, a namespace in a namespace, which is not
    // possible in a view. The program that would make the sandbox is told which command to run, so each command is
    // judged there; the second stage of the agent's sandbox keeps the command from the network.
    AgentProfile {
        name: "codex-acp",
        programs: &["codex-acp"],
        argument: None,
        ask_method: AskMethod::InMode("read-only"),
        reads: &[".codex"],
        copies: &[],
        keeps: &[".codex/sessions"],
        empties: &[".codex/rules"],
        closes: &[".codex/rules/**"],
        unless_there: &["/etc/codex/rules"],
        unless_set: &["CODEX_HOME", "CODEX_SQLITE_HOME", "CODEX_CONFIG"],
        sandbox: Some(CommandSandbox {
            program: "bwrap",
            // Without this setting each command is wrapped in another one that restores what the user's shell files
            // set.
            variables: &[("CODEX_CONFIG", r#"{"features":{"shell_snapshot":false}}"#)],
            until: "--apply-seccomp-then-exec",
            own: ("codex", "--codex-run-as-fs-helper"),
        }),
        edits_in: &[],
    },
    AgentProfile {
        name: "opencode",
        programs: &["opencode", "opencode-ai"],
        argument: Some("acp"),
        ask_method: AskMethod::BySettings(AskSettings {
            variables: &[
                // This variable comes last in the agent's order of settings. Tools that read do so in the view, which
                // does not contain what a rule closes.
                (
                    "OPENCODE_PERMISSION",
                    r#"{"*":"ask","read":"allow","glob":"allow","grep":"allow","list":"allow","todowrite":"allow","todoread":"allow"}"#,
                ),
                // These features start programs of the project without a question.
                (
                    "OPENCODE_CONFIG_CONTENT",
                    r#"{"lsp":false,"formatter":false,"share":"disabled","autoupdate":false}"#,
                ),
                ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            ],
            report_arguments: &["debug", "config"],
            against: conflicting_setting,
        }),
        reads: &[".local/share/opencode", ".config/opencode", ".local/state/opencode", ".cache/opencode"],
        copies: &[],
        // A database, with the files through which its processes share it.
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
        sandbox: None,
        edits_in: &[],
    },
];

impl AgentProfile {
    /// The command line that prints the agent's settings, made from the one that starts the agent.
    pub(super) fn settings_command(&self, command: &[String]) -> Option<Vec<String>> {
        let AskMethod::BySettings(settings) = &self.ask_method else { return None };
        let at = command.iter().position(|word| Some(word.as_str()) == self.argument)?;
        let report_arguments = settings.report_arguments.iter().map(|word| (*word).to_owned());
        Some(command[..at].iter().cloned().chain(report_arguments).collect())
    }
}

/// Refuses if the user has permission rules of their own, because ours would widen or narrow them, or has plugins,
/// because a plugin may answer questions. Neither effect is known well enough.
fn conflicting_setting(settings: &Value) -> Option<String> {
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

/// The row of the agent that a command line starts.
pub(super) fn profile_of(command: &[String]) -> Option<&'static AgentProfile> {
    let starts = |profile: &&AgentProfile, word: &String| {
        let path = Path::new(word);
        let last = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // A package may be named with a version, and a program by the folder of its package.
        let package = last.split('@').next().unwrap_or_default();
        profile.programs.iter().any(|program| {
            last == *program || package == *program || path.iter().any(|part| part == *program)
        })
    };
    PROFILES.iter().find(|profile| {
        let named = command.iter().take_while(|word| *word != "--").any(|word| starts(profile, word));
        named && profile.argument.is_none_or(|argument| command.iter().any(|word| word == argument))
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
            profile_of(&words).map(|profile| profile.name)
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
        for profile in &PROFILES {
            for kept in profile.keeps {
                assert!(profile.reads.iter().any(|read| Path::new(kept).starts_with(read)), "{kept}");
                assert!(!profile.empties.iter().any(|empty| Path::new(kept).starts_with(empty)), "{kept}");
                assert!(!profile.reads.contains(kept), "settings beside {kept} would be written");
            }
        }
    }

    #[test]
    fn the_command_is_found_behind_what_makes_its_sandbox() {
        let profile = profile_of(&["codex-acp".to_owned()]).unwrap();
        let sandbox = profile.sandbox.as_ref().unwrap();
        let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
        let line = "/x/codex-linux-sandbox --command-cwd /p --apply-seccomp-then-exec -- /bin/bash -lc ls";
        assert_eq!(sandbox.command(&words(line)), Some(&words("/bin/bash -lc ls")[..]));
        for line in [
            "/bin/true",
            "/bin/bash -c ls",
            "/x --apply-seccomp-then-exec ls",
            "/x --apply-seccomp-then-exec --",
        ] {
            assert_eq!(sandbox.command(&words(line)), None, "{line}");
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
            assert_eq!(sandbox.is_its_own(&words(line), "/p"), is_own, "{line}");
        }
    }

    #[test]
    fn settings_with_rules_of_their_own_speak_against_it() {
        let profile = profile_of(&[
            "npx".to_owned(),
            "opencode-ai".to_owned(),
            "acp".to_owned(),
            "--port=1".to_owned(),
        ])
        .unwrap();
        let report =
            profile.settings_command(&["npx".to_owned(), "opencode-ai".to_owned(), "acp".to_owned()]);
        assert_eq!(report.unwrap().join(" "), "npx opencode-ai debug config");
        let AskMethod::BySettings(settings) = &profile.ask_method else { panic!("it asks by its settings") };
        for (report, is_fine) in [
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
            assert_eq!((settings.against)(&report).is_none(), is_fine, "{report}");
        }
        for profile in &PROFILES {
            if let AskMethod::BySettings(settings) = &profile.ask_method {
                assert!(profile.argument.is_some(), "{}", profile.name);
                for (name, value) in settings.variables {
                    assert!(profile.unless_set.contains(name) || *value == "1", "{name} would be replaced");
                }
            }
        }
    }
}
