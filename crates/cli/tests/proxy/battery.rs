//! Holds that the attacks which a view has to keep out fail as well when the second agent makes them. Its view has the
//! network of the machine, and folders that it shares with the first agent.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use headstart_shadow::Tier;

use super::{AGENT, NEXT, json};
use crate::client::Client;
use crate::machine::Machine;
use crate::support::Session;

const BATTERY: &str = include_str!("../../../shadow/tests/attacks/battery.py");
const TOKEN: &str = "token-of-the-users-4711";
/// The battery has at least this many attacks; if fewer are made, this test is wrong.
const ATTACKS: usize = 250;
/// The attacks that may succeed, because the documentation says that the view has the machine's network, through which
/// the agent reaches its provider.
const SHARED: [&str; 5] = [
    "connect_tcp_loopback",
    "connect_tcp_loopback_6",
    "connect_tcp_any",
    "connect_tcp_elsewhere",
    "interfaces",
];
/// Runs the battery in a separate process, and writes its output into the folder in which the agent keeps
/// conversations.
const STEP: &str = "
import subprocess
variables = {**os.environ, 'ATTACKS': ABOUT}
done = subprocess.run(['python3', '-c', BATTERY], cwd=cwd, env=variables, stdin=subprocess.DEVNULL, capture_output=True)
with open(os.path.expanduser('~/.claude/projects/attacks'), 'wb') as file:
    file.write(done.stdout + done.stderr)
";

#[test]
fn a_hostile_second_agent_gets_through_no_wall_of_its_view() {
    let mut machine = Machine::new(Path::new("/tmp"), TOKEN);
    let home = machine.home();
    let about = machine.attacks(BATTERY, &[], Tier::Kernel, Duration::ZERO).environment.into_iter();
    let about = about.into_iter().find(|(name, _)| name == "ATTACKS").unwrap().1;
    let text = |text: &str| json!(text).to_string();
    let step = STEP.replace("ABOUT", &text(about.to_str().unwrap())).replace("BATTERY", &text(BATTERY));
    let look =
        json!({ "call": { "kind": "read", "title": "Read", "rawInput": { "path": "a" } }, "ask": false });
    let script = json!({
        "hello": [look, { "say": "First answer." }],
        "suggest": [{ "say": json!({ "suggestion": NEXT }).to_string() }],
        NEXT: [{ "python": step }, { "say": "Done." }],
    });
    for folder in ["bin", ".local", ".claude/projects"] {
        fs::create_dir_all(home.join(folder)).unwrap();
    }
    fs::write(home.join(".claude/script.json"), script.to_string()).unwrap();
    let program = home.join("bin/claude-agent-acp");
    fs::write(&program, AGENT).unwrap();
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let before = look_at(&machine);
    let session = Session::new()
        .variable("HEADSTART_SHADOW", "on")
        .variable("HOME", home.to_str().unwrap())
        .variable("PATH", &format!("{}:/usr/bin:/bin", home.join("bin").display()));
    let mut client = Client::of(session.command(&["acp-proxy", "--", "claude-agent-acp"]));
    client.set_patience(Duration::from_secs(240));
    client.request("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }));
    let cwd = machine.work().canonicalize().unwrap();
    let opened = client.request("session/new", json!({ "cwd": cwd, "mcpServers": [] }));
    let id = opened["result"]["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(client.said(&id, "hello"), "end_turn");
    client.until("the end of the work", |message| {
        let first = &message["params"]["update"]["_meta"]["promptSuggestions"]["suggestions"][0];
        first["text"] == NEXT && first["_meta"]["headstart"]["state"] != "running"
    });
    let content = fs::read_to_string(home.join(".claude/projects/attacks")).unwrap();
    let rows: Vec<serde_json::Value> = content
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {content}")))
        .collect();
    let leaks: Vec<_> = rows
        .iter()
        .filter(|row| row["outcome"] != "refused" && !SHARED.contains(&row["name"].as_str().unwrap()))
        .collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
    assert!(ATTACKS <= rows.len(), "only {} attacks", rows.len());
    assert_eq!(client.end(), Some(0));
    assert_eq!(look_at(&machine), before);
    machine.was_not_reached_but_by_its_network();
    println!("{} attacks, 0 leaks", rows.len());
}

/// The state of everything on the machine that an attack could change, without what the agent and the proxy keep.
fn look_at(machine: &Machine) -> Vec<String> {
    let kept = [".claude/projects", ".local"].map(|path| machine.home().join(path).display().to_string());
    let is_kept = |line: &String| kept.iter().any(|path| line.contains(path));
    machine.look().into_iter().filter(|line| !is_kept(line)).collect()
}
