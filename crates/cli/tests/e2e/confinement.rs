//! The second wall: what the kernel keeps from a command that nobody was asked about, whatever the gate missed.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs a command as the shell tool does when nobody was asked.
fn confined(command: &str) -> (tempfile::TempDir, Output) {
    confined_with(command, "secrets-closed", |_| {})
}

/// The same in a workspace with more in it.
fn confined_with(command: &str, secrets: &str, prepare: impl FnOnce(&Path)) -> (tempfile::TempDir, Output) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (workspace, scratch) = (folder.path().join("workspace"), folder.path().join("scratch"));
    for made in [&workspace, &scratch, &folder.path().join("elsewhere")] {
        fs::create_dir(made).expect("a folder in it");
    }
    fs::write(workspace.join("a.txt"), "inside\n").expect("a file");
    fs::write(folder.path().join("elsewhere/secret"), "outside\n").expect("a file");
    prepare(&workspace);
    let output = Command::new(env!("CARGO_BIN_EXE_headstart"))
        .arg("__confined")
        .args([&workspace, &scratch])
        .arg(secrets)
        .args(["/bin/bash", "--noprofile", "--norc", "-c", "--", command])
        .current_dir(&workspace)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("TMPDIR", &scratch)
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs");
    (folder, output)
}

#[test]
fn what_only_reads_runs() {
    let commands = [
        ("cat a.txt", "inside\n"),
        ("cat < a.txt | sort > /dev/null; echo $?", "0\n"),
        ("cat <(echo one) <<< two", "one\n"),
        ("seq 3 | tac | head -n 1", "3\n"),
        ("echo kept > \"$TMPDIR/x\" && cat \"$TMPDIR/x\"", "kept\n"),
    ];
    for (command, expected) in commands {
        let (_folder, output) = confined(command);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{command}: {error}");
    }
}

#[test]
fn what_writes_or_leaves_the_workspace_fails() {
    let commands = [
        "touch new",
        "echo x > a.txt",
        "rm a.txt",
        "mkdir sub",
        "mv a.txt b.txt",
        "ln -s /etc link",
        "chmod 666 /proc/self/fd/0",
        "chmod 600 a.txt",
        "chown $(id -u) a.txt",
        "touch -d 2001-01-01 a.txt",
        "echo x > ../elsewhere/new",
        "cat ../elsewhere/secret",
        "ls ../elsewhere",
        "cp /bin/true \"$TMPDIR/run\"; chmod +x \"$TMPDIR/run\"; \"$TMPDIR/run\"",
        "kill -0 $PPID",
        "head -c 300000000 /dev/zero > \"$TMPDIR/big\"",
    ];
    for command in commands {
        let (folder, output) = confined(command);
        assert!(!output.status.success(), "{command}: {output:?}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("outside"), "{command}");
        let found = fs::metadata(folder.path().join("workspace/a.txt")).expect("the file");
        assert_ne!(found.permissions().mode() & 0o777, 0o600, "{command}");
        assert!(
            found.modified().expect("a time").elapsed().is_ok_and(|age| age.as_secs() < 3600),
            "{command}"
        );
        let names = |path: &str| fs::read_dir(folder.path().join(path)).expect("the folder").count();
        assert_eq!((names("workspace"), names("elsewhere")), (1, 1), "{command}");
        assert_eq!(fs::read_to_string(folder.path().join("workspace/a.txt")).expect("the file"), "inside\n");
    }
}

#[test]
fn no_connection_is_opened() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("an address").port();
    let (_folder, output) = confined(&format!("exec 3<>/dev/tcp/127.0.0.1/{port}"));
    assert!(!output.status.success(), "{output:?}");
    server.set_nonblocking(true).expect("a socket");
    assert!(server.accept().is_err(), "somebody connected");
}

#[test]
fn a_program_of_the_workspace_does_not_run() {
    let (_folder, output) = confined("/lib64/ld-linux-x86-64.so.2 ./a.txt; ./a.txt; . ./a.txt; true");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("./a.txt"), "{said}");
    assert!(output.stdout.is_empty(), "{output:?}");
}

/// Secrets at three depths, a form of one, and two other names for one.
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
        let (_folder, output) = confined_with(command, "secrets-closed", with_secrets);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!said.contains("hush"), "{command}: {said}");
    }
    // All else is there, and so are the names.
    let (_folder, output) =
        confined_with("grep -rh KEY . | sort | uniq -c; ls -A", "secrets-closed", with_secrets);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains(" 7 KEY=shown") && said.contains(".env\n"), "{said}");
}

#[test]
fn secrets_that_their_user_opened_are_read() {
    let (_folder, output) = confined_with("cat .env", "secrets-open", with_secrets);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "KEY=hush\n");
    let (_folder, output) = confined_with("cat .env", "anything", with_secrets);
    assert_eq!(output.status.code(), Some(125), "another word runs nothing");
}
