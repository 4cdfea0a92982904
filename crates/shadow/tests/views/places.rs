//! Workspaces at paths that are hard to write down, and on other file systems.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use headstart_shadow::{Network, Options, Prepared, View};

use crate::place::{Place, Test, ok, tier};
use crate::prepared::prepared;

pub(crate) const TESTS: &[Test] = &[
    ("the_name_of_the_workspace_is_any_bytes", the_name_of_the_workspace_is_any_bytes),
    ("a_workspace_may_be_in_memory", a_workspace_may_be_in_memory),
    ("a_workspace_may_be_below_a_folder_that_a_view_empties", a_workspace_below_an_emptied_folder),
    ("a_workspace_that_holds_mounts_is_refused", a_workspace_that_holds_mounts_is_refused),
    ("what_was_prepared_before_a_mount_is_not_used", || mounted("meanwhile")),
    ("a_mount_over_which_nothing_is_shown_is_closed_all_the_same", || mounted("covered")),
    ("a_workspace_reached_through_a_link_is_where_the_link_leads", a_workspace_reached_through_a_link),
    ("tools_of_the_home_are_there_without_credentials", tools_of_the_home),
    ("what_is_opened_outside_and_left_as_it_was_is_no_write", what_is_left_as_it_was),
    ("what_is_shared_is_written_and_what_is_beside_it_is_not", what_is_shared),
    ("the_machines_network_brings_no_socket_of_its_programs", the_machines_network),
];

/// The first argument with which this test starts itself in its own mount namespace.
pub(crate) const MOUNTED: &str = "__mounted";

fn writes_and_reads(options: &Options) {
    let work = &options.workspace;
    fs::write(work.join("file"), "old").unwrap();
    let mut view = View::start(options).unwrap_or_else(|error| panic!("{}: {error}", work.display()));
    assert_eq!(
        ok(&mut view, "cat file; echo new > file; mkdir x; cat file"),
        "oldnew\n",
        "{}",
        work.display()
    );
    let said = ok(&mut view, "pwd").into_bytes();
    assert_eq!(
        said.strip_suffix(b"\n").map(|said| String::from_utf8_lossy(said).into_owned()),
        Some(work.to_string_lossy().into_owned())
    );
    assert_eq!(fs::read_to_string(work.join("file")).unwrap(), "old");
}

fn the_name_of_the_workspace_is_any_bytes() {
    let names: [&[u8]; 12] = [
        b"a:b",
        b"a,b",
        b"a\\b",
        b"a b",
        b"a\nb",
        b"a\tb",
        b"-n",
        b"$(id)",
        b"'\"",
        "\u{fc}\u{1f600}".as_bytes(),
        b"\xff\xfe",
        b"\\040",
    ];
    for name in names {
        let place = Place::with(&[]);
        let work = place.work().join(OsStr::from_bytes(name)).join("lowerdir=x,upperdir=y");
        fs::create_dir_all(&work).unwrap();
        writes_and_reads(&Options { workspace: work, ..place.options() });
    }
}

fn a_workspace_may_be_in_memory() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    // A folder in `/dev` cannot be shown, nor through a link to it, because a view makes `/dev` anew.
    let error = View::start(&Options::new(folder.path())).unwrap_err().to_string();
    assert!(error.contains("which a view makes anew"), "{error}");
    mounted("tmpfs");
}

fn a_workspace_below_an_emptied_folder() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    fs::write(folder.path().join("beside"), "secret").unwrap();
    let work = folder.path().join("deep/work");
    fs::create_dir_all(&work).unwrap();
    let options = Options::new(work);
    writes_and_reads(&options);
    let mut view = View::start(&options).unwrap();
    assert_eq!(
        ok(&mut view, "find /tmp -mindepth 2 -type d"),
        format!("{0}\n{0}/work\n", folder.path().join("deep").display())
    );
}

fn a_workspace_that_holds_mounts_is_refused() {
    mounted("inner");
    mounted("bind");
}

fn a_workspace_reached_through_a_link() {
    let place = Place::named("real name", &[("file", "old")]);
    let options = Options { workspace: place.home().join("../work"), ..place.options() };
    let mut view = View::start(&options).unwrap();
    assert_eq!(view.workspace(), place.work());
    assert_eq!(ok(&mut view, "cat file"), "old");
}

fn tools_of_the_home() {
    let place = Place::with(&[]);
    let home = place.home();
    for file in [
        ".cargo/bin/tool",
        ".cargo/credentials.toml",
        ".m2/settings.xml",
        ".m2/repository/x",
        ".ssh/id",
        "notes",
        ".cache/uv/x",
    ] {
        let file = home.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "content").unwrap();
    }
    let before = crate::state::state(&home);
    let mut view = place.view();
    let line = format!("cd '{}' && find . -type f | sort", home.display());
    let found = ok(&mut view, &line);
    if tier().copies() {
        // The folders of tools are read-only, and files that hold a secret have empty files over them.
        let all = "./.cache/uv/x\n./.cargo/bin/tool\n./.cargo/credentials.toml\n./.m2/repository/x\n./.m2/settings.xml\n";
        assert_eq!(found, all);
        let line = format!(
            "cd '{}' && cat .cargo/credentials.toml .m2/settings.xml; cat .m2/repository/x; echo x > .cargo/new || rm .cargo/bin/tool || mv .m2/settings.xml .m2/x || echo x > mine",
            home.display()
        );
        let output = crate::place::sh(&mut view, &line);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.starts_with("content") && said.matches("Read-only file system").count() == 3, "{said}");
        assert_eq!(output.refused.outside, [home.join("mine")]);
        assert_eq!(crate::state::state(&home), before);
        return;
    }
    assert_eq!(found, "./.cache/uv/x\n./.cargo/bin/tool\n./.m2/repository/x\n");
    let line = format!(
        "cd '{}' && mkdir .cargo/registry bin && touch .cargo/registry/x .cache/uv/y bin/mine .cargo/bin/new && rm .cargo/bin/tool",
        home.display()
    );
    let output = crate::place::sh(&mut view, &line);
    let mut outside: Vec<String> = output
        .refused
        .outside
        .iter()
        .map(|path| path.strip_prefix(&home).unwrap().display().to_string())
        .collect();
    outside.sort();
    assert_eq!(outside, [".cargo/bin/new", ".cargo/bin/tool", "bin/mine"]);
    assert_eq!(crate::state::state(&home), before);
}

/// Programs open files of their tools for writing to lock them, and touch them; the kernel copies such a file although it
/// is as it was. Whatever differs at the end is a write.
fn what_is_left_as_it_was() {
    if tier().copies() {
        // The folders of tools are read-only.
        return;
    }
    let place = Place::with(&[]);
    let home = place.home();
    let tool = home.join("go");
    fs::create_dir_all(tool.join("bin")).unwrap();
    let large = "x".repeat(100_000);
    for (file, content) in
        [("lock", ""), ("bin/go", "program"), ("settings", large.as_str()), ("other", "other")]
    {
        fs::write(tool.join(file), content).unwrap();
        fs::set_permissions(tool.join(file), fs::Permissions::from_mode(0o644)).unwrap();
    }
    std::os::unix::fs::symlink("bin/go", tool.join("link")).unwrap();
    let mut view = place.view();
    let inside = |line: &str| format!("cd '{}' && {line}", tool.display());
    for (line, expected) in [
        (
            "for file in lock bin/go settings; do exec 3<>$file; touch $file; chmod 600 $file; chmod 644 $file; done",
            vec![],
        ),
        ("cp settings again && mv again settings; ln -sf bin/go link; rm lock; touch lock", vec![]),
        ("chmod 755 lock", vec!["lock"]),
        ("printf y | dd of=settings bs=1 seek=99999 conv=notrunc 2> /dev/null", vec!["lock", "settings"]),
        ("printf programs > bin/go; ln -sf lock link", vec!["bin/go", "link", "lock", "settings"]),
        ("rm other && ln -s settings other", vec!["bin/go", "link", "lock", "other", "settings"]),
        (
            "chmod 644 lock; printf x | dd of=settings bs=1 seek=99999 conv=notrunc 2> /dev/null",
            vec!["bin/go", "link", "other"],
        ),
        ("rm -rf bin && mkdir bin && printf program > bin/go && chmod 644 bin/go", vec!["link", "other"]),
        // A folder that was made anew hides what was in it, and nothing in it says so.
        ("rm -rf bin && mkdir bin", vec!["bin", "link", "other"]),
    ] {
        let output = crate::place::sh(&mut view, &inside(line));
        let mut found = output.refused.outside;
        found.sort();
        let expected: Vec<_> = expected.into_iter().map(|path| tool.join(path)).collect();
        assert_eq!(found, expected, "{line}");
    }
}

/// A name, a line of the shell that mounts something, and a test. The test is given processes that were prepared before
/// the mounting.
type Mounts = (&'static str, &'static str, fn(&Place, Prepared));

/// Workspaces on a mount, or with a mount in them, and what is expected of each.
const MOUNTS: [Mounts; 5] = [
    ("tmpfs", "mount -t tmpfs tmpfs WORK", writes_and_reads_at),
    ("inner", "mkdir WORK/inner && mount -t tmpfs tmpfs WORK/inner", refuses_inner),
    ("bind", "mkdir WORK/../other && mount --bind WORK/../other WORK", writes_and_reads_at),
    ("meanwhile", "mount -t tmpfs tmpfs WORK && echo mounted > WORK/file", prepared_before),
    (
        "covered",
        "mount -t tmpfs tmpfs /sys/firmware && mkdir -p /sys/firmware/efi/efivars && mount -t tmpfs tmpfs /sys/firmware/efi/efivars && mount -t tmpfs tmpfs WORK",
        closes_what_is_covered,
    ),
];

/// Something is mounted below a path that a view covers, as the variables of EFI are on most machines. The view must
/// cover these mounts too.
fn closes_what_is_covered(place: &Place, _: Prepared) {
    let mut view = place.view();
    assert_eq!(ok(&mut view, "ls -A /sys/firmware"), "");
    let line = "grep ' /sys/firmware' /proc/self/mountinfo | cut -d ' ' -f 5,6";
    let mounts = ok(&mut view, line);
    assert!(mounts.contains("/sys/firmware/efi/efivars ") && 3 <= mounts.lines().count(), "{mounts}");
    assert!(mounts.lines().all(|mount| mount.contains(" ro,")), "{mounts}");
}

fn writes_and_reads_at(place: &Place, _: Prepared) {
    writes_and_reads(&place.options());
}

fn refuses_inner(place: &Place, _: Prepared) {
    let error = View::start(&place.options()).unwrap_err().to_string();
    assert!(error.contains("something is mounted in it at") && error.contains("inner"), "{error}");
}

fn prepared_before(place: &Place, before: Prepared) {
    let process = before.process();
    let mut view = View::start_with(&place.options(), Some(before)).unwrap();
    assert_ne!(view.process(), process);
    assert_eq!(ok(&mut view, "cat file"), "mounted\n");
    // Processes that were prepared after the mounting are used.
    let since = prepared();
    let process = since.process();
    let mut view = View::start_with(&place.options(), Some(since)).unwrap();
    assert_eq!(view.process(), process);
    assert_eq!(ok(&mut view, "cat file"), "mounted\n");
}

/// Starts this test program again in its own mount namespace.
fn mounted(name: &str) {
    let program = std::env::current_exe().unwrap();
    let maps: &[&str] =
        if rustix::process::getuid().is_root() { &[] } else { &["--user", "--map-root-user"] };
    let output = Command::new("unshare")
        .args(maps)
        .args(["--mount", "--propagation", "private", "--"])
        .arg(program)
        .args([MOUNTED, name])
        .output()
        .unwrap_or_else(|error| panic!("this test needs unshare of util-linux: {error}"));
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Runs one of the cases, in the process that was started for it.
pub(crate) fn in_mounts(name: &str) {
    let (_, line, test) = MOUNTS.iter().find(|(known, ..)| *known == name).unwrap();
    let place = Place::with(&[]);
    let work = format!("'{}'", place.work().display());
    let run = |line: &str| {
        let status = Command::new("/bin/sh").args(["-c", &line.replace("WORK", &work)]).status().unwrap();
        assert!(status.success(), "{line}");
    };
    let before = prepared();
    run(line);
    test(&place, before);
    // The temporary folder could not be removed with a mount in it.
    run("umount WORK/inner 2>/dev/null || umount WORK");
}

fn what_is_shared() {
    let place = Place::with(&[("file", "old")]);
    let home = place.home().canonicalize().unwrap();
    fs::create_dir_all(home.join(".tool/kept")).unwrap();
    fs::write(home.join(".tool/settings"), "theirs").unwrap();
    fs::write(home.join(".tool/data.db"), "theirs\n").unwrap();
    fs::create_dir_all(home.join(".tool/rules")).unwrap();
    fs::write(home.join(".tool/rules/allow"), "theirs").unwrap();
    fs::write(home.join(".tool.json"), "theirs").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", home.join(".link.json")).unwrap();
    let mut options = place.options();
    options.home = Some(home.clone());
    options.tools.push(home.join(".tool"));
    options.shared.extend([".tool/kept", ".tool/data.db"].map(|name| home.join(name)));
    options.emptied.push(home.join(".tool/rules"));
    options.copied.extend([".tool.json", ".link.json", ".gone.json"].map(|name| home.join(name)));
    let mut view = View::start(&options).unwrap();
    let line = format!(
        "exec 2>/dev/null; cd {}; echo kept > .tool/kept/new; echo pwned > .tool/settings; echo pwned > .tool/kept/../other; \
         cat .tool/rules/allow; echo pwned > .tool/rules/allow; echo more >> .tool/data.db; rm -f .tool/data.db; \
         cat .tool.json; echo; echo pwned > .tool.json; echo pwned > .other; ls -A",
        home.display()
    );
    let said = crate::place::sh(&mut view, &line);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.starts_with("theirs\n") && said.contains(".tool.json"), "{said}");
    assert!(!said.contains(".link.json") && !said.contains(".gone.json"), "{said}");
    drop(view);
    assert_eq!(fs::read_to_string(home.join(".tool/kept/new")).unwrap(), "kept\n");
    for (path, expected) in [
        (".tool/settings", Some("theirs")),
        (".tool/data.db", Some("theirs\nmore\n")),
        (".tool/rules/allow", Some("theirs")),
        (".tool.json", Some("theirs")),
        (".tool/other", None),
        (".other", None),
    ] {
        assert_eq!(fs::read_to_string(home.join(path)).ok().as_deref(), expected, "{path}");
    }
}

fn the_machines_network() {
    use std::os::linux::net::SocketAddrExt as _;
    let place = Place::with(&[]);
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let name = format!("headstart-shadow-{}-{port}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let hidden = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    hidden.set_nonblocking(true).unwrap();
    let line = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached; \
         perl -MSocket -e 'socket($s, AF_UNIX, SOCK_STREAM, 0) && connect($s, pack_sockaddr_un(\"\\0{name}\")) or print \"$!\\n\"'; \
         perl -MSocket -e 'socketpair($a, $b, AF_UNIX, SOCK_STREAM, 0) and print \"a pair\\n\"'"
    );
    for (network, expected) in [
        (Network::Machine, "reached\nOperation not permitted\na pair\n"),
        (Network::Own, "Connection refused\na pair\n"),
    ] {
        let options = Options { network, ..place.options() };
        let mut view = View::start(&options).unwrap();
        let command = headstart_shadow::Command::new(["/bin/bash", "-c", &line], crate::place::PATIENCE);
        let output = view.run(&command).unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let said: Vec<_> =
            said.lines().filter(|line| !line.contains("/dev/tcp") && !line.contains("connect: ")).collect();
        assert_eq!(said.join("\n") + "\n", expected, "{network:?}");
    }
    assert_eq!(hidden.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}
