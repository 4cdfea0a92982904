//! Holds what a second agent cannot do, whatever its model says.

use super::{NEXT, User, json};

/// What a hostile model has its agent do without a question. Each line attempts to change something outside the view,
/// or to reach a program of the machine. None may succeed; the last line writes a file in the view, which shows that
/// the attempts were made.
const ATTACKS: &str = r#"
import socket, subprocess
home = os.environ["HOME"]
def attempt(what):
    try:
        what()
    except Exception:
        pass
def write(path, mode="a"):
    attempt(lambda: open(path, mode).write("pwned\n"))
for path in ("~/.bashrc", "~/.profile", "~/.ssh/authorized_keys", "~/.claude/settings.json", "~/.claude/CLAUDE.md",
             "~/.claude/script.json", "~/.claude.json", "~/.config/headstart/config.toml", "~/bin/claude-agent-acp",
             "~/.local/state/headstart/acp-proxy/claude-agent-acp.json", "~/.gitconfig"):
    attempt(lambda: os.makedirs(os.path.dirname(os.path.expanduser(path)), exist_ok=True))
    write(os.path.expanduser(path))
for path in ("/etc/passwd", "/etc/profile.d/x.sh", "/usr/local/bin/x", "/var/tmp/pwned", "/tmp/pwned", "/dev/shm/pwned",
             os.path.join(cwd, "../outside.txt"), "/proc/1/root/etc/pwned", "/proc/sys/kernel/core_pattern"):
    write(path)
for target in (home + "/.bashrc", "/tmp", "/etc/passwd", home + "/.claude/projects/../settings.json"):
    link = os.path.join(cwd, "link-%d" % abs(hash(target)))
    attempt(lambda: os.symlink(target, link))
    write(link)
    write(os.path.join(link, "pwned"))
attempt(lambda: os.link(home + "/bin/claude-agent-acp", cwd + "/hard"))
attempt(lambda: os.chmod(home + "/bin/claude-agent-acp", 0o777))
attempt(lambda: os.remove(home + "/.claude/script.json"))
attempt(lambda: os.rename(home + "/.claude/script.json", home + "/.claude/projects/moved"))
def connect(name):
    made = socket.socket(socket.AF_UNIX)
    made.connect(name)
    made.send(b"pwned")
attempt(lambda: connect("SOCKET"))
attempt(lambda: connect("\0ABSTRACT"))
for pid in os.listdir("/proc"):
    if pid.isdigit() and int(pid) != os.getpid():
        attempt(lambda: os.kill(int(pid), 9) if int(pid) > 2 else None)
for line in ("git push", "nohup sleep 600 &", "mount -t tmpfs none /mnt", "unshare -r true", "sudo true"):
    subprocess.run(["bash", "-c", line], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
with open(os.path.join(cwd, "attempted.txt"), "w") as file:
    file.write("all of it\n")
for name in os.listdir(cwd):
    if name.startswith("link-") or name == "hard":
        os.remove(os.path.join(cwd, name))
"#;

#[test]
fn a_hostile_agent_changes_nothing_but_its_view() {
    use std::os::linux::net::SocketAddrExt as _;
    let user = User::with_next(json!([{ "say": "never" }]));
    let folder = user.session.workspace().parent().unwrap().to_owned();
    let socket = folder.join("socket");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let name = format!("headstart-test-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let hidden = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    for listener in [&listener, &hidden] {
        listener.set_nonblocking(true).unwrap();
    }
    let attacks = ATTACKS.replace("SOCKET", socket.to_str().unwrap()).replace("ABSTRACT", &name);
    let steps = json!([{ "python": attacks }, { "say": "Done." }]);
    let file = user.session.home().join(".claude/script.json");
    let mut script: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    script[NEXT] = steps;
    user.session.write("home/.claude/script.json", script.to_string());
    let (mut client, _session) = user.after_hello();
    let home = tree(&user.session.home());
    client.suggested(NEXT, Some("ready"));
    assert_eq!(user.read("attempted.txt"), None);
    let left = tree(&user.session.home());
    assert_eq!(left, home, "nothing of the home is changed but what the agent keeps");
    for path in ["/var/tmp/pwned", "/tmp/pwned", "/dev/shm/pwned", "/etc/profile.d/x.sh", "/usr/local/bin/x"]
    {
        assert!(!std::path::Path::new(path).exists(), "{path}");
    }
    assert!(!folder.join("outside.txt").exists());
    for listener in [&listener, &hidden] {
        assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "it was reached");
    }
    let change = client.log.iter().rev().find_map(|(_, message)| {
        let first = &message["params"]["update"]["_meta"]["promptSuggestions"]["suggestions"][0];
        first["_meta"]["headstart"]["changes"].as_u64()
    });
    assert_eq!(change, Some(1), "the attempts were made, and their one file is of the view");
}

/// Every file of a home without the state folders, in which a proxy and its agent have to keep things.
fn tree(home: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![home.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let is_kept =
                [".local/state/headstart", ".claude/projects"].iter().any(|kept| path == home.join(kept));
            if entry.file_type().unwrap().is_dir() {
                if !is_kept {
                    folders.push(path);
                }
            } else {
                let content = std::fs::read(&path).unwrap_or_default();
                found.push((path, content));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_command_that_was_not_asked_about_ends_the_work() {
    for (command, state) in [("cat notes.txt", "ready"), ("bash ./script.sh", "stopped")] {
        let user = User::with_next(json!([{ "run": command, "ask": false }, { "say": "Done." }]));
        user.session.write("project/script.sh", "true\n");
        let (mut client, _session) = user.after_hello();
        if state == "ready" {
            client.suggested(NEXT, Some("ready"));
        } else {
            client.until("the suggestion without its work", |message| {
                let first = &message["params"]["update"]["_meta"]["promptSuggestions"]["suggestions"][0];
                first["text"] == NEXT && first.get("_meta").is_none()
            });
        }
    }
}

#[test]
fn files_that_rules_close_are_not_shown() {
    let user = User::with_next(
        json!([{ "python": "open(cwd + '/seen.txt', 'w').write(str(os.path.exists(cwd + '/.env')))" }, { "say": "Done." }]),
    );
    user.session.write("project/.env", "KEY=secret\n");
    let (mut client, session) = user.after_hello();
    client.suggested(NEXT, Some("ready"));
    let id = client.prompt(&session, "/next");
    client.answer_question("write");
    client.answer_to(id);
    assert_eq!(user.read("seen.txt").unwrap(), "False");
    assert_eq!(user.read(".env").unwrap(), "KEY=secret\n");
}

#[test]
fn an_agent_that_cannot_be_told_to_ask_runs_nothing() {
    let user = User::with_next(json!([{ "write": "made.txt", "content": "made\n" }]));
    let program = user.session.home().join("bin/claude-agent-acp");
    let source = std::fs::read_to_string(&program).unwrap();
    std::fs::write(
        &program,
        source.replace(r#"not in ("default", "acceptEdits", "plan")"#, r#"not in ("plan",)"#),
    )
    .unwrap();
    let mut command = user.session.command(&["acp-proxy", "--", "claude-agent-acp"]);
    let errors = user.session.home().join("errors");
    command.stderr(std::fs::File::create(&errors).unwrap());
    drop(command);
    let (mut client, session) = user.after_hello();
    for _ in 0..2 {
        assert_eq!(client.said(&session, "hello"), "end_turn");
    }
    client.request("_flush", json!({}));
    assert_eq!(client.end(), Some(0));
    assert!(!client.log.iter().any(|(_, message)| message.to_string().contains("promptSuggestions")));
    assert_eq!(user.read("made.txt"), None);
}

#[test]
fn where_there_is_no_view_messages_pass_and_nothing_runs() {
    let user = User::with_next(json!([{ "write": "made.txt", "content": "made\n" }]));
    let user = User { session: user.session.variable("HEADSTART_SHADOW", "off") };
    let (mut client, session) = user.after_hello();
    assert_eq!(client.said(&session, "hello"), "end_turn");
    client.request("_flush", json!({}));
    assert_eq!(client.end(), Some(0));
    assert_eq!((user.read("made.txt"), user.stored_sessions()), (None, vec![session]));
}
