//! Agents that run on Node.js, and whether the installed Node.js is new enough for them.

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use headstart_machine::system::find_program;
use semver::{Version, VersionReq};
use serde_json::Value;

/// The time limit for the question for the version, which is answered at once or never.
const SAYS_WITHIN: Duration = Duration::from_secs(5);
/// The most bytes that are read of a program to find out what runs it.
const HEAD: u64 = 128;

/// Agents as packages: the program that `doctor` looks for, the package, and the Node.js versions that the tried
/// version of it requires. The table is needed because `npx` has the files of a package only once it runs.
pub(crate) const AGENTS: [(&str, &str, &str); 5] = [
    ("claude-agent-acp", "@agentclientprotocol/claude-agent-acp", ">=22"),
    ("codex-acp", "@agentclientprotocol/codex-acp", ">=18"),
    ("claude", "@anthropic-ai/claude-code", ">=22"),
    ("qwen", "@qwen-code/qwen-code", ">=22"),
    ("gemini", "@google/gemini-cli", ">=20"),
];

/// What is wrong with the Node.js that would run this command; `None` if nothing is, or if Node.js does not run it.
/// Programs are searched for in `path`.
pub(crate) async fn trouble(command: &[String], path: Option<&OsStr>) -> Option<String> {
    let needed = requirement_of(command, path)?;
    let Some(node) = needed.node.or_else(|| find("node", path)) else {
        return Some(format!("{} needs Node.js, and there is no node in PATH", needed.who));
    };
    let version = version_of(&node).await?;
    let fits = needed.versions.split("||").filter_map(requirement).any(|versions| versions.matches(&version));
    let then = if needed.is_fetched { "; npm takes an older version of it then, without a word" } else { "" };
    (!fits).then(|| {
        format!("{} wants Node.js {}, and {} is {version}{then}", needed.who, needed.versions, node.display())
    })
}

/// What an agent requires.
struct NodeRequirement {
    who: String,
    /// The Node.js versions, in npm's notation.
    versions: String,
    /// The Node.js program, if the command names it.
    node: Option<PathBuf>,
    /// Whether npm chooses a version of the agent.
    is_fetched: bool,
}

/// The name of a program, without the ending that it has on Windows.
fn program_name(program: &str) -> Option<&str> {
    let path = Path::new(program);
    if cfg!(windows) { path.file_stem() } else { path.file_name() }?.to_str()
}

fn requirement_of(command: &[String], path: Option<&OsStr>) -> Option<NodeRequirement> {
    let (program, arguments) = command.split_first()?;
    let mut words = arguments.iter().filter(|word| !word.starts_with('-'));
    match program_name(program)? {
        "npx" => package_requirement(words.next()?),
        "npm" => words
            .next()
            .filter(|word| *word == "exec" || *word == "x")
            .and_then(|_| package_requirement(words.next()?)),
        "node" => of_script(Path::new(words.next()?), find(program, path)),
        _ => {
            let file = find(program, path)?;
            let mut head = Vec::new();
            std::fs::File::open(&file).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
            let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
            let line = String::from_utf8_lossy(line);
            line.split([' ', '/']).any(|word| word.trim() == "node").then(|| of_script(&file, None))?
        }
    }
}

/// A package, in the notation of `npx`.
fn package_requirement(named: &str) -> Option<NodeRequirement> {
    let at = named.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
    let (package, version) = at.map_or((named, ""), |at| (&named[..at], &named[at + 1..]));
    let (_, _, versions) = AGENTS.iter().find(|(_, known, _)| *known == package)?;
    // If the name has an exact version, npm does not choose one.
    let is_fetched = Version::parse(version).is_err();
    Some(NodeRequirement { who: named.to_owned(), versions: (*versions).to_owned(), node: None, is_fetched })
}

/// What the package of a script requires, according to its manifest.
fn of_script(script: &Path, node: Option<PathBuf>) -> Option<NodeRequirement> {
    let script = script.canonicalize().ok()?;
    let manifest =
        script.ancestors().skip(1).map(|folder| folder.join("package.json")).find(|file| file.is_file())?;
    let manifest: Value = serde_json::from_slice(&std::fs::read(manifest).ok()?).ok()?;
    let (name, versions) = (manifest["name"].as_str()?, manifest["engines"]["node"].as_str()?);
    let version = manifest["version"].as_str().unwrap_or_default();
    Some(NodeRequirement {
        who: format!("{name} {version}"),
        versions: versions.to_owned(),
        node,
        is_fetched: false,
    })
}

/// One of the alternatives in npm's notation. An alternative that cannot be read allows every version.
fn requirement(text: &str) -> Option<VersionReq> {
    // npm writes spaces where cargo writes commas, and allows spaces after an operator.
    let words = text.replace(">= ", ">=").replace("< ", "<").replace("^ ", "^");
    let all: Vec<&str> = words.split_whitespace().collect();
    VersionReq::parse(&all.join(", ")).ok().or_else(|| Some(VersionReq::STAR))
}

async fn version_of(node: &Path) -> Option<Version> {
    let mut asks = tokio::process::Command::new(node);
    asks.arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(SAYS_WITHIN, asks.output()).await.ok()?.ok()?;
    let version = String::from_utf8_lossy(&output.stdout);
    Version::parse(version.trim().trim_start_matches('v')).ok()
}

/// The path of a program.
pub(crate) fn find(program: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|file| file.is_file());
    }
    find_program(program, std::env::split_paths(path?))
}
