//! A program that keeps running in a view, while the view is shown other files.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use headstart_overlay_fs::ChangeSet;
use headstart_shadow::{Command, End, Limits, Options, Program, ShadowError, View};

use crate::place::{PATIENCE, Place, Test, ok, path};
use crate::state::state;

pub(crate) const TESTS: &[Test] = &[
    ("a_program_sees_what_is_shown_while_it_runs", a_program_sees_what_is_shown_while_it_runs),
    ("what_is_shown_beside_a_program_is_ever_later", what_is_shown_beside_a_program_is_ever_later),
    ("a_stopped_program_leaves_nobody_behind", a_stopped_program_leaves_nobody_behind),
    (
        "the_pipes_end_with_the_program_whatever_it_started",
        the_pipes_end_with_the_program_whatever_it_started,
    ),
    ("a_program_over_its_memory_is_ended", a_program_over_its_memory_is_ended),
    (
        "a_program_that_changes_folders_meanwhile_leads_nowhere",
        a_program_that_changes_folders_meanwhile_leads_nowhere,
    ),
    ("a_program_that_makes_files_for_ever_is_given_up", a_program_that_makes_files_for_ever_is_given_up),
];

/// A program that runs each line of its input in the shell, and prints a mark after each answer.
struct Shell {
    input: std::io::PipeWriter,
    output: BufReader<std::io::PipeReader>,
    errors: std::io::PipeReader,
}

impl Shell {
    fn start(view: &mut View) -> Self {
        let line = "while read -r line; do eval \"$line\"; printf '\\001\\n'; done";
        let Program { stdin, stdout, stderr } = view.start_program(&Command::shell(line, PATIENCE)).unwrap();
        Self { input: stdin, output: BufReader::new(stdout), errors: stderr }
    }

    fn ask(&mut self, line: &str) -> String {
        writeln!(self.input, "{line}").unwrap();
        let mut said = String::new();
        loop {
            assert_ne!(self.output.read_line(&mut said).unwrap(), 0, "it ended after {said:?}");
            if let Some(answer) = said.strip_suffix("\u{1}\n") {
                return answer.to_owned();
            }
        }
    }
}

/// How the program ended. This asks until the end is known, because the pipes of a program end a moment before it does.
fn ended(view: &mut View) -> End {
    std::iter::repeat_with(|| view.running().unwrap().ended).find_map(|ended| ended).unwrap()
}

fn a_program_sees_what_is_shown_while_it_runs() {
    let place = Place::with(&[("a.txt", "a"), (".env", "TOKEN=1")]);
    let before = state(&place.work());
    let mut view = place.view();
    assert_eq!(view.running().unwrap().ended, None);
    let mut shell = Shell::start(&mut view);
    assert_eq!(shell.ask("cat a.txt .env"), "aTOKEN=1");
    view.hide(&[path(".env")]).unwrap();
    let staged = place.staged(async |overlay| {
        overlay.write(&path("a.txt"), b"staged".to_vec()).await.unwrap();
        overlay.write(&path("b.txt"), b"new".to_vec()).await.unwrap();
    });
    view.show(&staged).unwrap();
    assert_eq!(shell.ask("cat a.txt b.txt; test -e .env || echo hidden"), "stagednewhidden\n");
    view.show(&ChangeSet::default()).unwrap();
    assert_eq!(shell.ask("cat a.txt; ls; echo made > made.txt"), "aa.txt\n");
    // A view runs either a program or a command at a time.
    let refused = view.run(&Command::shell("true", PATIENCE)).unwrap_err();
    assert!(
        matches!(&refused, ShadowError::Command { message, .. } if message.contains("stop it first")),
        "{refused}"
    );
    let running = view.running().unwrap();
    assert_eq!((running.ended, running.processes), (None, 1));
    assert!(0 < running.resident);
    view.stop_program().unwrap();
    assert_eq!(view.running().unwrap().ended, Some(End::Killed { signal: 9 }));
    assert_eq!(ok(&mut view, "cat made.txt"), "made\n");
    let missing = view.start_program(&Command::new(["no-such-program"], PATIENCE)).unwrap_err();
    assert!(matches!(missing, ShadowError::Command { .. }), "{missing}");
    assert_eq!(state(&place.work()), before);
}

fn what_is_shown_beside_a_program_is_ever_later() {
    let place = Place::with(&[("a.txt", "a")]);
    let mut view = place.view();
    let mut shell = Shell::start(&mut view);
    let mut last = 0;
    for text in ["b", "c", "b", "c"] {
        let staged = place.staged(async |overlay| {
            overlay.write(&path("a.txt"), text.as_bytes().to_vec()).await.unwrap();
        });
        view.show(&staged).unwrap();
        let seconds: u64 = shell.ask("stat -c %Y a.txt").trim().parse().unwrap();
        assert!(last < seconds, "{last} {seconds}");
        last = seconds;
    }
}

fn a_stopped_program_leaves_nobody_behind() {
    let place = Place::with(&[("a.txt", "a")]);
    let mut view = place.view();
    let mut shell = Shell::start(&mut view);
    shell.ask("setsid sleep 1000 & (setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep 1000; done' &)");
    let until = Instant::now() + PATIENCE;
    while view.running().unwrap().processes < 4 {
        assert!(Instant::now() < until, "they do not start");
    }
    let mut second = Shell::start(&mut view);
    assert_eq!(second.ask("set -- /proc/[0-9]*; echo $#").trim(), "2", "only the second one is there");
    view.stop_program().unwrap();
    assert_eq!(view.running().unwrap().processes, 0);
    for mut pipe in [shell.output.into_inner(), second.output.into_inner(), shell.errors] {
        assert_eq!(pipe.read_to_end(&mut Vec::new()).unwrap(), 0);
    }
}

fn the_pipes_end_with_the_program_whatever_it_started() {
    let place = Place::with(&[("a.txt", "a")]);
    let mut view = place.view();
    let command = Command::shell("setsid sleep 1000 & echo out; echo err >&2; exit 7", PATIENCE);
    let Program { stdin: _stdin, mut stdout, mut stderr } = view.start_program(&command).unwrap();
    let (mut out, mut err) = (String::new(), String::new());
    stdout.read_to_string(&mut out).unwrap();
    stderr.read_to_string(&mut err).unwrap();
    assert_eq!((out.as_str(), err.as_str()), ("out\n", "err\n"));
    assert_eq!(ended(&mut view), End::Exited { code: 7 });
    assert_eq!(ok(&mut view, "echo again"), "again\n");
}

fn a_program_over_its_memory_is_ended() {
    let place = Place::with(&[("a.txt", "a")]);
    let options = Options { limits: Limits { memory: 64 << 20, ..Limits::default() }, ..place.options() };
    let mut view = View::start(&options).unwrap();
    let bomb = "perl -e '$n = 1 << 24; push @x, \"x\" x $n while 1'";
    let mut program = view.start_program(&Command::shell(bomb, PATIENCE)).unwrap();
    program.stdout.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(ended(&mut view), End::Memory);
}

/// A folder outside the view, with a folder in it that only root could empty.
struct Outside(tempfile::TempDir);

impl Drop for Outside {
    fn drop(&mut self) {
        // A test that fails early has not made this folder yet, which does no harm.
        let _ = fs::set_permissions(self.0.path().join("deep"), fs::Permissions::from_mode(0o755));
    }
}

/// While the view is shown files in some folders, its program replaces these folders by links out of the view, and
/// closes them, as fast as it can.
fn a_program_that_changes_folders_meanwhile_leads_nowhere() {
    let place = Place::with(&[("d/a.txt", "a"), ("d/deep/b.txt", "b")]);
    let outside = Outside(tempfile::Builder::new().prefix("shadow-outside-").tempdir_in("/var/tmp").unwrap());
    let outside = &outside.0;
    fs::create_dir(outside.path().join("deep")).unwrap();
    fs::write(outside.path().join("a.txt"), "the user's").unwrap();
    fs::write(outside.path().join("deep/b.txt"), "the user's").unwrap();
    fs::set_permissions(outside.path().join("deep"), fs::Permissions::from_mode(0o511)).unwrap();
    let before = (state(outside.path()), state(&place.work()));
    let mut view = place.view();
    let swap = "use POSIX 'mkfifo'; $| = 1; \
        mkdir 'other'; mkdir 'other/deep'; symlink $ARGV[0], 'link'; print \"ready\\n\"; \
        while (1) { for ('d', 'd/deep', 'd/a.txt') { \
            chmod 0, $_; rename $_, 'other/x'; rename 'link', $_; \
            rename $_, 'link'; rename 'other/x', $_; \
            mkfifo('d/a.txt', 0666); symlink $ARGV[0], 'link' } }";
    let command = Command::new(
        ["perl".into(), "-e".into(), swap.into(), outside.path().as_os_str().to_owned()],
        PATIENCE,
    );
    let program = view.start_program(&command).unwrap();
    let mut ready = String::new();
    BufReader::new(program.stdout).read_line(&mut ready).unwrap();
    let staged = place.staged(async |overlay| {
        overlay.write(&path("d/a.txt"), b"staged".to_vec()).await.unwrap();
        overlay.write(&path("d/deep/b.txt"), b"staged".to_vec()).await.unwrap();
        overlay.write(&path("d/deep/new/c.txt"), b"staged".to_vec()).await.unwrap();
    });
    let removed = place.staged(async |overlay| overlay.remove(&path("d")).await.unwrap());
    let until = Instant::now() + Duration::from_secs(2);
    let mut rounds = 0;
    while Instant::now() < until {
        // Files that cannot be shown give an error, but the view goes on.
        for changes in [&staged, &removed] {
            assert!(!matches!(view.show(changes), Err(ShadowError::Ended | ShadowError::Protocol { .. })));
        }
        let _ = view.hide(&[path("d/deep")]);
        rounds += 1;
    }
    assert!(5 < rounds, "{rounds}");
    view.stop_program().unwrap();
    assert_eq!((state(outside.path()), state(&place.work())), before);
}

fn a_program_that_makes_files_for_ever_is_given_up() {
    let place = Place::with(&[("d/a.txt", "a")]);
    let mut view = place.view();
    let line =
        "for n in 1 2 3; do while :; do mkdir -p d/$n/x/y; : > d/$n/x/f; done & done; echo ready; wait";
    let program = view.start_program(&Command::shell(line, PATIENCE)).unwrap();
    BufReader::new(program.stdout).read_line(&mut String::new()).unwrap();
    let removed = place.staged(async |overlay| overlay.remove(&path("d")).await.unwrap());
    let began = Instant::now();
    for _ in 0..3 {
        let _ = view.show(&removed);
        let _ = view.show(&ChangeSet::default());
    }
    assert!(began.elapsed() < 3 * PATIENCE, "{:?}", began.elapsed());
    view.stop_program().unwrap();
}
