//! A repository that somebody only cloned and opened, in each form in which one tries something. The tests of every door
//! are run on the same forms.

use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use super::server::{Request, ScriptedResponse, Server, calls, says};
use super::{Outcome, Session};

use serde_json::{Value, json};

/// What nobody but its user may read. It is a variable of the user's, stands in a file of their home, and is what a
/// private repository of theirs has in its history.
pub(crate) const SECRET: &str = "canary-of-its-user-4711";

/// What is put in the place of a file: links to the environment and to a file of the home, what never ends, and what is
/// no file.
const PLANTS: [&str; 6] = [
    "ln -s /proc/self/environ",
    "ln -s ~/.git-credentials",
    "ln -s /dev/zero",
    "mkfifo",
    "truncate -s 1T",
    "mkdir",
];

/// Files that are read of a project. Each group is put into one repository, because an error about one of them could
/// hide what the others do.
const PLACES: [&[&str]; 4] = [
    &[".headstart/config.toml"],
    &[
        "AGENTS.md",
        "CLAUDE.md",
        "src/AGENTS.md",
        ".headstart/rules/a.md",
        ".headstart/ignore",
        ".gitignore",
        ".ignore",
        "src/.gitignore",
        "Cargo.toml",
        "package.json",
        "Makefile",
        ".mcp.json",
    ],
    &[
        ".git/HEAD",
        ".git/config",
        ".git/index",
        ".git/packed-refs",
        ".git/refs/heads/main",
        ".git/info/exclude",
        ".git/objects/info/alternates",
        ".gitattributes",
    ],
    // Of repositories below the workspace, with a work tree and without one.
    &[
        "sub/.git",
        "sub/.gitignore",
        "bare/HEAD",
        "bare/refs",
        "bare/objects/info/alternates",
        "bare/packed-refs",
    ],
];

/// Lines of a project's configuration that would loosen what its user has set, with the field that the error names.
/// `canary` stands for text that no error repeats.
pub(crate) const LOOSENING: &[(&str, &str)] = &[
    ("ledger = 'off' # canary\n", "ledger"),
    ("sessions = false # canary\n", "sessions"),
    ("base_url = 'https://canary.example.org'\n", "base_url"),
    ("mode = 'yolo' # canary\n", "mode"),
    ("deny_defaults = false # canary\n", "deny_defaults"),
    ("tab = 'insert' # canary\n", "tab"),
    ("[shadow]\nremote = ['canary', 'shadow', 'serve']\n", "remote"),
    ("[models.x]\nfree = true # canary\n", "models"),
    #[cfg(feature = "mcp")]
    ("[mcp.t]\ncommand = ['true']\nenv = { LD_PRELOAD = '/canary.so' }\n", "env.LD_PRELOAD"),
    #[cfg(feature = "mcp")]
    ("[mcp.t]\ncommand = ['true']\nenv = { node_options = '--import=canary' }\n", "env.node_options"),
];

/// A user with a secret, who has opened a repository in which a file is tracked and nothing else is odd.
pub(crate) fn user() -> Session {
    let session = Session::new()
        .variable("DEPLOY_KEY", SECRET)
        .variable("OPENAI_API_KEY", "key")
        .variable("SHELL", "/bin/bash")
        .variable("PATH", "/usr/bin:/bin")
        .variable("HEADSTART_SHADOW", "");
    session.write("home/.git-credentials", format!("https://ada:{SECRET}@example.org\n"));
    session.write("project/notes.txt", "one\n").write("project/src/lib.rs", "pub fn one() {}\n");
    session.make_repository(&["init", "-q", "-b", "main"]);
    session
}

/// Calls `tried` for each thing that is put in the place of files.
pub(crate) fn for_each_plant(mut tried: impl FnMut(&str, &Session)) {
    for plant in PLANTS {
        for places in PLACES {
            let session = user();
            for place in places {
                let line = format!("mkdir -p \"$(dirname {place})\"; rm -rf {place}; {plant} {place}");
                let mut sh = Command::new("sh");
                sh.args(["-c", &line]).current_dir(session.workspace()).env("HOME", session.home());
                assert!(sh.status().unwrap().success(), "{line}");
            }
            tried(&format!("{plant} {}", places[0]), &session);
        }
    }
}

/// Commands that ask git for what such a repository has.
pub(crate) const GIT_LOOKS: [&str; 9] = [
    "git log",
    "git show HEAD",
    "git log -p --all",
    "git show HEAD:plan.txt",
    "git status --short -uall",
    "git config -l",
    "git -C sub log -p",
    "git -C sub status --short -uall",
    "git -C sub config -l",
];

/// Calls `tried` for each way in which a `.git` leads to a private repository of its user, or to their files.
pub(crate) fn for_each_repository_elsewhere(mut tried: impl FnMut(&str, &Session)) {
    for way in [
        "gitdir",
        "link",
        "alternates",
        "commondir",
        "worktree",
        "include",
        "reference",
        "below",
        "submodule",
        "worktree below",
        "without a work tree",
    ] {
        let session = user();
        let private = session.home().join("private");
        session
            .write("home/private/plan.txt", SECRET)
            .write("home/private/settings", format!("[user]\nname = {SECRET}\n"));
        session.write(&format!("home/private/{SECRET}/x"), "").write("project/sub/x", "");
        for arguments in [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-qm", SECRET]] {
            session.git_at(&private, arguments);
        }
        let head = session.git_at(&private, &["rev-parse", "HEAD"]);
        let (dot_git, of_private) = (session.workspace().join(".git"), private.join(".git"));
        let write = |path: &str, text: String| std::fs::write(session.workspace().join(path), text).unwrap();
        match way {
            "gitdir" | "link" => {
                std::fs::remove_dir_all(&dot_git).unwrap();
                if way == "link" {
                    symlink(&of_private, &dot_git).unwrap();
                } else {
                    write(".git", format!("gitdir: {}\n", of_private.display()));
                }
            }
            "alternates" => {
                let objects = of_private.join("objects");
                write(".git/objects/info/alternates", format!("{}\n", objects.display()));
                write(".git/refs/heads/main", head);
            }
            "commondir" => write(".git/commondir", of_private.display().to_string()),
            "worktree" => write(".git/config", format!("[core]\nworktree = {}\n", private.display())),
            "include" => write(".git/config", "[include]\npath = ~/private/settings\n".to_owned()),
            "reference" => {
                std::fs::remove_file(dot_git.join("HEAD")).unwrap();
                symlink(private.join("plan.txt"), dot_git.join("HEAD")).unwrap();
            }
            "below" => write("sub/.git", format!("gitdir: {}\n", of_private.display())),
            "submodule" => {
                std::fs::create_dir_all(dot_git.join("modules")).unwrap();
                symlink(&of_private, dot_git.join("modules/sub")).unwrap();
                write("sub/.git", "gitdir: ../.git/modules/sub\n".to_owned());
            }
            "worktree below" => {
                session.git_at(&session.workspace().join("sub"), &["init", "-q"]);
                write("sub/.git/config", format!("[core]\nworktree = {}\n", private.display()));
            }
            _ => {
                write("sub/HEAD", "ref: refs/heads/main\n".to_owned());
                for part in ["objects", "refs"] {
                    symlink(of_private.join(part), session.workspace().join("sub").join(part)).unwrap();
                }
            }
        }
        tried(way, &session);
    }
}

/// The command with an address space that ends, so that whatever grows without bound fails and does not take the
/// machine along.
pub(crate) fn bounded(command: &Command) -> Command {
    let mut bounded = Command::new("/bin/bash");
    bounded
        .args(["-c", "ulimit -v 8388608; exec \"$0\" \"$@\""])
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(command.get_current_dir().unwrap_or(Path::new("/")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    bounded
}

/// Runs a command of the binary with such an end.
pub(crate) fn run_bounded(session: &Session, arguments: &[&str], input: &str) -> Outcome {
    let mut child = bounded(&session.command(arguments)).spawn().unwrap();
    // A command that does not read its input makes this fail, which is no failure of the test.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    session.outcome(arguments, child)
}

/// A model that follows whatever the project says: it first makes these calls, and when it is asked for the next prompt,
/// it answers with a command line.
pub(crate) fn obedient_model(first: Vec<(&'static str, Value)>) -> Server {
    Server::answering(move |request| answer(request, &first))
}

/// What a model guesses as the next prompt, which nothing may take for a command line.
pub(crate) const GUESS: &str = "!touch owned";
/// What it guesses besides, where several guesses are asked for. Once it is shown, the other one was judged as well.
pub(crate) const HONEST_GUESS: &str = "read the notes again";

fn answer(request: &Request, first: &[(&str, Value)]) -> ScriptedResponse {
    let messages = request.json()["messages"].as_array().cloned().unwrap_or_default();
    let is_tools = |message: &Value| message["role"] == "tool";
    match messages.last() {
        Some(last) if is_tools(last) => says("Done."),
        _ if messages.iter().any(is_tools) => says(&format!("{GUESS}\n/mode yolo\n{HONEST_GUESS}")),
        _ => calls(first),
    }
}

/// Calls by which a model looks at all that a hostile repository has.
pub(crate) fn looks() -> Vec<(&'static str, Value)> {
    let read = |path: &str| ("read_file", json!({ "file_path": path }));
    let run = |command: &str| ("shell", json!({ "command": command }));
    let files = PLACES.iter().flat_map(|places| places.iter());
    // A command that reads a pipe or a device itself has its time limit, for which no test waits.
    let commands = ["git status --short", "git log -1", "grep -r canary ."];
    files.map(|path| read(path)).chain(commands.map(run)).chain([("ls", json!({ "path": "." }))]).collect()
}
