//! Holds that cargo does ahead what it does in the workspace, in a home as rustup makes it: proxies of programs in
//! `~/.cargo/bin`, a toolchain in `~/.rustup`, and a registry of which cargo has fetched an index and sources.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::shadow::{events, shell};
use crate::support::Session;

/// A session with such a home, and in its workspace a crate whose only dependency is fetched.
fn session() -> Session {
    let session = Session::new().variable("HEADSTART_SHADOW", "");
    let programs = session.home().join(".cargo/bin");
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display());
    let session = session.variable("PATH", &path);
    install(&session.home(), &programs);
    registry(&session);
    session.write("project/.gitignore", "target\n").write(
        "project/src/lib.rs",
        "pub use numerals::roman;\n\n#[test]\nfn four() { assert_eq!(roman(4), \"IV\"); }\n",
    );
    manifest(&session, "numerals");
    plain(&session, "fetch");
    session
}

fn manifest(session: &Session, dependency: &str) {
    session.write(
        "project/Cargo.toml",
        format!("[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\n{dependency} = \"1\"\n"),
    );
}

/// Installs the toolchain that runs this test: behind the proxies if rustup is here, and else by links.
fn install(home: &Path, programs: &Path) {
    let toolchain = "stable-x86_64-unknown-linux-gnu";
    let sysroot = said(Command::new("rustc").args(["--print", "sysroot"]));
    let there = home.join(".rustup/toolchains").join(toolchain);
    for folder in ["bin", "lib"] {
        link_or_copy(&Path::new(&sysroot).join(folder), &there.join(folder));
    }
    let settings = format!(
        "version = \"12\"\ndefault_toolchain = \"{toolchain}\"\nprofile = \"default\"\n\n[overrides]\n"
    );
    fs::write(home.join(".rustup/settings.toml"), settings).unwrap();
    fs::create_dir_all(programs).unwrap();
    let rustup = said(Command::new("sh").args(["-c", "command -v rustup || true"]));
    for program in ["cargo", "rustc", "rustdoc"] {
        let target =
            if rustup.is_empty() { there.join("bin").join(program) } else { PathBuf::from("rustup") };
        symlink(target, programs.join(program)).unwrap();
    }
    if !rustup.is_empty() {
        fs::copy(rustup, programs.join("rustup")).unwrap();
    }
}

fn link_or_copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            link_or_copy(&from, &to);
        } else if fs::hard_link(&from, &to).is_err() {
            fs::copy(&from, &to).unwrap();
        }
    }
}

/// A registry in a folder beside the home, with one crate, that stands for the one of all crates.
fn registry(session: &Session) {
    let root = session.home().with_file_name("registry");
    session
        .write("registry/numerals-1.2.0/Cargo.toml", "[package]\nname = \"numerals\"\nversion = \"1.2.0\"\nedition = \"2021\"\n")
        .write(
            "registry/numerals-1.2.0/src/lib.rs",
            "pub fn roman(number: usize) -> &'static str { [\"\", \"I\", \"II\", \"III\", \"IV\"][number] }\n",
        );
    let packed = "numerals-1.2.0.crate";
    said(Command::new("tar").args(["czf", packed, "numerals-1.2.0"]).current_dir(&root));
    let sum = said(Command::new("sha256sum").arg(packed).current_dir(&root));
    let line = json!({
        "name": "numerals", "vers": "1.2.0", "deps": [], "cksum": sum.split_whitespace().next(), "features": {}, "yanked": false
    });
    let download = format!("file://{}/{{crate}}-{{version}}.crate", root.display());
    session
        .write("registry/index/config.json", json!({ "dl": download }).to_string())
        .write("registry/index/nu/me/numerals", format!("{line}\n"))
        .write(
            "home/.cargo/config.toml",
            format!(
                "[source.crates-io]\nreplace-with = \"beside\"\n\n[source.beside]\nregistry = \"file://{}/index\"\n",
                root.display()
            ),
        );
    for words in [&["init", "--quiet"][..], &["add", "--all"], &["commit", "--quiet", "-m", "one crate"]] {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=test", "-c", "user.email=test@example.com"]).args(words);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        said(git.current_dir(root.join("index")));
    }
}

fn said(command: &mut Command) -> String {
    let done = command.stdin(Stdio::null()).output().unwrap();
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// What cargo prints if the user runs it in the workspace.
fn plain(session: &Session, words: &str) -> String {
    let home = session.home();
    let mut cargo = Command::new(home.join(".cargo/bin/cargo"));
    cargo.args(words.split(' ')).current_dir(session.workspace()).env_clear().env("HOME", &home);
    said(cargo.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", home.join(".cargo/bin").display())))
}

/// The lines that say what tests did.
fn verdicts(output: &str) -> Vec<String> {
    let lines = output.lines().filter(|line| line.starts_with("test "));
    lines.map(|line| line.split("; finished in").next().unwrap().to_owned()).collect()
}

fn run(session: &Session, line: &str) -> Value {
    let words: Vec<_> = ["shadow", "run", "--json", "--"].into_iter().chain(line.split(' ')).collect();
    session.run(&words).json().pop().unwrap()
}

fn ahead(session: &mut Session, line: &str) -> (Value, String) {
    let recording = json!({"turns": [{"toolCalls": [shell(line)]}, {"text": "Done."}]});
    let (outcome, id) = session.speculate(&recording, "auto-edit");
    let read = events(&outcome, "toolResult").iter().map(Value::to_string).collect();
    session.run(&["abort", &id]);
    (outcome.finished(), read)
}

#[test]
fn cargo_works_ahead_with_what_it_fetched() {
    let mut session = session();
    for line in ["cargo check", "cargo build", "cargo test"] {
        let ran = run(&session, line);
        assert_eq!((&ran["exitCode"], &ran["refused"]["outside"]), (&json!(0), &json!([])), "{line}: {ran}");
        assert_eq!(ran["refused"]["network"], 0, "{line}: {ran}");
    }
    for lock in ["the one that cargo wrote", "none"] {
        if lock == "none" {
            fs::remove_file(session.workspace().join("Cargo.lock")).unwrap();
        }
        let (finished, read) = ahead(&mut session, "cargo test");
        assert_eq!(finished["status"], "completed", "lock file: {lock}: {finished}");
        assert!(read.contains("test four ... ok"), "{read}");
    }
    let ran = run(&session, "cargo test");
    let told = verdicts(ran["output"].as_str().unwrap());
    assert!(told.contains(&"test four ... ok".to_owned()), "{ran}");
    assert_eq!(told, verdicts(&plain(&session, "test")));
}

#[test]
fn what_cargo_never_fetched_needs_the_network_which_a_view_has_not() {
    let mut session = session();
    manifest(&session, "unfetched");
    for lock in ["stale", "none"] {
        if lock == "none" {
            fs::remove_file(session.workspace().join("Cargo.lock")).unwrap();
        }
        let ran = session.run(&["shadow", "run", "--", "cargo", "test"]);
        assert_eq!(ran.code, Some(101), "{ran}");
        assert!(ran.stderr.contains("a view has none"), "{ran}");
        let (finished, _) = ahead(&mut session, "cargo test");
        let verdict = &finished["boundary"]["verdict"];
        assert_eq!(verdict["reason"], "needs_host", "{finished}");
        assert!(verdict["detail"].as_str().unwrap().contains("needs the network"), "{finished}");
    }
}

/// A program that is installed is more than a cache.
#[test]
fn what_a_command_writes_beside_caches_stops_work_ahead_and_is_told() {
    let mut session = session();
    let ran =
        session.run(&["shadow", "run", "--", "sh", "-c", "touch ~/.cargo/bin/tool ~/.cargo/.package-cache"]);
    let tool = session.home().join(".cargo/bin/tool");
    let told = format!("written outside the workspace, and gone with the view: {}\n", tool.display());
    assert!(ran.code == Some(0) && ran.stderr.contains(&told) && !tool.exists(), "{ran}");
    for line in ["cp /bin/true ~/.cargo/bin/tool", "cp ok.txt ~/.rustup/settings.toml"] {
        let (finished, _) = ahead(&mut session, &format!("touch ok.txt; {line}"));
        assert_eq!(finished["boundary"]["verdict"]["reason"], "writes_outside", "{line}: {finished}");
    }
}
