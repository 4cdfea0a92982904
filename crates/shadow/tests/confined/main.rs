//! Commands that may only read, on real files: what the kernel denies them, whatever the command is.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a confined command is a process with files"
)]
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap as tests do")]

#[path = "../support/state.rs"]
mod state;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};

use headstart_shadow::{Confinement, NOT_CONFINED, can_confine, confined_entry};
use headstart_workspace_path::WorkspacePath;
use libtest_mimic::{Arguments, Trial};
use tempfile::TempDir;

use crate::state::state;

const TESTS: &[(&str, fn())] = &[
    ("what_only_reads_runs", what_only_reads_runs),
    ("what_writes_or_leaves_the_workspace_fails", what_writes_or_leaves_the_workspace_fails),
    ("no_attribute_is_changed", no_attribute_is_changed),
    ("nobody_else_is_held_up", nobody_else_is_held_up),
    ("no_connection_is_opened", no_connection_is_opened),
    ("a_program_of_the_workspace_does_not_run", a_program_of_the_workspace_does_not_run),
    ("what_is_closed_is_not_read_whatever_the_command", what_is_closed_is_not_read_whatever_the_command),
    ("another_name_opens_nothing_closed", another_name_opens_nothing_closed),
    ("what_a_closed_link_leads_to_is_closed", what_a_closed_link_leads_to_is_closed),
    (
        "the_settings_of_git_are_closed_where_git_does_not_run",
        the_settings_of_git_are_closed_where_git_does_not_run,
    ),
    ("what_git_keeps_is_closed_where_there_is_a_rule", what_git_keeps_is_closed_where_there_is_a_rule),
    ("what_a_rule_covers_is_closed", what_a_rule_covers_is_closed),
    ("what_is_open_is_read", what_is_open_is_read),
    ("what_never_ends_is_not_opened", what_never_ends_is_not_opened),
    ("what_lies_around_is_read_if_that_is_said", what_lies_around_is_read_if_that_is_said),
    ("what_cannot_be_confined_does_not_run", what_cannot_be_confined_does_not_run),
    ("a_command_cannot_write_a_refusal", a_command_cannot_write_a_refusal),
];

/// The host's part: decides which paths no command may read.
fn closes(confinement: &Confinement) -> Result<impl Fn(&Path, &WorkspacePath) -> bool + use<>, String> {
    let (closes, rules) = (confinement.closes, confinement.rules.clone());
    if rules.iter().any(String::is_empty) {
        return Err("a rule is empty".to_owned());
    }
    let is_named =
        move |path: &WorkspacePath| path.names().any(|name| rules.iter().any(|rule| rule.as_bytes() == name));
    Ok(move |file: &Path, path: &WorkspacePath| closes && holds_secret(file, path) || is_named(path))
}

fn holds_secret(file: &Path, path: &WorkspacePath) -> bool {
    if path.names().any(|name| name == b".git") {
        return fs::read_to_string(file).is_ok_and(|text| text.contains("hush"));
    }
    let is_secret = |name: &[u8]| {
        let name = name.to_ascii_lowercase();
        name == b".env" || name == b"keys" || name.ends_with(b".pem")
    };
    path.names().any(is_secret)
}

fn main() -> ExitCode {
    if let Some(code) = confined_entry(std::env::args_os(), closes) {
        return code;
    }
    assert!(can_confine(), "these tests need Landlock");
    let trial = |(name, test): &(&str, fn())| {
        let test = *test;
        Trial::test(*name, move || {
            test();
            Ok(())
        })
    };
    libtest_mimic::run(&Arguments::from_args(), TESTS.iter().map(trial).collect()).exit_code()
}

struct Place {
    folder: TempDir,
    closes: bool,
    rules: &'static [&'static str],
    starts_git: bool,
    /// Whether the folder around the workspace is shown.
    shows_around: bool,
}

impl Place {
    /// A workspace with some closed files, a scratch folder, and a folder outside them.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for made in ["workspace/src/deep", "workspace/keys", "workspace/docs", "scratch", "elsewhere"] {
            fs::create_dir_all(folder.path().join(made)).unwrap();
        }
        for shown in ["a.txt", "src/main.rs", "docs/a.md", "src/deep/x.rs", "src/.env.example"] {
            fs::write(folder.path().join("workspace").join(shown), "KEY=shown\n").unwrap();
        }
        for closed in [".env", "src/deep/Server.PEM", "keys/any", "src/.ENV"] {
            fs::write(folder.path().join("workspace").join(closed), "KEY=hush\n").unwrap();
        }
        fs::write(folder.path().join("elsewhere/secret"), "outside\n").unwrap();
        let place = Self { folder, closes: true, rules: &[], starts_git: false, shows_around: false };
        symlink("../.env", place.workspace().join("docs/link")).unwrap();
        fs::hard_link(place.workspace().join("docs/a.md"), place.workspace().join("docs/b.md")).unwrap();
        place
    }

    fn workspace(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("workspace")
    }

    fn process(&self, command: &str, path: &str) -> Command {
        let scratch = self.folder.path().join("scratch");
        let confinement = Confinement {
            closes: self.closes,
            rules: self.rules.iter().map(|rule| (*rule).to_owned()).collect(),
            starts_git: self.starts_git,
            around: self.shows_around.then(|| self.workspace().parent().unwrap().to_owned()),
            ..Confinement::new(self.workspace(), scratch)
        };
        let line = ["--noprofile", "--norc", "-c", "--", command];
        let mut process = Command::new("/proc/self/exe");
        process
            .args(confinement.arguments("/bin/bash", line))
            .current_dir(self.workspace())
            .env_clear()
            .env("PATH", path)
            .envs(confinement.environment())
            .stdin(Stdio::null());
        process
    }

    fn run(&self, command: &str) -> Output {
        self.process(command, "/usr/bin:/bin").output().unwrap()
    }

    /// Lists everything but the scratch folder, with the times of the last change.
    fn look(&self) -> Vec<String> {
        ["workspace", "elsewhere"].iter().flat_map(|part| state(&self.folder.path().join(part))).collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn what_only_reads_runs() {
    let place = Place::new();
    for (command, expected) in [
        ("cat a.txt", "KEY=shown\n"),
        ("cat < a.txt | sort > /dev/null; echo $?", "0\n"),
        ("cat <(echo one) <<< two", "one\n"),
        ("seq 3 | tac | head -n 1", "3\n"),
        ("echo kept > \"$TMPDIR/x\" && cat \"$TMPDIR/x\"", "kept\n"),
    ] {
        let output = place.run(command);
        assert_eq!(text(&output.stdout), expected, "{command}: {}", text(&output.stderr));
    }
}

fn what_writes_or_leaves_the_workspace_fails() {
    let place = Place::new();
    let before = place.look();
    for command in [
        "touch new",
        "echo x > a.txt",
        "rm a.txt",
        "mkdir sub",
        "mv a.txt b.txt",
        "ln -s /etc link",
        "ln a.txt other",
        "mkfifo pipe",
        "truncate -s 0 a.txt",
        "echo x > ../elsewhere/new",
        "cat ../elsewhere/secret",
        "ls ../elsewhere",
        "cp /bin/true \"$TMPDIR/run\"; chmod +x \"$TMPDIR/run\"; \"$TMPDIR/run\"",
        "kill -0 $PPID",
        "head -c 300000000 /dev/zero > \"$TMPDIR/big\"",
    ] {
        let output = place.run(command);
        assert!(!output.status.success(), "{command}: {output:?}");
        assert!(!text(&output.stdout).contains("outside"), "{command}");
        assert_eq!(place.look(), before, "{command}");
    }
}

fn no_attribute_is_changed() {
    let place = Place::new();
    let before = place.look();
    let set_attribute = nix::libc::SYS_setxattr;
    let calls = format!(
        "perl -e 'exit 1 unless syscall({set_attribute}, \"a.txt\", \"user.x\", \"y\", 1, 0) == 0 \
         || utime(1, 1, \"a.txt\") || chmod(0600, \"a.txt\") || chown((stat \"a.txt\")[4, 5], \"a.txt\")'"
    );
    for command in [
        "chmod 666 /proc/self/fd/0",
        "chmod 600 a.txt",
        "chown $(id -u) a.txt",
        "touch -d 2001-01-01 a.txt",
        &calls,
    ] {
        let output = place.run(command);
        assert!(!output.status.success(), "{command}: {output:?}");
        assert_eq!(place.look(), before, "{command}");
    }
}

/// A lock, a lease or a notice on a file, of the system's or the workspace's, would hold up programs that use it as well.
fn nobody_else_is_held_up() {
    let place = Place::new();
    let (lease, notice) = (nix::libc::F_SETLEASE, nix::libc::F_NOTIFY);
    let for_reading = nix::libc::F_RDLCK;
    // `DN_ACCESS`, which the library lacks.
    let on_access = 1;
    for call in [
        "open F, \"/usr/bin/env\"; flock F, 6".to_owned(),
        "open F, \"a.txt\"; flock F, 5".to_owned(),
        format!("open F, \"a.txt\"; fcntl F, {lease}, {for_reading}"),
        format!("open F, \".\"; fcntl F, {notice}, {on_access}"),
    ] {
        let script = format!("{call} or exit 7");
        let mut open = Command::new("perl");
        open.args(["-e", &script]).current_dir(place.workspace());
        assert!(open.status().unwrap().success(), "it works where nothing confines: {call}");
        let output = place.run(&format!("perl -e '{script}'"));
        assert_eq!(output.status.code(), Some(7), "{call}: {output:?}");
    }
}

fn no_connection_is_opened() {
    let place = Place::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let output = place.run(&format!("exec 3<>/dev/tcp/127.0.0.1/{port}"));
    assert!(!output.status.success(), "{output:?}");
    server.set_nonblocking(true).unwrap();
    assert!(server.accept().is_err(), "somebody connected");
}

fn a_program_of_the_workspace_does_not_run() {
    let place = Place::new();
    let output = place.run("/lib64/ld-linux-x86-64.so.2 ./a.txt; ./a.txt; PATH=. a.txt; . ./a.txt; true");
    let said = text(&output.stderr);
    assert!(said.contains("./a.txt: Permission denied"), "{said}");
    assert!(output.stdout.is_empty(), "{output:?}");
}

fn what_is_closed_is_not_read_whatever_the_command() {
    let place = Place::new();
    for command in [
        "grep -rh KEY .",
        "cat .env; cat .e*; cat .?nv; cat keys/* src/deep/* src/.E*",
        "cat docs/link; cat src/../.env; cat \"$PWD/.env\"",
        "find . -type f -exec cat {} +",
        "tar cf - . | tr -d '\\0'",
        "while read -r x; do echo $x; done < .env",
        "cd keys && cat *",
        "cat /proc/self/cwd/.env /proc/self/root$PWD/.env",
    ] {
        let said = text(&place.run(command).stdout);
        assert!(!said.contains("hush"), "{command}: {said}");
    }
    // All other files can be read, and the names of closed files can be listed.
    let said = text(&place.run("grep -rh KEY . | sort | uniq -c; ls -A").stdout);
    assert!(said.contains(" 6 KEY=shown") && said.contains(".env\n"), "{said}");
}

fn another_name_opens_nothing_closed() {
    let place = Place::new();
    let workspace = place.workspace();
    fs::create_dir_all(workspace.join("node_modules/x")).unwrap();
    for (closed, other) in [
        (".env", "notes.txt"),
        (".env", "docs/deep.md"),
        ("keys/any", "src/any.rs"),
        ("src/deep/Server.PEM", "node_modules/x/index.js"),
        (".env", ".git/hooks/kept"),
        (".env", ".git/lfs/objects/ab/kept"),
        (".env", "unlisted/kept"),
    ] {
        let other = workspace.join(other);
        fs::create_dir_all(other.parent().unwrap()).unwrap();
        fs::hard_link(workspace.join(closed), other).unwrap();
    }
    fs::write(workspace.join("unlisted/.env"), "KEY=hush\n").unwrap();
    fs::set_permissions(workspace.join("unlisted"), fs::Permissions::from_mode(0o311)).unwrap();
    for command in [
        "cat notes.txt docs/deep.md src/any.rs node_modules/x/index.js",
        "cat .git/hooks/kept .git/lfs/objects/ab/kept unlisted/kept unlisted/.env",
        "grep -rh KEY .",
        "cat < notes.txt; head -1 docs/*",
        "find . -type f -exec cat {} +",
    ] {
        let said = text(&place.run(command).stdout);
        assert!(!said.contains("hush"), "{command}: {said}");
    }
    // Who cannot list a folder cannot say whose other name a file in it is.
    let hidden = workspace.join("hidden");
    fs::create_dir(&hidden).unwrap();
    fs::write(hidden.join("any.pem"), "KEY=hush\n").unwrap();
    fs::hard_link(hidden.join("any.pem"), workspace.join("plain.txt")).unwrap();
    fs::set_permissions(&hidden, fs::Permissions::from_mode(0o300)).unwrap();
    assert_eq!(text(&place.run("cat plain.txt hidden/any.pem").stdout), "");
    // What git or its helpers keep in the repository's own folder is closed by its name as elsewhere.
    for file in [".git/any.pem", ".git/foo/.env", ".git/modules/refs/any.pem"] {
        let file = workspace.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "KEY=hush\n").unwrap();
    }
    let place = Place { starts_git: true, ..place };
    assert_eq!(
        text(&place.run("cat .git/hooks/kept .git/lfs/objects/ab/kept unlisted/kept plain.txt").stdout),
        ""
    );
    assert_eq!(text(&place.run("cat .git/*.pem .git/foo/.env .git/modules/refs/any.pem").stdout), "");
    // Two names of an open file are both open.
    assert_eq!(text(&place.run("cat docs/a.md docs/b.md").stdout), "KEY=shown\nKEY=shown\n");
}

fn what_a_closed_link_leads_to_is_closed() {
    let mut place = Place::new();
    let workspace = place.workspace();
    for file in ["docs/kept", "node_modules/x/kept", "store/deep/kept"] {
        let file = workspace.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "KEY=hush\n").unwrap();
    }
    fs::hard_link(workspace.join("docs/kept"), workspace.join("src/same")).unwrap();
    // Through another link, to a file among packages, to a folder, and to what the link itself is in.
    for (target, link) in [
        ("../docs/between", "src/one.pem"),
        ("kept", "docs/between"),
        ("node_modules/x/kept", "two.pem"),
        ("store", "three.pem"),
        ("..", "src/four.pem"),
        ("gone", "five.pem"),
    ] {
        symlink(target, workspace.join(link)).unwrap();
    }
    for starts_git in [false, true] {
        place.starts_git = starts_git;
        for command in [
            "cat docs/kept docs/between src/same node_modules/x/kept store/deep/kept",
            "cat src/one.pem two.pem three.pem/deep/kept src/four.pem/docs/kept",
            "grep -rh KEY=hush .",
            "find . -type f -exec cat {} + | grep hush",
        ] {
            let said = text(&place.run(command).stdout);
            assert!(!said.contains("hush"), "{command}: {said}");
        }
        assert_eq!(text(&place.run("cat docs/a.md src/main.rs").stdout), "KEY=shown\nKEY=shown\n");
    }
}

fn the_settings_of_git_are_closed_where_git_does_not_run() {
    let place = Place { starts_git: true, ..Place::new() };
    let git = place.workspace().join(".git");
    fs::create_dir_all(git.join("objects")).unwrap();
    fs::write(git.join("config"), "url = https://ada:hush@example.org\n").unwrap();
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    let command = "cat .git/config; grep -r hush .git; cat .git/HEAD";
    assert!(text(&place.run(command).stdout).contains("hush"), "git itself needs it");
    let mut place = Place { starts_git: false, ..place };
    assert_eq!(text(&place.run(command).stdout), "ref: refs/heads/main\n");
    // Those of submodules and of repositories below are as well, where the host says so.
    for (folder, settings) in [
        (".git/modules/parts/one", "url = https://ada:hush@example.org/one\n"),
        (".git/modules/two", "url = https://example.org/two\n"),
        ("src/deep/.git", "url = https://ada:hush@example.org/deep\n"),
    ] {
        fs::create_dir_all(place.workspace().join(folder)).unwrap();
        fs::write(place.workspace().join(folder).join("config"), settings).unwrap();
    }
    assert_eq!(text(&place.run("grep -rh url .git src").stdout), "url = https://example.org/two\n");
    // Where git runs they are open, so nothing of the workspace may lead there.
    for target in [".git", ".git/config", ".git/objects", "src/deep/.git/config"] {
        let link = place.workspace().join("link");
        symlink(target, &link).unwrap();
        place.starts_git = true;
        let (output, why) = with_host_pipe(&mut place.process("cat link", "/usr/bin:/bin"));
        assert!(why.contains("link leads into the folder of a repository"), "{target}: {why} {output:?}");
        place.starts_git = false;
        assert_eq!(text(&place.run("cat link link/config").stdout), "", "{target}");
        fs::remove_file(link).unwrap();
    }
}

fn what_git_keeps_is_closed_where_there_is_a_rule() {
    let place = Place::new();
    for (repository, object) in [
        (".git", "objects/pack/pack-1.pack"),
        (".git", "objects/ab/cdef"),
        (".git/modules/parts/one", "objects/ab/cdef"),
        (".git/worktrees/two", "objects/ab/cdef"),
        ("src/deep/.git", "objects/ab/cdef"),
        ("docs/copy", "objects/ab/cdef"),
    ] {
        let repository = place.workspace().join(repository);
        let object = repository.join(object);
        fs::create_dir_all(object.parent().unwrap()).unwrap();
        fs::write(object, "kept\n").unwrap();
        for made in ["pack", "info"] {
            fs::create_dir_all(repository.join("objects").join(made)).unwrap();
        }
        fs::write(repository.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }
    fs::hard_link(place.workspace().join(".git/objects/ab/cdef"), place.workspace().join("docs/kept"))
        .unwrap();
    fs::create_dir_all(place.workspace().join("src/objects")).unwrap();
    fs::write(place.workspace().join("src/objects/mesh.txt"), "a mesh\n").unwrap();
    let command = "grep -rhs kept .; cat .git/objects/*/* src/deep/.git/objects/ab/cdef; cat docs/kept";
    assert_eq!(text(&place.run(command).stdout).matches("kept").count(), 11, "git itself needs it");
    let place = Place { rules: &["private"], closes: false, ..place };
    assert_eq!(text(&place.run(command).stdout), "");
    let shown = "cat .git/HEAD docs/copy/HEAD src/objects/mesh.txt .env; ls .git";
    assert_eq!(
        text(&place.run(shown).stdout),
        "ref: refs/heads/main\nref: refs/heads/main\na mesh\nKEY=hush\nHEAD\nmodules\nobjects\nworktrees\n"
    );
    let place = Place { closes: true, ..place };
    assert_eq!(text(&place.run(command).stdout), "");
    assert_eq!(text(&place.run("cat .env; cat src/objects/mesh.txt").stdout), "a mesh\n");
}

fn what_a_rule_covers_is_closed() {
    let place = Place::new();
    for file in ["private/plan.txt", "node_modules/one/private"] {
        let file = place.workspace().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "hidden\n").unwrap();
    }
    symlink("../private/plan.txt", place.workspace().join("docs/to-file")).unwrap();
    symlink("../private", place.workspace().join("docs/to-folder")).unwrap();
    fs::hard_link(place.workspace().join("private/plan.txt"), place.workspace().join("docs/same")).unwrap();
    let command =
        "cat docs/to-file docs/to-folder/* docs/same private/plan.txt; cat node_modules/one/private";
    assert_eq!(text(&place.run(command).stdout), "hidden\n".repeat(5));
    let place = Place { rules: &["private"], closes: false, ..place };
    assert_eq!(text(&place.run(command).stdout), "");
    assert_eq!(text(&place.run("cat .env a.txt").stdout), "KEY=hush\nKEY=shown\n");
    let place = Place { starts_git: true, ..place };
    assert_eq!(text(&place.run(command).stdout), "");
    let (output, why) =
        with_host_pipe(&mut Place { rules: &[""], ..place }.process("echo ran", "/usr/bin:/bin"));
    assert_eq!((output.status.code(), why.as_str()), (Some(NOT_CONFINED.into()), "a rule is empty"));
}

fn what_is_open_is_read() {
    let place = Place { closes: false, ..Place::new() };
    assert_eq!(text(&place.run("cat .env").stdout), "KEY=hush\n");
}

/// Runs a process that has the writing end of a pipe as its standard input. Returns what was written there, too.
/// Pipes that nobody writes to, devices, and what the kernel tells of processes, by links of the workspace.
fn what_never_ends_is_not_opened() {
    let place = Place::new();
    for pipe in ["pipe", "src/deep/pipe", "docs/pipe"] {
        let path = place.workspace().join(pipe);
        rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).unwrap();
    }
    let link = |to: &str, name: &str| symlink(to, place.workspace().join(name)).unwrap();
    link("pipe", "to-pipe");
    link("/dev/zero", "zero");
    link("/dev/../dev/urandom", "docs/random");
    link("/dev", "devices");
    link("/dev/tty", "terminal");
    let stays_closed = |command: &str| {
        // The time only ends a test that has failed.
        let done = place.run(&format!("timeout -s KILL 60 {command}"));
        let errors = text(&done.stderr);
        assert!(!matches!(done.status.code(), Some(0 | 137)), "{command}: {:?} {errors}", done.status);
        assert!(errors.contains("Permission denied"), "{command}: {errors}");
    };
    for command in [
        "cat pipe",
        "cat to-pipe",
        "head -c 1 src/deep/pipe",
        "cat docs/*",
        "bash -c 'read line < pipe'",
        "cat zero",
        "wc -c docs/random",
        "cat devices/full",
        "cat terminal",
    ] {
        stays_closed(command);
    }
    assert_eq!(text(&place.run("cat src/main.rs docs/a.md").stdout), "KEY=shown\nKEY=shown\n");
    assert_eq!(text(&place.run("cat /proc/self/comm").stdout), "cat\n");
    link("/proc", "src/processes");
    stays_closed("cat src/processes/self/pagemap");
    stays_closed("cat src/processes/1/cmdline");
    assert_eq!(text(&place.run("cat src/processes/*/cmdline").stdout), "");
}

fn what_lies_around_is_read_if_that_is_said() {
    let around = "cat ../elsewhere/secret; ls ../elsewhere";
    assert_eq!(text(&Place::new().run(around).stdout), "");
    let place = Place { shows_around: true, ..Place::new() };
    assert_eq!(text(&place.run(around).stdout), "outside\nsecret\n");
    let top = place.folder.path();
    fs::write(top.join("elsewhere/.env"), "KEY=hush\n").unwrap();
    // Another name of a file that is closed in the workspace, and one of the workspace for a file that is closed here.
    fs::hard_link(top.join("workspace/.env"), top.join("elsewhere/copy")).unwrap();
    fs::hard_link(top.join("elsewhere/.env"), top.join("workspace/copy")).unwrap();
    for closed in ["../elsewhere/.env", "../elsewhere/copy", "copy", ".env", "keys/any", "../workspace/.env"]
    {
        assert_eq!(text(&place.run(&format!("cat {closed}")).stdout), "", "{closed}");
    }
    assert_eq!(text(&place.run("cat a.txt ../elsewhere/secret").stdout), "KEY=shown\noutside\n");
    place.run("echo x > ../elsewhere/new; echo x >> ../elsewhere/secret");
    assert!(!top.join("elsewhere/new").exists());
    assert_eq!(fs::read_to_string(top.join("elsewhere/secret")).unwrap(), "outside\n");
}

fn with_host_pipe(process: &mut Command) -> (Output, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    let output = process.stdin(writer).output().unwrap();
    process.stdin(Stdio::null());
    (output, std::io::read_to_string(reader).unwrap())
}

fn a_command_cannot_write_a_refusal() {
    let place = Place::new();
    // Descriptors that the test itself has inherited may be pipes that nobody reads.
    let attack = "trap '' PIPE; for n in 0 1 2 3 4 5 6 7 8 9; do echo refused >&$n; done; \
                  for n in /proc/self/fd/* /proc/$$/fd/*; do echo refused > $n; done; \
                  cat; readlink /proc/self/fd/0; exit 125";
    let (output, refusal) = with_host_pipe(&mut place.process(attack, "/usr/bin:/bin"));
    assert_eq!((refusal.as_str(), output.status.code()), ("", Some(NOT_CONFINED.into())), "{output:?}");
    assert!(text(&output.stdout).ends_with("/dev/null\n"), "{output:?}");
    // The pipe ends when the process becomes the command, not only with the command.
    let (reader, writer) = std::io::pipe().unwrap();
    let mut process = place.process("sleep 60", "/usr/bin:/bin");
    let mut running = process.stdin(writer).spawn().unwrap();
    process.stdin(Stdio::null());
    assert_eq!(std::io::read_to_string(reader).unwrap(), "");
    assert!(running.try_wait().unwrap().is_none());
    running.kill().unwrap();
    running.wait().unwrap();
}

fn what_cannot_be_confined_does_not_run() {
    let place = Place::new();
    let refusal = |process: &mut Command| {
        let (output, refusal) = with_host_pipe(process);
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
        assert_eq!(output.status.code(), Some(NOT_CONFINED.into()), "{output:?}");
        refusal
    };
    // A folder of programs may be read as a whole, so one that contains the workspace would open what is closed there.
    let above = place.folder.path().canonicalize().unwrap();
    let mut process = place.process("echo ran", above.to_str().unwrap());
    let why = refusal(&mut process);
    assert!(why.contains("nothing in it can be closed") && why.contains(above.to_str().unwrap()), "{why}");
    // An argument that another version would give is refused.
    let mut process = Command::new("/proc/self/exe");
    let words = place.process("echo ran", "/usr/bin:/bin");
    let words = words.get_args().map(|word| if word == "closes" { "anything".as_ref() } else { word });
    assert_eq!(refusal(process.args(words)), "its arguments are of another version");
    // A host that gave no pipe finds the reason on standard error.
    let output = process.stdin(Stdio::null()).output().unwrap();
    assert!(text(&output.stderr).ends_with("its arguments are of another version\n"), "{output:?}");
    assert_eq!(output.status.code(), Some(NOT_CONFINED.into()), "{output:?}");
    // An ordinary start of the host's program is not taken for a confined command.
    let output = Command::new("/proc/self/exe").arg("--list").output().unwrap();
    assert!(text(&output.stdout).contains("what_only_reads_runs"), "{output:?}");
}
