//! Commands of work ahead run in views. The views of these tests are in memory.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::StreamExt;
use futures::executor::{LocalPool, block_on};
use headstart_forked_query::{Part, ToolOutcome, check_pairing};
use headstart_git_ahead::{GitChange, Head, ObjectFormat, ObjectName, RefChange, RefName};
use headstart_speculation::{Acceptance, Ending, Event, Finished, Freshness, Status};
use headstart_tool_gate::{AheadWrites, ApprovalMode, Decision, DenyRules, Policies, PolicyRule, Reason};
use headstart_toolbox::{MemoryViews, ScriptedRun, Toolbox, ViewOutput};
use serde_json::json;

use crate::support::{Fixture, Reply, accepted, calls, edit, path, read, says, shell, spawn, write};

pub(crate) struct ViewFixture {
    pub(crate) fixture: Fixture,
    pub(crate) views: Arc<MemoryViews>,
}

/// A fixture whose host has views.
pub(crate) fn with_views(mode: ApprovalMode, answers: impl IntoIterator<Item = Reply>) -> ViewFixture {
    let mut fixture = Fixture::new(mode, answers);
    let views = Arc::new(MemoryViews::default());
    fixture.engine.toolbox = Toolbox::standard(Some(views.clone()));
    let mut rules = fixture.host.rules.lock().unwrap();
    rules.views = true;
    rules.ahead_writes = AheadWrites::Ask;
    drop(rules);
    ViewFixture { fixture, views }
}

pub(crate) fn results(finished: &Finished) -> Vec<String> {
    let parts = finished.transcript.messages.iter().flat_map(|message| &message.parts);
    let results = parts.filter_map(|part| match part {
        Part::ToolResult(result) => Some(&result.outcome),
        _ => None,
    });
    let text = |outcome: &ToolOutcome| match outcome {
        ToolOutcome::Output(text) => text.as_str().unwrap_or_default().to_owned(),
        ToolOutcome::Error(error) => format!("error: {error}"),
    };
    results.map(text).collect()
}

pub(crate) fn changed(finished: &Finished) -> Vec<String> {
    finished.changes.changes.iter().map(|change| change.path.to_string()).collect()
}

pub(crate) fn verdict(finished: &Finished) -> (Decision, Reason, String) {
    let ending = &finished.ending;
    let Ending::Boundary { verdict } = ending else { panic!("no boundary: {ending:?}") };
    (verdict.decision, verdict.reason, verdict.detail.clone())
}

const TESTED: &str = "running 2 tests\ntest result: ok. 2 passed; 0 failed; 0 ignored\n";

#[test]
fn a_command_runs_over_what_is_staged_and_what_it_writes_is_staged() {
    let ViewFixture { fixture, views } = with_views(
        ApprovalMode::AutoEdit,
        [calls([edit(), shell("cargo fmt"), shell("cargo test"), read("src/lib.rs")]), says("Done.")],
    );
    let cost = |answer: &mut ViewOutput| {
        answer.cost.time = Duration::from_millis(1_600);
        answer.cost.processor = Duration::from_millis(2_900);
        answer.cost.peak_bytes = 1 << 20;
        answer.warm = vec![path("target")];
        answer.began_ms = 7_000;
    };
    views.play(
        "cargo fmt",
        ScriptedRun::new("", 0).writing(path("src/lib.rs"), "formatted\n").writing(path("new.rs"), "x\n"),
    );
    views.play("cargo test", ScriptedRun::new(TESTED, 0).with(cost));
    let before = fixture.tree.snapshot();
    let (speculation, driver, events) = fixture.start("do it");
    block_on(driver);
    let finished = block_on(speculation.finished());
    assert_eq!(finished.ending, Ending::Completed);
    assert_eq!(fixture.tree.snapshot(), before, "nothing changes before an accept");
    assert_eq!(changed(&finished), ["new.rs", "src/lib.rs"]);
    let results = results(&finished);
    assert_eq!(results[1], "[no output]\n[changed: new.rs, src/lib.rs]");
    assert!(results[2].ends_with("0 ignored") && results[3].contains("formatted"), "{results:?}");
    let requests = views.requests();
    assert_eq!(requests.len(), 2);
    let shown: Vec<_> = requests[1].staged.changes.iter().map(|change| change.path.to_string()).collect();
    assert_eq!(shown, ["new.rs", "src/lib.rs"]);
    assert_eq!(views.real_runs(), [""; 0]);
    assert_eq!(views.held(), [], "the view goes with the work");

    let told: Vec<_> = block_on(events.collect::<Vec<_>>());
    let ran: Vec<_> = told.iter().filter(|event| matches!(event, Event::ShadowRan { .. })).collect();
    assert_eq!(
        serde_json::to_value(ran[1]).unwrap(),
        json!({ "type": "shadowRan", "command": "cargo test", "exitCode": 0, "millis": 1600, "staged": 0, "warm": ["target"],
            "network": 0, "tests": "2 passed", "view": "memory" })
    );
    let place = |wanted: fn(&Event) -> bool| told.iter().position(wanted).unwrap();
    let first = place(|event| matches!(event, Event::ShadowRan { .. }));
    assert!(matches!(&told[first - 1], Event::ToolCall { call } if call.args["command"] == "cargo fmt"));
    assert!(matches!(&told[first + 1], Event::ToolResult { .. }));

    assert_eq!((finished.cost.view_ms, finished.cost.view_cpu_ms), (1_600, 2_900));
    assert_eq!(finished.cost.view_peak_bytes, 1 << 20);
    assert_eq!(finished.viewed_ms, Some(7_000));
    let mut kept: Finished = serde_json::from_str(&serde_json::to_string(&*finished).unwrap()).unwrap();
    assert_eq!(kept, *finished, "a record holds all of it");
    (kept.cost.work_ms, kept.cost.stopped_ms) = (5_000, 4_000);
    let taken = accepted(block_on(fixture.engine.accept(&kept)).unwrap());
    assert_eq!(taken.time_saved_ms, 1_000, "what runs again saves nothing");
    assert_eq!(fixture.tree.snapshot()["src/lib.rs"], b"formatted\n");
}

/// What a command takes away and what it puts where an accept does not reach are one, so half of it is never staged.
/// Reading staged files needs a view. Reading other files does not: it runs beside other reads, on the real tree.
#[test]
fn a_command_that_reads_staged_files_gets_a_view_where_there_is_one() {
    let answers = || [calls([edit(), shell("cat src/lib.rs"), shell("cat README.md")]), says("Done.")];
    let with = with_views(ApprovalMode::AutoEdit, answers());
    with.views.play("cat src/lib.rs", ScriptedRun::new("staged\n", 0));
    let (_, finished) = with.fixture.speculate("do it");
    assert_eq!((finished.ending.clone(), results(&finished)[1].as_str()), (Ending::Completed, "staged"));
    assert_eq!(with.views.real_runs(), ["cat README.md"]);

    let without = with_views(ApprovalMode::AutoEdit, answers());
    without.views.end_support("the kernel has none");
    let (_, finished) = without.fixture.speculate("do it");
    assert_eq!(verdict(&finished).1, Reason::ReadsStaged);
    assert!(without.views.requests().is_empty() && without.views.real_runs().is_empty());
}

/// Without a view the command is a boundary, as it was before there were views, and never runs on the real tree.
#[test]
fn without_a_view_a_command_is_the_boundary_that_it_was() {
    type Change = fn(&ViewFixture);
    let cases: [(&str, Change); 3] = [
        ("the rules", |with_views| with_views.fixture.host.rules.lock().unwrap().views = false),
        ("the machine", |with_views| with_views.views.end_support("the kernel has none")),
        ("plan mode", |with_views| with_views.fixture.host.rules.lock().unwrap().mode = ApprovalMode::Plan),
    ];
    for (name, change) in cases {
        let with_views = with_views(ApprovalMode::AutoEdit, [calls([shell("cargo test")])]);
        change(&with_views);
        let (speculation, finished) = with_views.fixture.speculate("do it");
        let (decision, reason, _) = verdict(&finished);
        assert_eq!((decision, reason), (Decision::Boundary, Reason::Executes), "{name}");
        assert_eq!(finished.pending_call().unwrap().args["command"], "cargo test", "{name}");
        assert!(with_views.views.requests().is_empty() && with_views.views.real_runs().is_empty(), "{name}");
        let given = accepted(block_on(speculation.accept()).unwrap());
        assert!(given.transcript.pending_call().is_some() && given.changes.is_empty(), "{name}");
    }
}

/// A commit on main that changes a path. The digit stands for its name.
fn commit(digit: &str, about: &str) -> GitChange {
    let name = |digit: &str| ObjectName::parse(&digit.repeat(40)).unwrap();
    let main = RefName::parse("refs/heads/main").unwrap();
    let subjects = vec!["Add tests".to_owned()];
    GitChange {
        large: Vec::new(),
        format: ObjectFormat::Sha1,
        objects: None,
        refs: vec![RefChange {
            name: main.clone(),
            old: Some(name("1")),
            new: Some(name(digit)),
            commits: 1,
            subjects,
        }],
        head: Head::Unchanged { branch: Some(main) },
        index: <_>::default(),
        paths: vec![path(about)],
        other: Vec::new(),
    }
}

pub(crate) fn commits(digit: &'static str) -> ScriptedRun {
    ScriptedRun::new("", 0).with(|answer| answer.git = Some(commit(digit, "a.txt")))
}

#[test]
fn what_commands_do_to_the_repository_is_kept_and_shown_to_those_after_them() {
    let ViewFixture { fixture, views } = with_views(
        ApprovalMode::AutoEdit,
        [calls([shell("git commit -m x"), shell("git log"), shell("git commit -m y")]), says("Done.")],
    );
    views.play("git commit -m x", commits("2"));
    views.play("git log", commits("2"));
    views.play("git commit -m y", commits("3"));
    let (speculation, driver, events) = fixture.start("do it");
    block_on(driver);
    let finished = block_on(speculation.finished());
    assert_eq!(finished.ending, Ending::Completed);
    assert_eq!(finished.git, Some(commit("3", "a.txt")));
    let shown: Vec<_> = views.requests().iter().map(|request| request.git.step.clone()).collect();
    assert_eq!(shown, [None, Some(commit("2", "a.txt")), Some(commit("2", "a.txt"))]);
    assert_eq!(views.real_runs(), [""; 0], "the real repository has no such commit");
    let told: Vec<_> = block_on(events.collect::<Vec<_>>());
    let told = told.iter().filter_map(|event| match event {
        Event::ShadowRan { git, .. } => Some(git.as_deref()),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [Some("1 commit on main"), None, Some("1 commit on main")]);
    let kept: Finished = serde_json::from_str(&serde_json::to_string(&*finished).unwrap()).unwrap();
    assert_eq!(kept, *finished, "a record holds all of it");
}

#[test]
fn a_commit_is_asked_about_when_it_is_taken_where_the_mode_asks() {
    let work = || {
        let with_views =
            with_views(ApprovalMode::Default, [calls([shell("git commit -m x")]), says("Done.")]);
        with_views.views.play("git commit -m x", commits("2"));
        with_views
    };
    let ViewFixture { fixture, .. } = work();
    let (_, finished) = fixture.speculate("do it");
    assert!(finished.changes.is_empty());
    let Acceptance::NeedsApproval(asks) = block_on(fixture.engine.accept(&finished)).unwrap() else {
        panic!()
    };
    assert_eq!(asks.git(), finished.git.as_ref());
    // The user's yes is for this commit, and for no other.
    let other = Finished { git: Some(commit("3", "a.txt")), ..(*finished).clone() };
    let again = block_on(fixture.engine.accept_with(&other, &asks.approve())).unwrap();
    assert!(matches!(again, Acceptance::NeedsApproval(_)), "{again:?}");
    // The tree of this test has no repository, so the accept fails.
    let refused = block_on(fixture.engine.accept_with(&finished, &asks.approve()));
    assert!(refused.is_err(), "{refused:?}");

    // The mode in which this was staged is no longer in force.
    fixture.host.rules.lock().unwrap().ahead_writes = AheadWrites::Boundary;
    let withdrawn = block_on(fixture.engine.accept(&finished)).unwrap();
    assert!(matches!(withdrawn, Acceptance::Withdrawn { .. }), "{withdrawn:?}");
    let ViewFixture { fixture, .. } = work();
    fixture.host.rules.lock().unwrap().ahead_writes = AheadWrites::Boundary;
    let (_, finished) = fixture.speculate("do it");
    let said = verdict(&finished);
    assert!(said.2.contains("1 commit on main, and this mode asks before a write"), "{said:?}");
    assert_eq!(finished.git, None);
}

/// A rule about a path also covers commits that change this path, even if the rule came after them.
#[test]
fn rules_about_paths_count_for_commits() {
    let deny = || DenyRules::from_patterns(["/a.txt"]).unwrap();
    let work = |denied_at_once: bool| {
        let with_views =
            with_views(ApprovalMode::AutoEdit, [calls([shell("git commit -m x")]), says("Done.")]);
        with_views.views.play("git commit -m x", commits("2"));
        if denied_at_once {
            with_views.fixture.host.rules.lock().unwrap().deny = deny();
        }
        let (_, finished) = with_views.fixture.speculate("do it");
        (with_views, finished)
    };
    let (_, finished) = work(true);
    assert_eq!((verdict(&finished).1, &finished.git), (Reason::DeniedPath, &None));
    let (ViewFixture { fixture, .. }, finished) = work(false);
    fixture.host.rules.lock().unwrap().deny = deny();
    let withdrawn = block_on(fixture.engine.accept(&finished)).unwrap();
    assert!(matches!(withdrawn, Acceptance::Withdrawn { .. }), "{withdrawn:?}");
}

/// The model never reads a failure that its own code did not cause. The call is pending then, as if it had not run.
#[test]
fn what_the_view_could_not_give_is_a_boundary_without_an_answer() {
    type Change = fn(&mut ViewOutput);
    let cases: [(&str, Change, i32, Reason, &str); 10] = [
        ("network", |answer| answer.refused.network = 2, 1, Reason::NeedsHost, "needs the network"),
        ("privileges", |answer| answer.refused.privileges = true, 0, Reason::NeedsHost, "needs more rights"),
        (
            "a debugger",
            |answer| answer.refused.tracing = true,
            0,
            Reason::NeedsHost,
            "as a debugger or a sanitizer",
        ),
        (
            "a rename",
            |answer| answer.refused.renaming = true,
            1,
            Reason::NeedsHost,
            "renames a folder as a whole",
        ),
        (
            "outside",
            |answer| answer.outside = vec!["~/bin/tool".into()],
            0,
            Reason::WritesOutside,
            "~/bin/tool",
        ),
        (
            "git",
            |answer| {
                answer.git = Some(GitChange { other: vec![".git/config".into()], ..commit("2", "a.txt") });
            },
            0,
            Reason::ProtectedPath,
            ".git/config",
        ),
        (
            "git that is not read",
            |answer| answer.git_refused = Some("it is a linked worktree".into()),
            0,
            Reason::ProtectedPath,
            "a linked worktree",
        ),
        (
            "signature",
            |answer| {
                answer.refused.signature = true;
                answer.outside = vec!["~/.gnupg/pubring.kbx".into()];
            },
            128,
            Reason::NeedsHost,
            "your key to sign with",
        ),
        (
            "meanwhile",
            |answer| {
                answer.changed_meanwhile = vec![path("README.md")];
                answer.cost.time = Duration::from_secs(10);
            },
            0,
            Reason::ChangedMeanwhile,
            "README.md",
        ),
        (
            "killed by it",
            |answer| {
                answer.refused.network = 1;
                answer.output.exit_code = None;
            },
            0,
            Reason::NeedsHost,
            "network",
        ),
    ];
    for (name, change, exit, reason, detail) in cases {
        let ViewFixture { fixture, views } = with_views(
            ApprovalMode::AutoEdit,
            [calls([write("a.txt", "a\n"), shell("make\nall"), read("a.txt")])],
        );
        views.play(
            "make\nall",
            ScriptedRun::new("cannot\n", exit).writing(path("made.txt"), "x\n").with(change),
        );
        let (speculation, finished) = fixture.speculate("do it");
        let said = verdict(&finished);
        assert_eq!((said.0, said.1), (Decision::Boundary, reason), "{name}");
        assert!(said.2.starts_with("make ") && said.2.contains(detail), "{name}: {}", said.2);
        assert_eq!(changed(&finished), ["a.txt"], "{name}");
        assert_eq!(results(&finished).len(), 1, "{name}");
        assert_eq!(views.held(), [], "{name}");
        check_pairing(&finished.transcript.messages).unwrap();
        let given = accepted(block_on(speculation.accept()).unwrap());
        assert_eq!(given.transcript.pending_call().unwrap().args["command"], "make\nall", "{name}");
    }
}

#[test]
fn a_command_that_its_user_disturbed_runs_once_more_in_a_fresh_view() {
    let ViewFixture { fixture, views } =
        with_views(ApprovalMode::AutoEdit, [calls([shell("make"), shell("make")]), says("never asked")]);
    let disturbed = || {
        ScriptedRun::new("first\n", 1).writing(path("half.txt"), "x\n").with(|answer| {
            answer.changed_meanwhile = vec![path("half.txt")];
            answer.cost.time = Duration::from_secs(1);
        })
    };
    views.play("make", disturbed());
    views.play("make", ScriptedRun::new("second\n", 0));
    views.play("make", disturbed());
    views.play("make", disturbed());
    let (_, finished) = fixture.speculate("do it");
    assert_eq!(results(&finished), ["second"]);
    assert_eq!(verdict(&finished).1, Reason::ChangedMeanwhile);
    assert_eq!((views.requests().len(), finished.cost.view_ms), (4, 3_000));
    assert!(changed(&finished).is_empty());
}

#[test]
fn a_failure_of_its_own_keeps_what_it_wrote_and_a_limit_does_not() {
    let ViewFixture { fixture, views } = with_views(
        ApprovalMode::AutoEdit,
        [calls([shell("fail"), shell("slow"), shell("full"), shell("fine")]), says("Done.")],
    );
    views.play("fail", ScriptedRun::new("1 error\n", 2).writing(path("log.txt"), "x\n"));
    views.play(
        "slow",
        ScriptedRun::new("…\n", 1).writing(path("slow.txt"), "x\n").with(|answer| {
            answer.output.timed_out = true;
            answer.output.exit_code = None;
        }),
    );
    let full = |answer: &mut ViewOutput| answer.refused.quota = Some("512 MiB in files".into());
    views.play("full", ScriptedRun::new("", 1).writing(path("full.txt"), "x\n").with(full));
    views.play("fine", ScriptedRun::new("ok\n", 0).writing(path("fine.txt"), "x\n").with(full));
    let (_, finished) = fixture.speculate("do it");
    assert_eq!(finished.ending, Ending::Completed);
    assert_eq!(changed(&finished), ["fine.txt", "log.txt"]);
    let results = results(&finished);
    assert_eq!(results[0], "1 error\n[exit code 2]\n[changed: log.txt]");
    assert!(results[1].contains("ended after") && !results[1].contains("changed"), "{results:?}");
    assert!(results[2].starts_with("error: [what it changed is dropped, for it reached a limit: 512 MiB"));
    assert!(results[3].contains("it reached a limit: 512 MiB"), "{results:?}");
    // Nothing that was dropped shows in the next view.
    let shown: Vec<_> =
        views.requests()[3].staged.changes.iter().map(|change| change.path.to_string()).collect();
    assert_eq!(shown, ["log.txt"]);
}

#[test]
fn a_command_that_leaves_more_than_may_be_staged_waits_for_the_user() {
    let ViewFixture { mut fixture, views } =
        with_views(ApprovalMode::AutoEdit, [calls([write("a", "a"), shell("make")])]);
    fixture.engine.limits.staged.files = 2;
    views.play("make", ScriptedRun::new("", 0).writing(path("b"), "b").writing(path("c"), "c"));
    let (_, finished) = fixture.speculate("do it");
    let (_, reason, words) = verdict(&finished);
    assert!(reason == Reason::NeedsHost && words.contains("can be staged: "), "{words}");
    assert_eq!(changed(&finished), ["a"]);
    assert_eq!(views.held(), []);
}

/// A command may write anything by itself, but it cannot get around a rule about paths.
#[test]
fn a_path_that_no_write_ahead_may_touch_is_not_written_by_a_command_either() {
    for (name, reason) in [
        ("keys/a", Reason::DeniedPath),
        (".env", Reason::SecretPath),
        (".VSCode/tasks.json", Reason::ProtectedPath),
        ("sub/.git/hooks/pre-commit", Reason::ProtectedPath),
    ] {
        let ViewFixture { fixture, views } = with_views(ApprovalMode::AutoEdit, [calls([shell("make")])]);
        fixture.host.rules.lock().unwrap().deny = DenyRules::from_patterns(["keys/"]).unwrap();
        views.play(
            "make",
            ScriptedRun::new("made\n", 0).writing(path(name), "x\n").writing(path("fine"), "x\n"),
        );
        let (_, finished) = fixture.speculate("do it");
        assert_eq!(verdict(&finished).1, reason, "{name}");
        assert!(changed(&finished).is_empty() && results(&finished).is_empty(), "{name}");
    }
}

/// Default mode asks about what a command staged. If edits are a boundary, the command may write nothing ahead.
#[test]
fn in_default_mode_what_a_command_writes_is_asked_about_or_waits() {
    let answers = || [calls([shell("cargo test"), shell("cargo fmt")]), says("Done.")];
    let played = |views: &MemoryViews| {
        views.play("cargo test", ScriptedRun::new(TESTED, 0));
        views.play("cargo fmt", ScriptedRun::new("formatted\n", 0).writing(path("src/lib.rs"), "x\n"));
    };
    let asks = with_views(ApprovalMode::Default, answers());
    played(&asks.views);
    let (speculation, finished) = asks.fixture.speculate("do it");
    assert_eq!((finished.ending.clone(), finished.preview.clone()), (Ending::Completed, None));
    let Acceptance::NeedsApproval(question) = block_on(speculation.accept()).unwrap() else {
        panic!("not asked")
    };
    assert_eq!(question.changes().changes.len(), 1);
    accepted(block_on(speculation.accept_with(&question.approve())).unwrap());

    let waits = with_views(ApprovalMode::Default, answers());
    waits.fixture.host.rules.lock().unwrap().ahead_writes = AheadWrites::Boundary;
    played(&waits.views);
    let before = waits.fixture.tree.snapshot();
    let (speculation, finished) = waits.fixture.speculate("do it");
    let (_, reason, detail) = verdict(&finished);
    assert_eq!(reason, Reason::Executes);
    assert!(detail.contains("src/lib.rs") && detail.contains("asks"), "{detail}");
    assert_eq!(finished.pending_call().unwrap().args["command"], "cargo fmt");
    assert_eq!(finished.preview.as_deref(), Some("formatted\n[changed: src/lib.rs]"));
    assert_eq!(results(&finished).len(), 1);
    assert!(finished.changes.is_empty());
    let given = accepted(block_on(speculation.accept()).unwrap());
    assert!(given.changes.is_empty() && given.transcript.pending_call().is_some());
    assert_eq!(waits.fixture.tree.snapshot(), before);
}

#[test]
fn a_rule_that_came_meanwhile_drops_the_whole_step() {
    type ExternalChange = fn(&Fixture);
    let cases: [(&str, ExternalChange); 4] = [
        ("plan", |fixture| fixture.host.rules.lock().unwrap().mode = ApprovalMode::Plan),
        ("no views", |fixture| fixture.host.rules.lock().unwrap().views = false),
        ("deny", |fixture| {
            fixture.host.rules.lock().unwrap().deny = DenyRules::from_patterns(["made.txt"]).unwrap();
        }),
        ("policy", |fixture| {
            let rules: Vec<PolicyRule> =
                serde_json::from_value(json!([{ "program": "make", "decision": "boundary" }])).unwrap();
            fixture.host.rules.lock().unwrap().policies = Policies::new([], rules).unwrap();
        }),
    ];
    for (name, meanwhile) in cases {
        let ViewFixture { fixture, views } =
            with_views(ApprovalMode::AutoEdit, [calls([edit(), shell("make")]), says("Done.")]);
        views.play("make", ScriptedRun::new("", 0).writing(path("made.txt"), "x\n"));
        let before = fixture.tree.snapshot();
        let (speculation, finished) = fixture.speculate("do it");
        assert_eq!(finished.ending.status(), Status::Completed);
        meanwhile(&fixture);
        let acceptance = block_on(speculation.accept()).unwrap();
        assert!(matches!(acceptance, Acceptance::Withdrawn { .. }), "{name}: {acceptance:?}");
        assert_eq!(fixture.tree.snapshot(), before, "{name}");
    }
}

#[test]
fn files_that_changed_since_the_tests_ran_are_told_or_are_a_conflict() {
    // A command that runs after the tests does not make their results newer.
    let answers = || [calls([edit(), shell("cargo test"), shell("git status")]), says("Done.")];
    for freshness in [Freshness::Tell, Freshness::Require] {
        let ViewFixture { fixture, views } = with_views(ApprovalMode::AutoEdit, answers());
        views.play("cargo test", ScriptedRun::new(TESTED, 0).with(|answer| answer.began_ms = 7_000));
        views.play("git status", ScriptedRun::new("clean", 0).with(|answer| answer.began_ms = 9_000));
        *fixture.host.changed_since.lock().unwrap() = (7_000, vec![path("README.md")]);
        *fixture.host.freshness.lock().unwrap() = freshness;
        let before = fixture.tree.snapshot();
        let (speculation, _) = fixture.speculate("do it");
        match block_on(speculation.accept()).unwrap() {
            Acceptance::Accepted(given) if freshness == Freshness::Tell => {
                assert_eq!(given.changed_since_view, [path("README.md")]);
            }
            Acceptance::Conflict(conflicts) if freshness == Freshness::Require => {
                assert_eq!(conflicts[0].path, path("README.md"));
                assert_eq!(fixture.tree.snapshot(), before);
                fixture.host.changed_since.lock().unwrap().1.clear();
                accepted(block_on(speculation.accept()).unwrap());
            }
            other => panic!("{freshness:?}: {other:?}"),
        }
    }
}

#[test]
fn an_abort_ends_the_view_and_leaves_nothing() {
    let hangs = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let ViewFixture { fixture, views } =
        with_views(ApprovalMode::AutoEdit, [calls([shell("make")]), Reply::Hangs(Arc::clone(&hangs))]);
    views.play("make", ScriptedRun::new("", 0).writing(path("made.txt"), "x\n"));
    let (speculation, driver, _events) = fixture.start("do it");
    let mut pool = LocalPool::new();
    spawn(&pool, driver);
    pool.run_until_stalled();
    assert_eq!(views.held().len(), 1);
    assert_eq!(speculation.changes().changes.len(), 1);
    speculation.abort();
    assert!(hangs.load(Ordering::SeqCst) && views.held().is_empty());
    assert!(speculation.changes().is_empty());
}
