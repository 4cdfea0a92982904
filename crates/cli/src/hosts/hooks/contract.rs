//! The differences between products, one row each. No other part of the hooks knows a particular product.

/// A product that asks a hook before it runs a command.
#[derive(Debug)]
pub(crate) struct Contract {
    /// The name in `headstart hook`.
    pub(crate) name: &'static str,
    /// The name that its users know.
    pub(crate) product: &'static str,
    /// The events that it may send, and the form of the answer to each. The first one is the one to register, and is
    /// assumed if a message names no event.
    pub(crate) events: &'static [(&'static str, Shape)],
    /// The product's names for a tool that runs a command in a Unix shell.
    pub(crate) tools: &'static [&'static str],
    /// Whether it runs another command in place of the one it sent, without asking about that.
    pub(crate) takes_other_command: bool,
    /// Whether it does not ask if the answer is "allow".
    pub(crate) takes_allow: bool,
    /// Whether its shell is bash, whichever shell the user has.
    pub(crate) runs_bash: bool,
    /// Variables of the hook's environment that name the project's folder.
    pub(crate) project_variables: &'static [&'static str],
    /// The beginning of a call's description if the product asks for something else than to run the command.
    pub(crate) other_question: Option<&'static str>,
    pub(crate) settings: SettingsFile,
}

/// The JSON form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `{"hookSpecificOutput":{"hookEventName":…,"permissionDecision":…,"permissionDecisionReason":…,"updatedInput":…}}`
    PreToolUse,
    /// `{"hookSpecificOutput":{"hookEventName":…,"decision":{"behavior":…,"message":…,"updatedInput":…}}}`
    PermissionRequest,
    /// `{"behavior":…,"message":…}`
    Behavior,
    /// `{"permissionDecision":…,"permissionDecisionReason":…}`
    PermissionDecision,
    /// `{"permission":…,"user_message":…,"agent_message":…}`
    Permission,
    /// `{"decision":"deny","reason":…}`
    Decision,
}

/// Where a hook is registered.
#[derive(Debug)]
pub(crate) struct SettingsFile {
    /// The file below the user's home folder.
    pub(crate) user: &'static str,
    /// A variable that replaces the first folder of `user`.
    pub(crate) user_variable: Option<&'static str>,
    /// The file below the project.
    pub(crate) project: &'static str,
    pub(crate) form: EntryForm,
    /// The matcher for the calls that the hook is started for.
    pub(crate) matcher: Option<&'static str>,
    /// The field and the value that limit the hook to ten seconds; the unit depends on the product.
    pub(crate) time_limit: Option<(&'static str, u32)>,
    /// Whether the file must begin with `"version": 1`.
    pub(crate) versioned: bool,
    /// What else the user has to know or do, in a sentence.
    pub(crate) remark: Option<&'static str>,
}

/// The form of an entry in the list of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryForm {
    /// `{"matcher":…,"hooks":[{"type":"command","command":…}]}`
    Grouped,
    /// `{"command":…}`
    Plain,
    /// `{"type":"command","bash":…,"matcher":…}`
    Bash,
}

/// Every known product. docs/hooks.md says which rows were taken from a product's documentation without a trial.
pub(crate) const CONTRACTS: [Contract; 6] = [
    Contract {
        name: "claude-code",
        product: "Claude Code",
        events: &[("PreToolUse", Shape::PreToolUse), ("PermissionRequest", Shape::PermissionRequest)],
        tools: &["Bash"],
        takes_other_command: true,
        takes_allow: true,
        runs_bash: false,
        project_variables: &["CLAUDE_PROJECT_DIR"],
        other_question: None,
        settings: SettingsFile {
            user: ".claude/settings.json",
            user_variable: Some("CLAUDE_CONFIG_DIR"),
            project: ".claude/settings.json",
            form: EntryForm::Grouped,
            matcher: Some("Bash"),
            time_limit: Some(("timeout", 10)),
            versioned: false,
            remark: None,
        },
    },
    Contract {
        name: "qwen-code",
        product: "Qwen Code",
        events: &[("PermissionRequest", Shape::PermissionRequest)],
        tools: &["run_shell_command"],
        takes_other_command: false,
        takes_allow: true,
        runs_bash: true,
        project_variables: &["QWEN_PROJECT_DIR"],
        other_question: None,
        settings: SettingsFile {
            user: ".qwen/settings.json",
            user_variable: Some("QWEN_HOME"),
            project: ".qwen/settings.json",
            form: EntryForm::Grouped,
            matcher: Some("^run_shell_command$"),
            // Earlier versions count milliseconds, and later ones read a number as large as this as milliseconds.
            time_limit: Some(("timeout", 10_000)),
            versioned: false,
            remark: None,
        },
    },
    Contract {
        name: "codex",
        product: "Codex",
        events: &[("PermissionRequest", Shape::PermissionRequest)],
        tools: &["Bash"],
        takes_other_command: false,
        takes_allow: true,
        runs_bash: false,
        project_variables: &[],
        // The product asks about the connections of a command in the same form as about the command itself.
        other_question: Some("network-access"),
        settings: SettingsFile {
            user: ".codex/hooks.json",
            user_variable: Some("CODEX_HOME"),
            project: ".codex/hooks.json",
            form: EntryForm::Grouped,
            matcher: Some("Bash"),
            time_limit: Some(("timeout", 10)),
            versioned: false,
            remark: Some(
                "Codex runs it only once you have trusted it: it asks at its next start, and /hooks there lists it.",
            ),
        },
    },
    Contract {
        name: "copilot",
        product: "GitHub Copilot CLI",
        events: &[
            ("permissionRequest", Shape::Behavior),
            ("preToolUse", Shape::PermissionDecision),
            ("PermissionRequest", Shape::Behavior),
            ("PreToolUse", Shape::PermissionDecision),
        ],
        tools: &["bash"],
        takes_other_command: false,
        takes_allow: true,
        runs_bash: true,
        project_variables: &[],
        other_question: None,
        settings: SettingsFile {
            user: ".copilot/hooks/headstart.json",
            user_variable: Some("COPILOT_HOME"),
            project: ".github/hooks/headstart.json",
            form: EntryForm::Bash,
            matcher: Some("bash"),
            time_limit: Some(("timeoutSec", 10)),
            versioned: true,
            remark: Some(
                "GitHub Copilot CLI takes an answer of this hook before it looks at its own rules, so a rule of yours there \
                 that denies a command which only reads does not count for it. Give headstart such a rule as well.",
            ),
        },
    },
    Contract {
        name: "cursor",
        product: "Cursor",
        events: &[("beforeShellExecution", Shape::Permission)],
        tools: &[],
        takes_other_command: false,
        takes_allow: true,
        runs_bash: false,
        project_variables: &["CURSOR_PROJECT_DIR"],
        other_question: None,
        settings: SettingsFile {
            user: ".cursor/hooks.json",
            user_variable: None,
            project: ".cursor/hooks.json",
            form: EntryForm::Plain,
            matcher: None,
            time_limit: None,
            versioned: true,
            remark: None,
        },
    },
    Contract {
        name: "gemini-cli",
        product: "Gemini CLI",
        events: &[("BeforeTool", Shape::Decision)],
        tools: &["run_shell_command"],
        takes_other_command: false,
        takes_allow: false,
        runs_bash: true,
        project_variables: &["GEMINI_PROJECT_DIR"],
        other_question: None,
        settings: SettingsFile {
            user: ".gemini/settings.json",
            user_variable: None,
            project: ".gemini/settings.json",
            form: EntryForm::Grouped,
            matcher: Some("^run_shell_command$"),
            time_limit: Some(("timeout", 10_000)),
            versioned: false,
            remark: None,
        },
    },
];

/// The row of a product, by its name in `headstart hook`.
pub(crate) fn contract(name: &str) -> Option<&'static Contract> {
    CONTRACTS.iter().find(|contract| contract.name == name)
}
