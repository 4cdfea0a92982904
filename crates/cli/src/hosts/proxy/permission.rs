//! Answers a question of the second agent: whether a call may run without the user. Nothing here does IO.

use headstart_machine::shell_words::shell_line;
use headstart_tool_gate::{Access, CallRef, Decision, EffectKind, Gate, GateContext, Reason, Verdict};
use headstart_workspace_path::WorkspacePath;
use serde_json::{Map, Value, json};

/// Whether a call may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PermissionVerdict {
    Allowed,
    /// The user is asked, if they accept the work.
    Boundary(Boundary),
}

/// Why a call waits for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Boundary {
    pub(super) why: String,
    /// Whether the view can do the call once the user agrees. It cannot if the call writes outside the workspace or
    /// needs this machine, because only the first agent can do that.
    pub(super) holds_in_view: bool,
}

/// Says why programs of these names must not be started; `None` if there is no reason.
pub(super) type ProgramCheck = Box<dyn Fn(&[String]) -> Option<String> + Send>;

/// What the answers depend on.
pub(super) struct PermissionRules {
    pub(super) gate: GateContext,
    /// Why these programs must not be started by name, if there is a reason.
    pub(super) programs: ProgramCheck,
}

/// Fields in which agents name a file.
const PATHS: [&str; 14] = [
    "path",
    "paths",
    "file_path",
    "filePath",
    "filepath",
    "notebook_path",
    "notebookPath",
    "absolute_path",
    "absolutePath",
    "oldPath",
    "newPath",
    "source",
    "destination",
    "directory",
];
/// Fields in which agents say that a command needs an address, or something outside the project.
const MORE: [&str; 2] = ["url", "additionalPermissions"];
/// Fields in which agents name the folder of a command.
const FOLDERS: [&str; 4] = ["cwd", "workdir", "working_directory", "directory"];

impl PermissionRules {
    /// Judges a call as the agent describes it in its question. `awaits_answer` says whether the call waits for the
    /// answer; otherwise it already runs, because the agent considers it harmless.
    pub(super) fn judge(&self, call: &Value, awaits_answer: bool) -> PermissionVerdict {
        let nothing = Map::new();
        let input = call["rawInput"].as_object().unwrap_or(&nothing);
        let names_files = |name: &str| call[name].as_array().is_some_and(|named| !named.is_empty());
        if input.is_empty() && !(names_files("locations") || names_files("content")) {
            return boundary("the agent does not tell what the call is", false);
        }
        match call["kind"].as_str().unwrap_or("other") {
            "execute" => self.command(input, awaits_answer),
            "edit" | "delete" | "move" => self.files(call, input, Access::Write),
            "read" | "search" => self.files(call, input, Access::Read),
            "fetch" => boundary("the call reaches the network", true),
            kind => boundary(&format!("a call of the kind {kind:?} may do anything"), true),
        }
    }

    fn command(&self, input: &Map<String, Value>, awaits_answer: bool) -> PermissionVerdict {
        let Some(command) = command_line(input) else {
            return boundary("there is no command that the gate can read", false);
        };
        if input.get("run_in_background").is_some_and(|value| *value != Value::Bool(false)) {
            return boundary("what runs in the background outlives its answer", false);
        }
        if MORE.iter().any(|name| input.contains_key(*name)) {
            return boundary("the command is to have more rights than a command has", true);
        }
        let mut folders = FOLDERS.iter().filter_map(|name| input.get(*name)?.as_str());
        let directory = folders.next().unwrap_or(&self.gate.workspace).to_owned();
        let args = json!({ "command": command, "directory": directory });
        let args = args.as_object().expect("works because it is written as an object");
        let name = &*headstart_tool_gate::built_in::SHELL.name;
        let ahead = Gate::new().judge_ahead(CallRef { name, args }, &self.gate);
        let elsewhere = Gate::new().judge_elsewhere(args, &directory, &self.gate);
        let stays = stays_inside(&command, &self.gate.workspace);
        let is_fine = elsewhere.verdict.decision == Decision::Allow || writes_here(&ahead) && stays;
        if !is_fine {
            let holds = ahead.decision == Decision::Shadow && (ahead.reason != Reason::Writes || stays);
            let verdict = if ahead.decision == Decision::Allow { &elsewhere.verdict } else { &ahead };
            return boundary(&verdict.detail, holds);
        }
        // Git runs programs that a repository's configuration names, unless it is started with options against that,
        // and the agent's shell cannot be made to add them.
        if awaits_answer && elsewhere.verdict.hardened.is_some() {
            return boundary("git would have to be told to run nothing of the repository's", true);
        }
        if awaits_answer && elsewhere.leaves_folder {
            return boundary(
                "the shell would stay in another folder, where later commands mean something else",
                true,
            );
        }
        if let Some(why) = (self.programs)(&elsewhere.programs) {
            return boundary(&why, true);
        }
        PermissionVerdict::Allowed
    }

    /// Allows a call if each path that it names is in the workspace and no rule closes it. An edit must name a path; a
    /// call that reads without naming one reads the workspace.
    fn files(&self, call: &Value, input: &Map<String, Value>, access: Access) -> PermissionVerdict {
        let mut named = Vec::new();
        for place in call["locations"].as_array().into_iter().flatten() {
            named.extend(place["path"].as_str());
        }
        for content in call["content"].as_array().into_iter().flatten() {
            named.extend(content["path"].as_str());
        }
        for field in PATHS.iter().filter_map(|name| input.get(*name)) {
            match field {
                Value::String(path) => named.push(path),
                Value::Array(paths) => named.extend(paths.iter().filter_map(Value::as_str)),
                _ => {}
            }
        }
        // A patch names a path for each of its changes.
        for path in input.get("changes").and_then(Value::as_object).into_iter().flat_map(Map::keys) {
            named.push(path);
        }
        if named.is_empty() && access == Access::Write {
            return boundary("the call does not tell which file it changes", false);
        }
        for path in named {
            let Ok(path) = WorkspacePath::resolve(path, &self.gate.workspace) else {
                return boundary(&format!("{path} is outside the workspace"), false);
            };
            let verdict = Gate::new().judge_path(access, &path, &self.gate);
            if verdict.decision == Decision::Boundary {
                return boundary(&verdict.detail, false);
            }
        }
        PermissionVerdict::Allowed
    }
}

fn boundary(why: &str, holds_in_view: bool) -> PermissionVerdict {
    PermissionVerdict::Boundary(Boundary { why: why.to_owned(), holds_in_view })
}

/// The line for the shell. A list holds the arguments of a program, which is often a shell itself.
fn command_line(input: &Map<String, Value>) -> Option<String> {
    let given = ["command", "cmd"].iter().find_map(|name| input.get(*name))?;
    if let Some(text) = given.as_str() {
        return Some(text.to_owned());
    }
    let words: Option<Vec<&str>> = given.as_array()?.iter().map(Value::as_str).collect();
    let words = words.filter(|words| !words.is_empty())?;
    if let [shell, "-c" | "-lc", line] = words.as_slice()
        && ["bash", "sh"].contains(&shell.rsplit('/').next().unwrap_or_default())
    {
        return Some((*line).to_owned());
    }
    Some(shell_line(words))
}

/// Whether writing to the workspace is all that a command does besides reading.
fn writes_here(verdict: &Verdict) -> bool {
    let known = |kind| matches!(kind, EffectKind::ReadOnly | EffectKind::WritesWorkspace);
    verdict.decision == Decision::Shadow
        && verdict.reason == Reason::Writes
        && verdict.effects.iter().all(|effect| known(effect.kind))
}

/// Whether no word of a command can be a path outside the workspace. The gate does not check where a program writes,
/// because a view discards what is written outside it. Here that is not enough, because the agent would believe that
/// the files exist.
fn stays_inside(command: &str, workspace: &str) -> bool {
    if command.contains(['~', '$', '`', '\\', '{', '\0']) || command.contains("..") {
        return false;
    }
    let apart = |c: char| c.is_whitespace() || "'\"=;|&<>(),:".contains(c);
    command
        .split(apart)
        .filter(|word| word.starts_with('/'))
        .all(|word| word == "/dev/null" || WorkspacePath::resolve(word, workspace).is_ok())
}

/// The option of a question that allows this call once.
pub(super) fn allows_once(question: &Value) -> Option<&str> {
    let options = question["params"]["options"].as_array()?;
    options.iter().find(|option| option["kind"] == "allow_once")?["optionId"].as_str()
}

#[cfg(test)]
mod tests {
    use headstart_tool_gate::DenyRules;

    use super::*;

    fn rules() -> PermissionRules {
        let gate = GateContext {
            workspace: "/home/ada/p".to_owned(),
            views: true,
            ahead_writes: headstart_tool_gate::AheadWrites::Ask,
            deny: DenyRules::new([headstart_tool_gate::DenyRule("private/**".to_owned())]).unwrap(),
            ..GateContext::default()
        };
        let programs = |names: &[String]| names.iter().find(|name| *name == "awk").map(|_| "odd".to_owned());
        PermissionRules { gate, programs: Box::new(programs) }
    }

    fn judged(call: &Value) -> &'static str {
        match rules().judge(call, true) {
            PermissionVerdict::Allowed => "allowed",
            PermissionVerdict::Boundary(Boundary { holds_in_view: true, .. }) => "waits",
            PermissionVerdict::Boundary(_) => "waits for the first agent",
        }
    }

    #[test]
    fn a_command_goes_on_if_it_reads_or_writes_here() {
        for (command, expected) in [
            ("ls -la src", "allowed"),
            ("echo x > made.txt", "allowed"),
            ("mkdir -p a/b && touch a/b/c", "allowed"),
            ("cp a.txt /home/ada/p/b.txt", "allowed"),
            ("cargo test", "waits"),
            ("npm install", "waits"),
            ("curl http://example.org", "waits for the first agent"),
            ("git status", "waits"),
            ("awk 1 a.txt", "waits"),
            ("cd src && ls", "waits"),
            ("cp a.txt ~/b", "waits for the first agent"),
            ("cp a.txt ../b", "waits for the first agent"),
            ("echo x > /tmp/x", "waits for the first agent"),
            ("touch /home/ada/other", "waits for the first agent"),
            ("echo x > .git/hooks/pre-commit", "waits for the first agent"),
            ("echo x > private/x", "waits for the first agent"),
            ("cat .env", "waits for the first agent"),
            ("ssh host true", "waits for the first agent"),
            ("docker run x", "waits for the first agent"),
            ("kill 1", "waits for the first agent"),
        ] {
            let call = json!({ "kind": "execute", "rawInput": { "command": command } });
            assert_eq!(judged(&call), expected, "{command}");
            let list = json!({ "kind": "execute", "rawInput": { "command": ["/bin/bash", "-lc", command] } });
            assert_eq!(judged(&list), expected, "{command}");
        }
        for input in [
            json!({}),
            json!({ "command": 7 }),
            json!({ "command": [] }),
            json!({ "command": ["ls", 7] }),
            json!({ "command": "ls", "cwd": "/etc" }),
            json!({ "command": "sleep 9", "run_in_background": true }),
        ] {
            let call = json!({ "kind": "execute", "rawInput": input });
            assert_eq!(judged(&call), "waits for the first agent", "{input}");
        }
        for more in [json!({ "url": "https://example.org" }), json!({ "additionalPermissions": {} })] {
            let mut input = more;
            input["command"] = "ls".into();
            assert_eq!(judged(&json!({ "kind": "execute", "rawInput": input })), "waits", "{input}");
        }
        let elsewhere =
            json!({ "kind": "execute", "rawInput": { "command": ["python3", "-c", "print(1)"] } });
        assert_eq!(judged(&elsewhere), "waits");
    }

    #[test]
    fn an_edit_goes_on_if_every_path_is_of_the_workspace() {
        let at = |path: &str| json!([{ "path": path }]);
        for (kind, locations, input, expected) in [
            ("edit", at("/home/ada/p/a.txt"), json!({ "file_path": "/home/ada/p/a.txt" }), "allowed"),
            ("delete", json!([]), json!({ "path": "a.txt" }), "allowed"),
            ("move", json!([]), json!({ "source": "a", "destination": "b" }), "allowed"),
            ("read", json!([]), json!({ "pattern": "x" }), "allowed"),
            (
                "edit",
                at("/home/ada/p/a.txt"),
                json!({ "file_path": "/etc/passwd" }),
                "waits for the first agent",
            ),
            (
                "edit",
                at("/home/ada/.bashrc"),
                json!({ "file_path": "/home/ada/p/a.txt" }),
                "waits for the first agent",
            ),
            ("edit", at("/home/ada/p/../.bashrc"), json!({ "x": 1 }), "waits for the first agent"),
            ("edit", at("/home/ada/p/.git/config"), json!({ "x": 1 }), "waits for the first agent"),
            ("edit", at("/home/ada/p/private/a"), json!({ "x": 1 }), "waits for the first agent"),
            ("edit", json!([]), json!({ "x": 1 }), "waits for the first agent"),
            (
                "edit",
                json!([]),
                json!({ "changes": { "/home/ada/p/a": {}, "/etc/x": {} } }),
                "waits for the first agent",
            ),
            ("read", at("/home/ada/.ssh/id_ed25519"), json!({ "x": 1 }), "waits for the first agent"),
            ("read", json!([]), json!({ "file_path": "/home/ada/p/.env" }), "waits for the first agent"),
            // Some agents name only the paths.
            ("edit", at("/home/ada/p/a.txt"), json!({}), "allowed"),
            ("edit", at("/home/ada/a.txt"), json!({}), "waits for the first agent"),
            ("edit", json!([]), json!({}), "waits for the first agent"),
            ("execute", at("/home/ada/p/a.txt"), json!({}), "waits for the first agent"),
            ("other", at("/home/ada/p/a.txt"), json!({}), "waits"),
            ("fetch", json!([]), json!({ "url": "http://example.org" }), "waits"),
            ("other", json!([]), json!({ "x": 1 }), "waits"),
        ] {
            let call = json!({ "kind": kind, "locations": locations, "rawInput": input });
            assert_eq!(judged(&call), expected, "{kind} {locations} {input}");
        }
    }

    #[test]
    fn a_yes_is_for_one_call() {
        let option = |kind: &str| json!({ "optionId": kind, "kind": kind });
        let question = |options: Value| json!({ "params": { "options": options } });
        let both = question(json!([option("allow_always"), option("allow_once")]));
        assert_eq!(allows_once(&both), Some("allow_once"));
        assert_eq!(allows_once(&question(json!([option("allow_always")]))), None);
        assert_eq!(allows_once(&json!({})), None);
    }
}
