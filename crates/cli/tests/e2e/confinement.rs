//! Holds what the confinement closes to a command about which nobody was asked, as the binary sets it up.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use headstart_shadow::Confinement;

/// What a command prints that the shell tool runs without asking anybody.
fn confined(command: &str, closes: bool) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().canonicalize().expect("its path");
    let confinement =
        Confinement { closes, ..Confinement::new(root.join("workspace"), root.join("scratch")) };
    for made in [&confinement.workspace, &confinement.scratch] {
        fs::create_dir(made).expect("a folder in it");
    }
    with_secrets(&confinement.workspace);
    let output = Command::new(env!("CARGO_BIN_EXE_headstart"))
        .args(confinement.arguments("/bin/bash", ["--noprofile", "--norc", "-c", "--", command]))
        .current_dir(&confinement.workspace)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .envs(confinement.environment())
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Writes secrets at three depths, one of them with another form of its name, and files that are none. A link leads to
/// a secret, and a file that is none has a second name.
fn with_secrets(workspace: &Path) {
    for folder in ["src/deep", "keys", "docs", "node_modules/x"] {
        fs::create_dir_all(workspace.join(folder)).expect("a folder");
    }
    let files = [".env", ".ENV.local", "src/deep/server.pem", "keys/id_rsa", "src/credentials.json"];
    for file in files {
        fs::write(workspace.join(file), "KEY=hush\n").expect("a file");
    }
    for file in [
        ".env.example",
        "src/main.rs",
        "docs/a.md",
        "keys/id_rsa.pub",
        "src/deep/x.rs",
        "node_modules/x/y.js",
    ] {
        fs::write(workspace.join(file), "KEY=shown\n").expect("a file");
    }
    symlink("../.env", workspace.join("docs/link")).expect("a link");
    fs::hard_link(workspace.join("docs/a.md"), workspace.join("docs/b.md")).expect("a link");
}

#[test]
fn what_holds_a_secret_by_its_name_is_not_read_whatever_the_command() {
    let commands = [
        "grep -rh KEY .",
        "grep -rh KEY . --include='.*'",
        "cat .env; cat .e*; cat .?nv; cat keys/* src/*.json src/deep/*",
        "cat docs/link; cat src/../.env; cat \"$PWD/.env\"",
        "find . -type f -exec cat {} +",
        "ls -A | xargs cat",
        "tar cf - . | tr -d '\\0'",
        "while read -r x; do echo $x; done < .env",
        "cd keys && cat *",
    ];
    for command in commands {
        let said = confined(command, true);
        assert!(!said.contains("hush"), "{command}: {said}");
    }
    // All other files can be read, and all names are shown.
    let said = confined("grep -rh KEY . | sort | uniq -c; ls -A", true);
    assert!(said.contains(" 7 KEY=shown") && said.contains(".env\n"), "{said}");
}

#[test]
fn secrets_that_their_user_opened_are_read() {
    assert_eq!(confined("cat .env", false), "KEY=hush\n");
}
