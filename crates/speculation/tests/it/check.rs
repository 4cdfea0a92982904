//! The project's own check runs on work that the model calls done.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::executor::block_on;
use headstart_forked_query::{Role, check_pairing};
use headstart_speculation::{Check, Checker, Ending, Event, Finished};
use headstart_tool_gate::ApprovalMode;
use headstart_toolbox::{EditObserver, FinalLook, ScriptedRun, ToolContext};
use headstart_workspace_path::WorkspacePath;
use serde_json::json;

use crate::shadow::{ViewFixture, changed, with_views};
use crate::support::{Reply, accepted, calls, edit, path, read, says, shell, write};

const LINE: &str = "cargo check";
const ERROR: &str = "error[E0308]: mismatched types";

fn checking(answers: impl IntoIterator<Item = Reply>) -> ViewFixture {
    let with_views = with_views(ApprovalMode::AutoEdit, answers);
    let check = Check { line: LINE.to_owned(), time: Duration::from_secs(20) };
    *with_views.fixture.host.check.lock().unwrap() = Some(Checker::Command(check));
    with_views
}

fn runs(with_views: &ViewFixture) -> usize {
    with_views.views.requests().iter().filter(|request| request.command == LINE).count()
}

fn words(finished: &Finished) -> Vec<String> {
    let texts = finished.transcript.messages.iter().filter(|message| message.role == Role::User);
    texts.map(|message| format!("{:?}", message.parts)).collect()
}

#[test]
fn completed_work_is_checked_and_what_the_check_wrote_is_dropped() {
    let with_views = checking([calls([edit()]), says("Done.")]);
    let passes =
        ScriptedRun::new("test result: ok. 42 passed; 0 failed\n", 0).writing(path("Cargo.lock"), "made\n");
    with_views.views.play(LINE, passes.with(|answer| answer.cost.time = Duration::from_millis(1_200)));
    let (speculation, driver, events) = with_views.fixture.start("do it");
    block_on(driver);
    let finished = block_on(speculation.finished());
    assert_eq!(
        (finished.ending.clone(), changed(&finished)),
        (Ending::Completed, vec!["src/lib.rs".to_owned()])
    );
    let checked = json!({ "command": LINE, "passed": true, "tests": "42 passed", "millis": 1_200 });
    assert_eq!(serde_json::to_value(&finished.check).unwrap(), checked);
    assert_eq!(finished.cost.view_ms, 1_200);
    let told: Vec<_> = block_on(events.collect());
    let event = told.iter().find(|event| matches!(event, Event::Checked(_))).unwrap();
    assert_eq!(
        serde_json::to_value(event).unwrap(),
        json!({ "type": "checked", "command": LINE, "passed": true, "tests": "42 passed", "millis": 1_200 })
    );
    let shown = &with_views.views.requests()[0].staged.changes;
    assert_eq!(shown.len(), 1, "it sees what is staged");
    let kept: Finished = serde_json::from_str(&serde_json::to_string(&*finished).unwrap()).unwrap();
    assert_eq!(kept, *finished);
    accepted(block_on(with_views.fixture.engine.accept(&kept)).unwrap());
}

#[test]
fn what_fails_goes_back_to_the_model_once() {
    let with_views = checking([
        calls([edit()]),
        says("Done."),
        calls([read("src/lib.rs"), write("src/lib.rs", "mended\n")]),
        says("Mended."),
    ]);
    with_views.views.play(LINE, ScriptedRun::new(ERROR, 101));
    with_views.views.play(LINE, ScriptedRun::new("", 0));
    let (_, finished) = with_views.fixture.speculate("do it");
    assert_eq!(finished.ending, Ending::Completed);
    assert!(finished.check.as_ref().unwrap().passed && runs(&with_views) == 2);
    let asked = words(&finished);
    assert!(asked.len() == 2 && asked[1].contains(ERROR) && asked[1].contains("cargo check"), "{asked:?}");
    check_pairing(&finished.transcript.messages).unwrap();
    accepted(block_on(with_views.fixture.engine.accept(&finished)).unwrap());
    assert_eq!(with_views.fixture.tree.snapshot()["src/lib.rs"], b"mended\n");
}

#[test]
fn a_failure_that_stays_is_shown_with_the_work() {
    // The model changes nothing after the check failed, so the check does not run again.
    let with_views = checking([calls([edit()]), says("Done."), says("It failed before.")]);
    with_views.views.play(LINE, ScriptedRun::new(ERROR, 101));
    let (_, finished) = with_views.fixture.speculate("do it");
    assert_eq!((finished.ending.clone(), runs(&with_views)), (Ending::Completed, 1));
    assert_eq!(finished.check.as_ref().unwrap().words(), "cargo check fails");
    assert_eq!(words(&finished).len(), 2);
    // The model changes something, and the check fails again.
    let with_views = checking([
        calls([edit()]),
        says("Done."),
        calls([read("src/lib.rs"), write("src/lib.rs", "worse\n")]),
        says("Mended."),
    ]);
    with_views.views.play(LINE, ScriptedRun::new(ERROR, 101));
    with_views.views.play(LINE, ScriptedRun::new(ERROR, 101));
    let (_, finished) = with_views.fixture.speculate("do it");
    assert_eq!((finished.ending.clone(), runs(&with_views)), (Ending::Completed, 2));
    assert!(!finished.check.as_ref().unwrap().passed);
}

#[test]
fn mending_that_comes_to_no_end_is_taken_back() {
    for last in [calls([write("src/lib.rs", "half\n"), shell("sudo reboot")]), says("")] {
        let with_views = checking([calls([edit()]), says("Done."), last]);
        with_views.views.play(LINE, ScriptedRun::new(ERROR, 101));
        let (_, finished) = with_views.fixture.speculate("do it");
        assert_eq!(finished.ending, Ending::Completed);
        assert_eq!(words(&finished).len(), 1, "{:?}", finished.transcript);
        assert!(finished.transcript.pending_call().is_none());
        assert!(!finished.check.as_ref().unwrap().passed);
        accepted(block_on(with_views.fixture.engine.accept(&finished)).unwrap());
        assert_ne!(with_views.fixture.tree.snapshot()["src/lib.rs"], b"half\n");
    }
}

#[test]
fn a_check_that_cannot_say_anything_of_the_files_is_named_with_the_reason() {
    let not_run = |played: Option<ScriptedRun>, prepare: &dyn Fn(&ViewFixture)| {
        let with_views = checking([calls([edit()]), says("Done."), says("never asked")]);
        prepare(&with_views);
        if let Some(played) = played {
            with_views.views.play(LINE, played);
        }
        let (_, finished) = with_views.fixture.speculate("do it");
        assert_eq!(finished.ending, Ending::Completed);
        assert_eq!((words(&finished).len(), finished.failures().len()), (1, 0));
        let check = finished.check.clone().expect("the check is named");
        assert!(!check.passed && !check.failed());
        assert!(check.words().ends_with("did not run"), "{check:?}");
        (runs(&with_views), check.not_run.expect("it did not run"))
    };
    let nothing: &dyn Fn(&ViewFixture) = &|_| {};
    let failed = || ScriptedRun::new(ERROR, 101);
    let said = |(ran, why): (usize, String), times: usize, expected: &str| {
        assert!(ran == times && why.contains(expected), "{ran} runs: {why}");
    };
    said(
        not_run(Some(failed().with(|answer| answer.refused.network = 2)), nothing),
        1,
        "asked for a network",
    );
    said(
        not_run(Some(failed().with(|answer| answer.refused.privileges = true)), nothing),
        1,
        "asked for rights",
    );
    let full = failed().with(|answer| answer.refused.quota = Some("1 MiB".into()));
    said(not_run(Some(full), nothing), 1, "limit: 1 MiB");
    said(
        not_run(Some(failed().with(|answer| answer.output.timed_out = true)), nothing),
        1,
        "took longer than",
    );
    let changed = failed().with(|answer| answer.changed_meanwhile = vec![path("a")]);
    said(not_run(Some(changed), nothing), 1, "files changed while it ran");
    // The program of the check does not exist.
    said(not_run(None, nothing), 1, "");
    said(not_run(Some(failed()), &|with_views| with_views.views.end_support("none here")), 0, "no views");
    let without: &dyn Fn(&ViewFixture) =
        &|with_views| with_views.fixture.host.rules.lock().unwrap().views = false;
    said(not_run(Some(failed()), without), 0, "");
    let needs_host = Check { line: "sudo make check".to_owned(), time: Duration::from_secs(20) };
    let with_sudo: &dyn Fn(&ViewFixture) = &|with_views| {
        *with_views.fixture.host.check.lock().unwrap() = Some(Checker::Command(needs_host.clone()));
    };
    said(not_run(None, with_sudo), 0, "sudo");
    // Nothing was changed, so there is nothing to check.
    let with_views = checking([calls([read("src/lib.rs")]), says("Done.")]);
    let (_, finished) = with_views.fixture.speculate("do it");
    assert!(finished.check.is_none() && runs(&with_views) == 0);
}

/// Looks with these results, one after the other, and keeps what it was asked for.
struct ScriptedLooks {
    results: Mutex<VecDeque<Result<Vec<String>, String>>>,
    asked: Mutex<Vec<(Vec<String>, Duration)>>,
}

#[async_trait]
impl EditObserver for ScriptedLooks {
    async fn on_edit(&self, _: &WorkspacePath, _: ToolContext<'_>) -> Option<String> {
        None
    }

    async fn look_at_all(
        &self,
        staged: &[WorkspacePath],
        time: Duration,
        _: ToolContext<'_>,
    ) -> Option<FinalLook> {
        self.asked.lock().unwrap().push((staged.iter().map(ToString::to_string).collect(), time));
        let new_errors = self.results.lock().unwrap().pop_front()?;
        Some(FinalLook { by: "gopls".to_owned(), new_errors })
    }
}

/// Where the project has no command, a language server looks at all that is staged, for a share of the time.
#[test]
fn where_no_command_is_known_servers_look() {
    let looks = |results: &[Result<&str, &str>], answers: Vec<Reply>| {
        let mut with_views = with_views(ApprovalMode::AutoEdit, answers);
        *with_views.fixture.host.check.lock().unwrap() = Some(Checker::Servers);
        let owned = |result: &Result<&str, &str>| match result {
            Ok(error) => {
                Ok(Some((*error).to_owned()).into_iter().filter(|error| !error.is_empty()).collect())
            }
            Err(why) => Err((*why).to_owned()),
        };
        let observer = Arc::new(ScriptedLooks {
            results: Mutex::new(results.iter().map(owned).collect()),
            asked: Mutex::default(),
        });
        let toolbox = with_views.fixture.engine.toolbox.clone();
        with_views.fixture.engine.toolbox = toolbox.with_edit_observer(observer.clone());
        let (_, finished) = with_views.fixture.speculate("do it");
        assert_eq!(finished.ending, Ending::Completed);
        let asked = observer.asked.lock().unwrap().clone();
        (finished, asked)
    };
    let error = "src/lib.rs:1:1: error: no";
    let (finished, asked) = looks(&[Ok("")], vec![calls([edit()]), says("Done.")]);
    assert_eq!(finished.check.as_ref().unwrap().words(), "gopls passes");
    assert_eq!(asked, [(vec!["src/lib.rs".to_owned()], Duration::from_secs(30))]);
    let (finished, asked) = looks(&[Err("it was still loading")], vec![calls([edit()]), says("Done.")]);
    let check = finished.check.as_ref().unwrap();
    assert_eq!(
        (check.passed, check.not_run.as_deref(), asked.len()),
        (false, Some("it was still loading"), 1)
    );
    assert!(!check.failed());
    // An error goes back to the model once.
    let mends = vec![
        calls([edit()]),
        says("Done."),
        calls([read("src/lib.rs"), write("src/lib.rs", "mended\n")]),
        says("Mended."),
    ];
    let (finished, asked) = looks(&[Ok(error), Ok("")], mends);
    assert!(finished.check.as_ref().unwrap().passed && asked.len() == 2);
    let told = words(&finished);
    assert!(told.len() == 2 && told[1].contains(error) && told[1].contains("`gopls`"), "{told:?}");
    // Nobody looks at files of these kinds.
    let (finished, asked) = looks(&[], vec![calls([edit()]), says("Done.")]);
    assert_eq!((finished.check.clone(), asked.len()), (None, 1));
}
