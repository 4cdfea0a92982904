//! What a host gets from code intelligence for each of the servers that misbehave.

use std::time::Duration;

use headstart_code_intel::{Adapter, IntelError, Settings, SettleSignal, Severity, Snapshot, SymbolPosition};
use libtest_mimic::Trial;

use crate::support::{TestProject, path};

pub(crate) const FILES: [(&str, &str); 2] = [("a.mock", "one\ntwo ERR\n"), ("b.mock", "three\n")];

pub(crate) fn all() -> Vec<Trial> {
    let trials: [(&str, fn()); 17] = [
        ("what is no frame is an error that names the server", garbage),
        ("a message that is too large is refused before it is read", huge),
        ("a server that never introduces itself is not waited for", sleeps),
        ("a server that never answers runs out of time, and is ended", silent),
        ("a server that crashes is started three times", crash),
        ("a server that crashes when it is asked is told with its last words", crash_when_asked),
        ("last words that come after the end of its output are told", last_words),
        ("a flood ends with the time of the question", flood),
        ("a flood of diagnostics is bounded", flood_of_diagnostics),
        ("a server that asks is answered", asks),
        ("an answer that comes too late is nobody's", late),
        ("a server that says so is asked again", again),
        ("an edit of the server's own is refused", edits),
        ("an answer of another form is an error", odd),
        ("places and edits outside", outside),
        ("a command of the server is never executed", commands),
        ("twenty speculations in any order get only their own", interleaving),
    ];
    let more: [(&str, fn()); 6] = [
        ("a server that tells when it is done is waited for as long, and no longer", progress),
        ("a question that nobody waits for is dropped", dropped),
        ("a missing program is told with what installs it", missing),
        ("a server that is not asked for long ends, and starts again", idle),
        ("a server that takes too much memory is ended", memory),
        ("at most so many servers run", room),
    ];
    trials.into_iter().chain(more).map(trial).collect()
}

pub(crate) fn trial((name, test): (&str, fn())) -> Trial {
    Trial::test(name, move || {
        test();
        Ok(())
    })
}

pub(crate) fn settings(part: &str) -> Settings {
    settling(part, "versions")
}

fn settling(part: &str, settling: &str) -> Settings {
    let adapter = serde_json::json!({
        "name": "mock", "command": std::env::current_exe().unwrap(), "args": ["--play", part],
        "languages": { "mock": "mock" }, "settling": settling, "install": "make mock",
    });
    let adapter: Adapter = serde_json::from_value(adapter).unwrap();
    Settings { adapters: vec![adapter], request_timeout: Duration::from_secs(3), ..Settings::default() }
}

fn world(part: &str) -> TestProject {
    TestProject::new(&FILES, settings(part))
}

fn place() -> SymbolPosition {
    SymbolPosition { path: path("a.mock"), line: 2, symbol: "two".to_owned() }
}

fn hover(world: &TestProject) -> Result<Option<String>, IntelError> {
    async_io::block_on(world.intel.hover(&Snapshot::unchanged(), place()))
}

fn refused(world: &TestProject) -> String {
    hover(world).unwrap_err().to_string()
}

fn garbage() {
    let error = refused(&world("garbage"));
    assert!(error.starts_with("mock was ended: it wrote \"Starting the server"), "{error}");
    assert!(refused(&world("half a frame")).starts_with("mock is still loading"));
}

fn huge() {
    let expected = "mock was ended: a message of 99000000000 bytes is over the limit of 33554432";
    assert_eq!(refused(&world("huge")), expected);
}

fn sleeps() {
    let settings = Settings {
        start_timeout: Duration::from_secs(4),
        request_timeout: Duration::from_secs(1),
        ..settings("sleeps")
    };
    let world = TestProject::new(&FILES, settings);
    assert_eq!(refused(&world), "mock is still loading the project; ask again later");
    let last = (0..9).map(|_| refused(&world)).find(|error| !error.contains("loading"));
    assert_eq!(last.unwrap(), "mock was ended: it did not introduce itself within 4 s");
    assert_eq!(world.intel.servers()[0].crashes, 1);
}

fn last_words() {
    let mut settings = settings("good");
    "sh".clone_into(&mut settings.adapters[0].command);
    // The second command leaves a program behind that keeps its standard error open.
    for (line, told) in [
        ("exec >&-; sleep 0.2; echo out of luck >&2", "mock ended; its last words: out of luck"),
        ("sleep 60 >/dev/null & echo out of luck >&2", "mock ended; its last words: out of luck"),
    ] {
        settings.adapters[0].args = vec!["-c".to_owned(), line.to_owned()];
        assert_eq!(refused(&TestProject::new(&FILES, settings.clone())), told, "{line}");
    }
}

fn silent() {
    let settings = Settings { request_timeout: Duration::from_millis(300), ..settings("silent") };
    let world = TestProject::new(&FILES, settings);
    // On a loaded machine the server may still be starting when the first questions are asked.
    let unanswered =
        (0..40).filter(|_| refused(&world).starts_with("mock did not answer hover within")).take(3).count();
    assert_eq!(unanswered, 3);
    assert_eq!(world.intel.servers()[0].crashes, 1);
}

fn crash() {
    let world = world("crash");
    for _ in 0..4 {
        let error = refused(&world);
        assert!(error.starts_with("mock ended"), "{error}");
    }
    let error = refused(&world);
    assert!(
        error.starts_with("mock ended 4 times within 10 min and is left alone for that long; last: "),
        "{error}"
    );
    assert!(!error.contains('\u{1b}'), "{error:?}");
    assert_eq!(world.copies.roots.lock().unwrap().len(), 4);
}

fn crash_when_asked() {
    let world = world("crash when asked");
    assert_eq!(refused(&world), "mock ended; its last words: stack overflow");
    assert_eq!(refused(&world), "mock ended; its last words: stack overflow");
}

fn flood() {
    let error = refused(&world("flood"));
    let bounded = [
        "mock did not answer hover within 3 s",
        "mock was ended: it wrote more than 256 MiB that nobody asked for",
    ];
    assert!(bounded.contains(&error.as_str()), "{error}");
}

fn flood_of_diagnostics() {
    let settings = Settings { request_timeout: Duration::from_secs(60), ..settings("flood of diagnostics") };
    let world = TestProject::new(&FILES, settings);
    let changes = Snapshot::of(world.staged(&[("a.mock", Some("one ERR\ntwo ERR\n"))]));
    let delta =
        async_io::block_on(world.intel.diagnostics(&changes, &[path("a.mock")], Severity::Hint)).unwrap();
    assert_eq!((delta.new_count, delta.old_count), (1, 1));
    let all = async_io::block_on(world.intel.diagnostics(&changes, &[], Severity::Hint)).unwrap();
    assert!(all.new.len() <= 20 && all.old_count <= 5_001, "{}", all.old_count);
    assert!(all.old.iter().all(|one| one.message.chars().count() <= 601));
}

fn asks() {
    let settings = Settings { request_timeout: Duration::from_secs(60), ..settings("asks") };
    assert_eq!(hover(&TestProject::new(&FILES, settings)).unwrap().as_deref(), Some("asked"));
}

fn late() {
    let settings = Settings { request_timeout: Duration::from_millis(700), ..settings("late") };
    let world = TestProject::new(&FILES, settings);
    while refused(&world).contains("loading") {}
    let answer = (0..40).find_map(|_| hover(&world).ok());
    assert_eq!(answer.unwrap().as_deref(), Some("one\ntwo ERR"));
}

fn again() {
    assert_eq!(hover(&world("again")).unwrap().as_deref(), Some("one\ntwo ERR"));
}

fn edits() {
    let world = world("edits");
    assert_eq!(hover(&world).unwrap().as_deref(), Some("edited"));
    let root = world.copies.roots.lock().unwrap()[0].clone();
    assert_eq!(std::fs::read_to_string(root.join("b.mock")).unwrap(), "three\n");
}

fn odd() {
    let world = world("odd");
    let error = async_io::block_on(world.intel.definition(&Snapshot::unchanged(), place())).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("mock refused: its answer to textDocument/definition is not understood"),
        "{error}"
    );
}

fn outside() {
    let world = world("outside");
    let found = async_io::block_on(world.intel.definition(&Snapshot::unchanged(), place())).unwrap();
    let told: Vec<_> = found
        .places
        .iter()
        .map(|place| (place.path.clone(), place.name.as_str(), place.text.clone()))
        .collect();
    let inside = (Some(path("b.mock")), "b.mock", None);
    assert_eq!(told, [(None, "passwd", None), (None, "secret", None), inside]);
    let error = async_io::block_on(world.intel.rename(&Snapshot::unchanged(), place(), "x")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "nothing was changed: the edit reaches passwd, which is outside the workspace"
    );
    let world = self::world("stale");
    let error = async_io::block_on(world.intel.rename(&Snapshot::unchanged(), place(), "x")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "nothing was changed: the edit is for version 99 of a.mock, and this is version 1; ask again"
    );
}

fn commands() {
    let world = world("good");
    let snapshot = Snapshot::unchanged();
    let actions = async_io::block_on(world.intel.code_actions(&snapshot, place(), None)).unwrap();
    assert!(actions.iter().all(|action| action.command_only), "{actions:?}");
    for title in ["run it", "also run it"] {
        let error = async_io::block_on(world.intel.code_action(&snapshot, place(), None, title)).unwrap_err();
        assert!(error.to_string().contains("which never happens"), "{error}");
    }
    let error = async_io::block_on(world.intel.code_action(&snapshot, place(), None, "none")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no code action \"none\" here; there are: \"run it\", \"also run it\""
    );
    assert!(hover(&world).is_ok(), "the server still runs");
    assert_eq!(world.intel.servers()[0].crashes, 0);
}

/// Twenty speculations ask in an order that is mixed by a fixed rule. Each must get its own errors in its own files.
fn interleaving() {
    let settings = Settings { request_timeout: Duration::from_secs(60), ..settings("good") };
    let world = TestProject::new(&FILES, settings);
    let speculations: Vec<_> = (0..20)
        .map(|number| {
            let a = format!("new {number} ERR\none\ntwo ERR\n");
            let own = format!("own{number}.mock");
            let mut edits = vec![("a.mock", Some(a.as_str()))];
            if number % 2 == 0 {
                edits.push((own.as_str(), Some("ERR here\n")));
            }
            if number % 3 == 0 {
                edits.push(("b.mock", None));
            }
            (number, Snapshot::of(world.staged(&edits)))
        })
        .collect();
    let order: Vec<usize> = (0..60).map(|turn| turn * 7 % 20).collect();
    let questions = order.iter().map(|number| {
        let (number, snapshot) = &speculations[*number];
        let intel = &world.intel;
        async move {
            let delta = intel.diagnostics(snapshot, &[], Severity::Hint).await.unwrap();
            let hover = intel
                .hover(snapshot, SymbolPosition { path: path("a.mock"), line: 3, symbol: "two".to_owned() })
                .await;
            (*number, delta, hover.unwrap().unwrap())
        }
    });
    let answers = async_io::block_on(futures::future::join_all(questions));
    for (number, delta, hover) in answers {
        let said: Vec<String> =
            delta.new.iter().map(|one| format!("{}:{} {}", one.path, one.line, one.message)).collect();
        let mut expected = vec![format!("a.mock:1 new {number} ERR")];
        if number % 2 == 0 {
            expected.push(format!("own{number}.mock:1 ERR here"));
        }
        assert_eq!(said, expected);
        assert_eq!((delta.old_count, delta.gone_count, &delta.partial), (1, 0, &None));
        assert!(hover.contains(&format!("new {number} ERR\n")), "{hover}");
        assert!(number % 3 != 0 || !hover.contains("three"), "{hover}");
    }
    let shown = std::fs::read_to_string(world.copies.roots.lock().unwrap()[0].join("a.mock")).unwrap();
    assert!(shown.starts_with("new "), "{shown}");
}

fn dropped() {
    let settings = Settings { request_timeout: Duration::from_secs(60), ..settings("late") };
    let world = TestProject::new(&FILES, settings);
    let snapshot = Snapshot::unchanged();
    async_io::block_on(async {
        let mut first = Box::pin(world.intel.hover(&snapshot, place()));
        let time = async_io::Timer::after(Duration::from_millis(500));
        let gave_up = futures::future::select(&mut first, time).await;
        assert!(matches!(gave_up, futures::future::Either::Right(_)));
        drop(gave_up);
        drop(first);
        let second = world.intel.hover(&snapshot, place()).await.unwrap();
        assert_ne!(second, None);
    });
}

fn missing() {
    let mut settings = settings("good");
    "no-such-server".clone_into(&mut settings.adapters[0].command);
    assert_eq!(refused(&TestProject::new(&FILES, settings)), "mock is not installed; make mock installs it");
    let world = world("good");
    let place = SymbolPosition { path: path("a.other"), ..place() };
    let error = async_io::block_on(world.intel.hover(&Snapshot::unchanged(), place)).unwrap_err();
    assert_eq!(error.to_string(), "no language server is configured for a.other; those that are know .mock");
}

fn idle() {
    let settings = Settings { idle_timeout: Duration::from_millis(200), ..settings("good") };
    let world = TestProject::new(&FILES, settings);
    hover(&world).unwrap();
    wait_until(|| !world.intel.servers()[0].running);
    hover(&world).unwrap();
    assert_eq!(world.copies.roots.lock().unwrap().len(), 2);
    assert_eq!(world.intel.servers()[0].crashes, 0);
}

/// The errors of another file come half a second after those of the file that was sent. If the server reports no
/// progress, code intelligence waits for a silence, so that it does not miss them.
fn progress() {
    for (part, edit, new) in [
        ("tells progress", "quick\n", 0),
        ("tells progress", "slow ERR\n", 2),
        ("tells nothing", "quick\n", 0),
        ("tells nothing", "a moment ERR\n", 2),
    ] {
        let world = TestProject::new(&FILES, settling(part, "progress"));
        hover(&world).unwrap();
        let mut times = Vec::new();
        for round in 0..5 {
            let snapshot = Snapshot::of(world.staged(&[("a.mock", Some(&format!("{round}\n{edit}")))]));
            let asked = std::time::Instant::now();
            let delta = async_io::block_on(world.intel.diagnostics(&snapshot, &[], Severity::Error)).unwrap();
            assert_eq!((delta.new_count, &delta.partial), (new, &None), "{part}, {edit}: {delta:#?}");
            times.push(asked.elapsed());
        }
        let least = times.into_iter().min().unwrap();
        let is_silence_awaited = Duration::from_millis(300) <= least;
        assert_eq!(is_silence_awaited, part == "tells nothing" || new == 2, "{part}, {edit}: {least:?}");
    }
}

fn memory() {
    let world = TestProject::new(&FILES, Settings { memory_limit: Some(4096), ..settings("good") });
    hover(&world).unwrap();
    wait_until(|| world.intel.servers()[0].crashes == 1);
    assert!(!world.intel.servers()[0].running);
}

fn room() {
    let mut settings = Settings { max_servers: 2, ..settings("good") };
    let first = settings.adapters[0].clone();
    settings.adapters = (0..4)
        .map(|number| {
            let languages = [(format!("m{number}"), "mock".to_owned())].into();
            Adapter {
                name: format!("mock{number}"),
                languages,
                settling: SettleSignal::Versions,
                ..first.clone()
            }
        })
        .collect();
    let names: Vec<String> = (0..4).map(|number| format!("a.m{number}")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "name\n")).collect();
    let world = TestProject::new(&files, settings);
    for name in names.iter().chain(&names) {
        let place = SymbolPosition { path: path(name), line: 1, symbol: "name".to_owned() };
        async_io::block_on(world.intel.hover(&Snapshot::unchanged(), place)).unwrap();
        let running = world.intel.servers().iter().filter(|server| server.running).count();
        assert!(running <= 2, "{running} servers run");
    }
}

/// Checks the condition repeatedly, for something that happens without another call.
fn wait_until(holds: impl Fn() -> bool) {
    for _ in 0..3_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it did not happen within 30 s");
}
