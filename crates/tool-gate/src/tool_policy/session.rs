//! What a user can agree to for the rest of a session when they are asked about a call.

use std::fmt;

use super::decide::{folder_of, path_of};
use super::{Layer, ToolPolicy, ToolRule, ToolTable, simple_commands};
use crate::{
    ApprovalMode, Behaviour, CallRef, Decision, Declaration, EffectKind, Gate, GateContext, PolicyOrigin,
    Reason, Role, Verdict, built_in,
};

/// Tools that build and test, with what they do to the project alone. Their other sub-commands fetch and run anything.
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

/// Programs that run whatever they are given, as words, as a text or in a file, that reach other machines, or that
/// delete irrecoverably. They are asked about each time.
const NEVER: &str = ". act alias ansible ansible-playbook apt apt-get ash at awk bash batch brew builtin bun bundle bunx \
    busybox chmod chown chroot cmd command composer conda coproc corepack crontab csh curl dash dd deno \
    direnv doas docker ed elixir emacs entr env erl eval ex exec expect find fish flock ftp gawk gdb gem \
    gh git glab groovy helm hg iex ionice ipython irb java jj julia kill ksh kubectl launchctl lldb \
    ltrace lua luajit m4 mawk mise mksh mv mysql nawk nc ncat newgrp nice nix nix-build nix-shell node \
    nohup nox npx nsenter nu nvim osascript parallel pdm perl php pip pipx pixi pkexec pkill pnpx podman \
    poetry powershell psql pwsh pypy python r rm rmdir rscript rsync ruby runghc runuser rye scala scp \
    screen script sed service setsid sftp sg sh socat source sqlite ssh stdbuf strace su sudo svn \
    systemctl systemd-run tar taskset tclsh tcsh telnet terraform time timeout tmux tox toybox trap \
    ts-node tsx unshare uv uvx valgrind vi vim watch wget xargs xonsh zip zsh";

/// What the name of an option contains that gives a program something to run, or another place, file or setting to work
/// from: `--eval`, `--config build.rustc-wrapper=x`, `--script-shell`, `-C`.
const STEERING: &str = "config eval exec command cmd script shell require import load plugin wrapper runner rsh preprocessor \
    init rcfile profile-file makefile manifest directory chdir cwd prefix workdir project-dir root env \
    define setting toolchain linker node-options flags";

/// Whether a word hands a program something to run: an option by its name, a single letter that does so in some program
/// (`-c`, `-e`, `-f`, `-C`), or a variable (`CC=./x`).
fn steers(word: &str) -> bool {
    let Some(option) = word.strip_prefix('-') else {
        return word.contains('=') || word.starts_with(['@', '+']);
    };
    let name = option.trim_start_matches('-').split('=').next().unwrap_or_default().to_ascii_lowercase();
    let is_long = option.starts_with('-') && !name.is_empty();
    STEERING.split(' ').any(|part| name.contains(part))
        || !is_long && option.chars().next().is_some_and(|letter| "cCeEfFIoXxZ".contains(letter))
}

/// A yes for the rest of a session, for calls like the one that was asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRule {
    words: String,
    rules: Vec<ToolRule>,
}

impl fmt::Display for SessionRule {
    /// Shows what it lets run: `` `cargo test` ``, `` `make` in web/ ``, or `edits in src/`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl SessionRule {
    /// The rule to offer with the question about a call of a turn; `None` if such calls are asked about each time.
    ///
    /// Offered are edits in a folder, if only the mode asks; and a single command with nothing around it: exactly these
    /// words, in this folder. Never offered is what opens a connection, reads or writes outside the workspace, is
    /// closed by a rule, is executed or obeyed by other programs, or runs whatever it is given.
    pub fn of(call: CallRef<'_>, verdict: &Verdict, context: &GateContext) -> Option<Self> {
        if Declaration::is_shell(call.name) {
            Self::of_command(call, verdict, context)
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

    fn of_command(call: CallRef<'_>, verdict: &Verdict, context: &GateContext) -> Option<Self> {
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
        let folder = folder_of(call, context).ok()?.to_string();
        let line = built_in::SHELL.text_of(Role::Command, call.args).ok()??;
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
        if !words.iter().chain([&&*folder]).all(is_plain) || words.iter().any(leads_out) {
            return None;
        }
        let (program, rest) = words.split_first()?;
        let base = program.rsplit('/').next().unwrap_or_default();
        let name = base.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        if NEVER.split(' ').any(|never| never.eq_ignore_ascii_case(name)) || base != *program {
            return None;
        }
        if rest.iter().any(|word| steers(word)) {
            return None;
        }
        let known = SUBCOMMANDS.iter().find(|(known, _)| known == program);
        let fits = |subcommands: &[&str]| {
            subcommands.is_empty() || rest.first().is_some_and(|first| subcommands.contains(first))
        };
        if known.is_some_and(|(_, subcommands)| !fits(subcommands)) {
            return None;
        }
        let words = words.join(" ");
        let place = if folder == "." { String::new() } else { format!(" in {folder}/") };
        let rule = ToolRule {
            tool: built_in::SHELL.name.to_string(),
            when: [("command".to_owned(), words.clone()), ("directory".to_owned(), folder)].into(),
            policy: ToolPolicy::Automatic,
        };
        Some(Self { words: format!("`{words}`{place}"), rules: vec![rule] })
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
