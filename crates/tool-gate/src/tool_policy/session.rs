//! What a user can agree to for the rest of a session when they are asked about a call.

use std::fmt;

use super::decide::path_of;
use super::{Layer, ToolPolicy, ToolRule, ToolTable, simple_commands};
use crate::{
    ApprovalMode, Behaviour, CallRef, Decision, Declaration, EffectKind, Gate, GateContext, PolicyOrigin,
    Reason, Verdict, built_in,
};

/// Programs of which one word says what they do. After `run` the next word counts too.
const SUBCOMMANDS: [(&str, &[&str]); 8] = [
    ("cargo", &["bench", "build", "check", "clippy", "doc", "fmt", "nextest", "test"]),
    ("go", &["build", "fmt", "test", "vet"]),
    ("make", &[]),
    ("npm", &["run", "test"]),
    ("pnpm", &["run", "test"]),
    ("yarn", &["run", "test"]),
    ("just", &[]),
    ("dotnet", &["build", "test"]),
];

/// Programs that do one thing, whatever words they are given.
const WHOLE: [&str; 3] = ["pytest", "ctest", "jest"];

/// Programs that can run any other, or that delete irrecoverably, are asked about each time.
const NEVER: [&str; 53] = [
    "apt", "apt-get", "brew", "bundle", "bunx", "composer", "conda", "gem", "pip", "poetry", "uv", "awk",
    "bash", "bun", "chmod", "chown", "curl", "dash", "dd", "deno", "docker", "doas", "env", "eval", "exec",
    "find", "fish", "git", "kill", "ksh", "lua", "mv", "nc", "nice", "node", "nohup", "npx", "perl", "php",
    "pkill", "python", "rm", "rmdir", "rsync", "ruby", "sed", "sh", "ssh", "sudo", "timeout", "wget",
    "xargs", "zsh",
];

/// A yes for the rest of a session, for calls like the one that was asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRule {
    words: String,
    rules: Vec<ToolRule>,
}

impl fmt::Display for SessionRule {
    /// Shows what it lets run: `cargo test *`, or `edits in src/`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl SessionRule {
    /// The rule to offer with the question about a call of a turn; `None` if such calls are asked about each time.
    ///
    /// Offered are edits in a folder, if only the mode asks; and a single command with nothing around it: either the
    /// program and subcommand of a build tool, or exactly these words. Never offered is what opens a connection,
    /// reads or writes outside the workspace, is closed by a rule, or runs whatever it is given.
    pub fn of(call: CallRef<'_>, verdict: &Verdict, context: &GateContext) -> Option<Self> {
        if Declaration::is_shell(call.name) {
            Self::of_command(call, verdict)
        } else {
            Self::of_edit(call, verdict, context)
        }
    }

    fn of_edit(call: CallRef<'_>, verdict: &Verdict, context: &GateContext) -> Option<Self> {
        // The mode asks before those rules are looked at, so the call is judged again in a mode that does not ask.
        let edits = GateContext { mode: ApprovalMode::AutoEdit, ..context.clone() };
        let is_asked_anyway = Gate::new().judge(call, &edits).decision == Decision::Boundary;
        if verdict.reason != Reason::WriteToolNoAuto || is_asked_anyway {
            return None;
        }
        let path = path_of(call.name, call.args, context).ok()??.to_string();
        let folder = path.rsplit_once('/').map(|(folder, _)| folder);
        // The signs of a glob stand for themselves in a path, and for something else in a rule.
        if path.contains(['*', '?', '[', ']', '{', '}', '\\', '!']) {
            return None;
        }
        let is_editor = |tool: &&Declaration| tool.behaviour == Behaviour::Edits;
        let names: Vec<&str> = if Declaration::in_files(call.name).as_ref().is_some_and(is_editor) {
            Declaration::all_of_ours().filter(is_editor).map(|tool| &*tool.name).collect()
        } else {
            context.declaration(call.name)?;
            vec![call.name]
        };
        let pattern = folder.map_or_else(|| "*".to_owned(), |folder| format!("{folder}/**"));
        let rule = |tool: &str| ToolRule {
            tool: tool.to_owned(),
            when: [("path".to_owned(), pattern.clone())].into(),
            policy: ToolPolicy::Automatic,
        };
        let place = folder.map_or_else(|| "the top folder".to_owned(), |folder| format!("{folder}/"));
        Some(Self { words: format!("edits in {place}"), rules: names.into_iter().map(rule).collect() })
    }

    fn of_command(call: CallRef<'_>, verdict: &Verdict) -> Option<Self> {
        let asks_the_mode =
            matches!(verdict.reason, Reason::Writes | Reason::Executes | Reason::NotUnderstood);
        let stays = |kind| {
            matches!(
                kind,
                EffectKind::ReadOnly
                    | EffectKind::WritesWorkspace
                    | EffectKind::Executes
                    | EffectKind::Unknown
            )
        };
        if !asks_the_mode
            || !verdict.effects.iter().all(|effect| stays(effect.kind))
            || !verdict.writes.is_empty()
        {
            return None;
        }
        if call.args.get("directory").is_some_and(|directory| directory.as_str() != Some(".")) {
            return None;
        }
        let line = call.args.get("command")?.as_str()?;
        let commands = simple_commands(line)?;
        let [command] = commands.as_slice() else { return None };
        let words: Option<Vec<&str>> = command.iter().map(|word| std::str::from_utf8(word).ok()).collect();
        let words = words?;
        let is_plain = |word: &&str| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./:=@,+%".contains(c))
        };
        // The gate does not know what a program writes to, so a word that names a place outside is asked about each
        // time.
        let leads_out = |word: &&str| {
            word.split(['=', ':', ','])
                .any(|part| part.starts_with('/') || part.split('/').any(|step| step == ".."))
        };
        if !words.iter().all(is_plain) || words.iter().any(leads_out) {
            return None;
        }
        let (program, rest) = words.split_first()?;
        let base = program.rsplit('/').next().unwrap_or_default();
        let name = base.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        if NEVER.contains(&name) || base != *program {
            return None;
        }
        let first = rest.first().copied();
        let is_in_table = SUBCOMMANDS.iter().any(|(known, _)| known == program);
        let is_known = SUBCOMMANDS.iter().any(|(known, subcommands)| {
            known == program
                && first.is_some_and(|first| subcommands.is_empty() || subcommands.contains(&first))
        });
        // Other subcommands of such a program may fetch and run anything.
        if is_in_table && !is_known {
            return None;
        }
        let pattern = match (first, rest.get(1)) {
            _ if WHOLE.contains(program) => format!("{program} *"),
            (Some("run"), Some(script)) if is_known && !script.starts_with('-') => {
                format!("{program} run {script} *")
            }
            (Some("run"), _) => words.join(" "),
            (Some(first), _) if is_known && !first.starts_with('-') => format!("{program} {first} *"),
            _ => words.join(" "),
        };
        let rule = ToolRule {
            tool: built_in::SHELL.name.to_string(),
            when: [("command".to_owned(), pattern.clone())].into(),
            policy: ToolPolicy::Automatic,
        };
        Some(Self { words: format!("`{pattern}`"), rules: vec![rule] })
    }
}

impl super::ToolPolicies {
    /// The same policies with a further yes for the rest of the session. It applies to turns only, and not to
    /// excluded tools.
    #[must_use]
    pub fn with_session_rule(&self, rule: &SessionRule) -> Self {
        let mut table = self.session.source.clone();
        for rule in &rule.rules {
            if !table.rules.contains(rule) {
                table.rules.push(rule.clone());
            }
        }
        self.with_session(table)
    }

    /// The same policies without the yes that is described by these words.
    #[must_use]
    pub fn without_session_rule(&self, rule: &SessionRule) -> Self {
        let mut table = self.session.source.clone();
        table.rules.retain(|known| !rule.rules.contains(known));
        self.with_session(table)
    }

    fn with_session(&self, table: ToolTable) -> Self {
        let known: Vec<String> = table.rules.iter().map(|rule| rule.tool.clone()).collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        // A rule that cannot be read lets nothing run.
        let session = Layer::new(table, PolicyOrigin::User, &known).unwrap_or_default();
        Self { session: session.into(), ..self.clone() }
    }
}
