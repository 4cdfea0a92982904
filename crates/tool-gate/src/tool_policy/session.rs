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

/// Programs that run whatever they are given, as words, as a text or in a file, that reach other machines, that delete
/// irrecoverably, and commands that change the shell for those behind them. They are asked about each time.
const NEVER: &str = ". act alias ansible ansible-playbook apt apt-get aria2c asdf ash at awk aws az bash \
    batch bazel bazelisk bg bind brew builtin bun bundle bunx busybox bwrap catchsegv cd chmod chown chroot \
    chrt cmd command complete composer concurrently conda coproc corepack crontab cross-env csh curl dash \
    dbus-launch dbus-run-session dd declare deno direnv disown doas docker dotenv ed elixir emacs enable \
    entr env env-cmd erl eval ex exec expect export fakechroot fakeroot faketime fc fg find firejail fish \
    flatpak flock fnm ftp gawk gcloud gdb gdbserver gem getopts gh git glab groovy hash heaptrack helm hg \
    history hyperfine iex ionice ipython irb java jenv jj julia kill ksh kubectl launchctl lerna less let \
    lldb local logout ltrace lua luajit m4 mail mamba man mapfile mawk micromamba mise mksh mono more mv \
    mysql nawk nc ncat nerdctl newgrp nice nix nix-build nix-shell node nodemon nodenv nohup nox npx nsenter \
    nu numactl nvim nvm nx open osascript parallel pdm perf perl php pip pipx pixi pkexec pkill pnpx podman \
    poetry popd powershell pre-commit prlimit proot psql pushd pwsh pyenv pypy python qemu r rbenv rclone \
    read readarray readonly return rlwrap rm rmdir rr rscript rsync ruby runghc runuser rustup rye scala scp \
    screen script sdk sed sendmail service set setarch setpriv setsid sftp sg sh shopt shred socat source \
    sqlite ssh ssh-agent stdbuf strace su sudo svn systemctl systemd-run tar taskset tclsh tcsh telnet \
    terraform time timeout tmux tox toybox trap truncate ts-node tsx turbo typeset ulimit umask unbuffer \
    unlink unset unshare uv uvx vagrant valgrind vi vim volta watch wget wine xargs xdg-open xonsh xvfb-run \
    zip zsh";

/// What the name of an option contains that gives a program something to run or to load, or another place, file or
/// setting to work from: `--eval`, `--config build.rustc-wrapper=x`, `--script-shell`, `-C`.
const STEERING: &str = "cmd command compiler config cwd define dir driver env eval exec file flags format hook import \
    init linker load manifest options overlay parser path plugin prefix preprocessor preset reporter require resolver \
    root rsh rules runner script setting setup shell specs target tool transform wrapper";

/// Names of options that contain one of those and only choose among what is there.
const HARMLESS: [&str; 2] = ["all-targets", "profile"];

/// Whether a word hands a program something to run: an option by its name, a single letter that does so in some program
/// (`-c`, `-e`, `-f`, `-C`), a setting (`-Dx=y`), or a variable (`CC=./x`).
fn steers(word: &str) -> bool {
    let Some(option) = word.strip_prefix('-') else {
        return word.contains('=') || word.starts_with(['@', '+']);
    };
    let name = option.trim_start_matches('-').split('=').next().unwrap_or_default().to_ascii_lowercase();
    let is_long = option.starts_with('-') && !name.is_empty();
    STEERING.split_whitespace().any(|part| name.contains(part)) && !HARMLESS.contains(&&*name)
        || !is_long && (option.contains('=') || option.starts_with(|letter| "BcCeEfFIoPXxZ".contains(letter)))
}

/// Whether a word has most programs load what it names: `pytest -p plugin`, `mocha -r x.js`. Cargo means a package and a
/// release by them.
fn loads(program: &str, word: &str) -> bool {
    program != "cargo"
        && !word.starts_with("--")
        && word.starts_with(['-'])
        && word[1..].starts_with(['p', 'r'])
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
            || built_in::SHELL.outlives_call(call.args)
        {
            return None;
        }
        let folder = folder_of(call, context).ok()?.to_string();
        let line = built_in::SHELL.text_of(Role::Command, call.args).ok()??;
        let commands = simple_commands(line)?;
        let [command] = commands.words.as_slice() else { return None };
        let words: Option<Vec<&str>> = command.iter().map(|word| std::str::from_utf8(word).ok()).collect();
        let words = words?;
        let is_plain = |word: &&str| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./:=@,+%".contains(c))
        };
        // The gate does not know what a program writes to, so a word that names a place outside is asked about each
        // time.
        let leads_out = |word: &&str| {
            word.split(['=', ':', ',']).any(|part| {
                // A short option may have its place right behind it: `-o../x`.
                let behind = part.strip_prefix('-').and_then(|option| option.get(1..)).unwrap_or(part);
                [part, behind]
                    .iter()
                    .any(|place| place.starts_with('/') || place.split('/').any(|step| step == ".."))
            })
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
        let is_known = verdict.reason == Reason::Writes;
        if rest.iter().any(|word| steers(word) || !is_known && loads(program, word)) {
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
