//! What is different from product to product: one row each. Nothing else of the hooks knows a product.

/// A product that asks a hook before it runs a command.
#[derive(Debug)]
pub(crate) struct Contract {
    /// As `headstart hook` names it.
    pub(crate) name: &'static str,
    /// As its users name it.
    pub(crate) product: &'static str,
    /// The events that it may send, and how each is answered. The first is the one to register, and meant where a message names none.
    pub(crate) events: &'static [(&'static str, Shape)],
    /// What it calls a tool that runs a command in a shell for Unix.
    pub(crate) tools: &'static [&'static str],
    /// Whether it runs another command in place of the one that it sent, without asking about that.
    pub(crate) takes_other_command: bool,
    /// Whether an "allow" keeps it from asking.
    pub(crate) takes_allow: bool,
    /// Whether its shell is bash, whatever the user's own is.
    pub(crate) runs_bash: bool,
    /// Variables of the hook's environment that name the project's folder.
    pub(crate) project_variables: &'static [&'static str],
    /// The start of a call's description with which it asks for something else than running the command.
    pub(crate) other_question: Option<&'static str>,
    pub(crate) settings: Settings,
}

/// How an answer is written.
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
pub(crate) struct Settings {
    /// The file below the user's home folder.
    pub(crate) user: &'static str,
    /// A variable that names another place for the first folder of `user`.
    pub(crate) user_variable: Option<&'static str>,
    /// The file below the project.
    pub(crate) project: &'static str,
    pub(crate) form: EntryForm,
    /// Which calls are meant.
    pub(crate) matcher: Option<&'static str>,
    /// The time that the hook may take: ten seconds, by the field's name and in its unit.
    pub(crate) time_limit: Option<(&'static str, u32)>,
    /// Whether the file has to begin with `"version": 1`.
    pub(crate) versioned: bool,
    /// What the user has to know or do besides, in a sentence.
    pub(crate) remark: Option<&'static str>,
}

/// What stands in the list of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryForm {
    /// `{"matcher":…,"hooks":[{"type":"command","command":…}]}`
    Grouped,
    /// `{"command":…}`
    Plain,
    /// `{"type":"command","bash":…,"matcher":…}`
    Bash,
}

/// Every product that is known. Where a row was read in a product's documentation and not tried, docs/hooks.md says so.
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
        settings: Settings {
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
        settings: Settings {
            user: ".qwen/settings.json",
            user_variable: Some("QWEN_HOME"),
            project: ".qwen/settings.json",
            form: EntryForm::Grouped,
            matcher: Some("^run_shell_command$"),
            // Earlier versions count milliseconds, and later ones take a number as large as this for such.
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
        // It asks about a command's connections as if about the command.
        other_question: Some("network-access"),
        settings: Settings {
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
        settings: Settings {
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
        settings: Settings {
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
        settings: Settings {
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

/// The row of a product, by the name that `headstart hook` has for it.
pub(crate) fn contract(name: &str) -> Option<&'static Contract> {
    CONTRACTS.iter().find(|contract| contract.name == name)
}
