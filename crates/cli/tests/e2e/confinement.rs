//! The second wall: what the kernel keeps from a command that nobody was asked about, whatever the gate missed.

use std::fs;
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};

/// Runs a command as the shell tool does when nobody was asked.
fn confined(command: &str) -> (tempfile::TempDir, Output) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (workspace, scratch) = (folder.path().join("workspace"), folder.path().join("scratch"));
    for made in [&workspace, &scratch, &folder.path().join("elsewhere")] {
        fs::create_dir(made).expect("a folder in it");
    }
    fs::write(workspace.join("a.txt"), "inside\n").expect("a file");
    fs::write(folder.path().join("elsewhere/secret"), "outside\n").expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_headstart"))
        .arg("__confined")
        .args([&workspace, &scratch])
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
        "chmod 600 /proc/self/fd/0; echo x >> a.txt",
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
