//! Turns that are staged: one question at their end in place of one for each edit and most commands.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use futures::StreamExt;
use futures::executor::block_on;
use headstart_forked_query::{Model, ModelEvent};
use headstart_overlay_fs::{Choice, Keep, Workspace};
use headstart_speculation::{
    AcceptAnswers, Acceptance, Consent, Ending, Event, Limits, Staged, Status, Transcript,
};
use headstart_tool_gate::{ApprovalMode, Reason, ToolPolicies, ToolPolicy, ToolRule, ToolTable};
use headstart_toolbox::ScriptedRun;
use serde_json::json;

use crate::shadow::{ViewFixture, with_views};
use crate::support::{Reply, accepted, call, calls, edit, path, read, says, shell, write};

struct Turns {
    fixture: ViewFixture,
    staged: Staged,
}

fn turns(mode: ApprovalMode, answers: impl IntoIterator<Item = Reply>) -> Turns {
    let fixture = with_views(mode, answers);
    let staged = Staged::new("c", Arc::clone(&fixture.fixture.tree) as Arc<dyn Workspace>);
    Turns { fixture, staged }
}

impl Turns {
    fn run(&self, prompt: &str) -> (Ending, Transcript, Vec<Event>) {
        let fixture = &self.fixture.fixture;
        let model = Arc::clone(&fixture.model) as Arc<dyn Model>;
        let (request, transcript) = (fixture.request(), Transcript::new(prompt));
        let (turn, events) =
            fixture.engine.staged_turn(model, request, transcript, Limits::default(), &self.staged);
        let ending = block_on(turn.run());
        (ending, turn.transcript(), block_on(events.collect()))
    }

    fn asked(&self) -> Vec<String> {
        let asked = self.fixture.fixture.host.asked.lock().unwrap();
        let line = |call: &headstart_forked_query::ToolCall| {
            call.args.get("command").and_then(|line| line.as_str()).unwrap_or(&call.name).to_owned()
        };
        asked.iter().map(line).collect()
    }

    fn consents(&self, consents: impl IntoIterator<Item = Consent>) {
        self.fixture.fixture.host.consents.lock().unwrap().extend(consents);
    }

    fn content(&self, name: &str) -> Option<String> {
        let snapshot = self.fixture.fixture.tree.snapshot();
        snapshot.get(name).map(|content| String::from_utf8(content.clone()).unwrap())
    }

    fn write(&self, answers: &AcceptAnswers) -> Acceptance {
        block_on(self.fixture.fixture.engine.write_staged(&self.staged, answers)).unwrap()
    }

    fn write_as_shown(&self) -> Acceptance {
        let answers = self.staged.approval().unwrap().approve();
        self.write(&answers)
    }
}

fn outcomes(transcript: &Transcript) -> Vec<String> {
    let parts = transcript.messages.iter().flat_map(|message| &message.parts);
    let text = |part: &headstart_forked_query::Part| match part {
        headstart_forked_query::Part::ToolResult(result) => Some(match &result.outcome {
            headstart_forked_query::ToolOutcome::Output(text) => text.as_str().unwrap_or_default().to_owned(),
            headstart_forked_query::ToolOutcome::Error(error) => format!("error: {error}"),
        }),
        _ => None,
    };
    parts.filter_map(text).collect()
}

#[test]
fn a_turn_asks_nothing_writes_nothing_and_sees_what_it_has_staged() {
    let turns = turns(
        ApprovalMode::Default,
        [calls([edit(), shell("cargo fmt"), read("src/lib.rs"), shell("cat src/lib.rs")]), says("Done.")],
    );
    turns.fixture.views.play("cargo fmt", ScriptedRun::new("", 0).writing(path("src/lib.rs"), "formatted\n"));
    turns.fixture.views.play("cat src/lib.rs", ScriptedRun::new("formatted\n", 0));
    let before = turns.fixture.fixture.tree.snapshot();
    let (ending, transcript, _) = turns.run("do it");
    assert_eq!(ending, Ending::Completed);
    assert_eq!(turns.fixture.fixture.tree.snapshot(), before);
    assert_eq!(turns.asked(), [""; 0]);
    let outcomes = outcomes(&transcript);
    assert!(outcomes[2].contains("formatted") && outcomes[3].contains("formatted"), "{outcomes:?}");
    // A command that reads what is staged does not see the real files.
    assert_eq!(turns.fixture.views.real_runs(), [""; 0]);

    assert!(matches!(turns.write(&AcceptAnswers::default()), Acceptance::NeedsApproval(_)));
    assert_eq!(turns.fixture.fixture.tree.snapshot(), before, "not without a yes");
    accepted(turns.write_as_shown());
    assert_eq!(turns.content("src/lib.rs").as_deref(), Some("formatted\n"));
    assert!(!turns.staged.is_dirty() && turns.staged.approval().is_none());
}

#[test]
fn the_next_turn_goes_on_over_what_nobody_has_answered() {
    let turns = turns(
        ApprovalMode::Default,
        [
            calls([write("a.txt", "one\n")]),
            says("One."),
            calls([
                read("a.txt"),
                call("edit", &json!({ "file_path": "a.txt", "old_string": "one", "new_string": "two" })),
            ]),
            says("Two."),
        ],
    );
    turns.run("begin");
    turns.run("go on");
    assert_eq!(turns.content("a.txt"), None);
    accepted(turns.write_as_shown());
    assert_eq!(turns.content("a.txt").as_deref(), Some("two\n"));
}

#[test]
fn a_turn_that_is_not_written_is_taken_back_by_itself() {
    let change = |old: &str, new: &str| {
        call("edit", &json!({ "file_path": "a.txt", "old_string": old, "new_string": new }))
    };
    let turns = turns(
        ApprovalMode::Default,
        [
            calls([write("a.txt", "one\n"), write("b.txt", "b\n")]),
            says("One."),
            says("A turn that stages nothing."),
            calls([read("a.txt"), change("one", "two"), write("c.txt", "c\n")]),
            says("Two."),
            calls([read("a.txt"), change("one", "three")]),
            says("Three."),
        ],
    );
    let (toolbox, limits) = (turns.fixture.fixture.engine.toolbox.clone(), Limits::default());
    let back = || {
        let taken = turns.staged.take_back_turn(&toolbox, &limits)?;
        Some(taken.paths.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let staged = || {
        let changes = turns.staged.finished().map(|finished| finished.changes).unwrap_or_default();
        changes.summary().iter().map(|row| row.path.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(back(), None, "nothing is staged");
    for prompt in ["begin", "explain", "change it"] {
        turns.staged.begin_turn();
        turns.run(prompt);
    }
    assert_eq!(staged(), ["a.txt", "b.txt", "c.txt"]);
    assert_eq!(back().unwrap(), ["a.txt", "c.txt"], "of the third turn");
    assert_eq!(staged(), ["a.txt", "b.txt"]);
    // The next turn sees what is left.
    turns.staged.begin_turn();
    let (_, transcript, _) = turns.run("change it otherwise");
    assert!(outcomes(&transcript).iter().all(|outcome| !outcome.starts_with("error")), "{transcript:?}");
    assert_eq!(back().unwrap(), ["a.txt"]);
    assert_eq!(back().unwrap(), ["a.txt", "b.txt"], "the second turn staged nothing");
    assert!(!turns.staged.is_dirty() && back().is_none());
}

#[test]
fn what_a_view_cannot_give_is_asked_about_and_what_is_staged_is_written_first() {
    for (command, ran) in [
        // The gate knows it from the text.
        ("git push", None),
        // Only the run shows it.
        ("sh release.sh", Some(ScriptedRun::new("no route\n", 1).with(|ran| ran.refused.network = 1))),
    ] {
        let answers = [calls([edit(), shell(command)]), calls([write("b.txt", "after\n")]), says("Done.")];
        let turns = turns(ApprovalMode::Default, answers);
        if let Some(ran) = ran {
            turns.fixture.views.play(command, ran);
        }
        turns.consents([Consent::Run]);
        let (ending, transcript, events) = turns.run("release it");
        assert_eq!(ending, Ending::Completed, "{command}");
        assert_eq!(turns.asked(), [command]);
        let prepared = turns.fixture.fixture.host.prepared.lock().unwrap();
        let shown = prepared[0].staged.as_ref().unwrap().changes().summary();
        assert_eq!(shown.len(), 1, "the user sees what a yes writes: {shown:?}");
        assert!(events.iter().any(|event| matches!(event, Event::Written { .. })), "{events:?}");
        assert_eq!(turns.fixture.views.real_runs(), [command]);
        assert!(outcomes(&transcript)[1].starts_with("ran "), "{transcript:?}");
        assert!(turns.content("src/lib.rs").unwrap().contains('2'));
        // From then on a no covers the rest only.
        assert_eq!(turns.content("b.txt"), None);
        turns.staged.forget();
        assert!(!turns.staged.is_dirty());
    }
}

#[test]
fn a_no_to_such_a_command_leaves_all_staged_and_the_turn_goes_on() {
    let answers = [calls([edit(), shell("git push")]), calls([write("b.txt", "b\n")]), says("Done.")];
    let turns = turns(ApprovalMode::Default, answers);
    turns.consents([Consent::DeclineBecause("not yet".into())]);
    let before = turns.fixture.fixture.tree.snapshot();
    let (ending, transcript, _) = turns.run("push it");
    assert_eq!(ending, Ending::Completed);
    assert!(outcomes(&transcript)[1].contains("not yet"), "{transcript:?}");
    assert_eq!(turns.fixture.fixture.tree.snapshot(), before);
    assert_eq!(turns.staged.approval().unwrap().changes().summary().len(), 2);
}

/// "Always" was said to the words, not to what a run of them turns out to write into files that other programs obey.
#[test]
fn a_yes_to_the_words_of_a_command_is_none_to_what_a_view_shows_it_to_do() {
    let makes = |at: &str| ScriptedRun::new("", 0).writing(path(at), "{}");
    let pushes = ScriptedRun::new("no route\n", 1).with(|ran| ran.refused.network = 1);
    for (ran, asks) in
        [(makes(".vscode/tasks.json"), true), (makes(".git/hooks/pre-commit"), true), (pushes, false)]
    {
        let turns = turns(ApprovalMode::AutoEdit, [calls([shell("make all")]), says("Done.")]);
        turns.fixture.views.play("make all", ran);
        let rule = ToolRule {
            tool: "shell".into(),
            when: [("command".to_owned(), "make all".to_owned())].into(),
            policy: ToolPolicy::Automatic,
        };
        let table = ToolTable { rules: vec![rule], ..ToolTable::default() };
        turns.fixture.fixture.host.rules.lock().unwrap().tool_policies =
            ToolPolicies::new(table, ToolTable::default(), &[]).unwrap();
        turns.consents([Consent::Decline]);
        turns.run("build it");
        assert_eq!(!turns.asked().is_empty(), asks);
        assert_eq!(turns.fixture.views.real_runs().is_empty(), asks);
    }
}

#[test]
fn what_the_user_saved_meanwhile_is_merged_or_asked_about_and_never_replaced() {
    let file = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let change = |old: &str, new: &str| {
        call("edit", &json!({ "file_path": "n.txt", "old_string": old, "new_string": new }))
    };
    let with_file = |of_user: &str| {
        let turns = turns(ApprovalMode::Default, [calls([change("9\n", "nine\n")]), says("Done.")]);
        turns.fixture.fixture.tree.write(&path("n.txt"), file);
        turns.run("do it");
        turns.fixture.fixture.tree.write(&path("n.txt"), of_user);
        turns
    };
    let elsewhere = with_file(&file.replace("1\n", "eins\n"));
    accepted(elsewhere.write_as_shown());
    let merged = elsewhere.content("n.txt").unwrap();
    assert!(merged.starts_with("eins\n") && merged.ends_with("nine\n"), "{merged}");

    let same = with_file(&file.replace("9\n", "neun\n"));
    let Acceptance::Conflict(conflicts) = same.write_as_shown() else { panic!("no conflict") };
    assert!(same.content("n.txt").unwrap().contains("neun"));
    assert!(same.staged.is_dirty(), "it stays staged");
    let choices = conflicts.into_iter().map(|conflict| Choice { conflict, keep: Keep::Work }).collect();
    accepted(same.write(&same.staged.approval().unwrap().approve().with_choices(choices)));
    assert!(same.content("n.txt").unwrap().contains("nine"));
}

#[test]
fn a_file_that_was_only_read_may_change() {
    let turns = turns(ApprovalMode::Default, [calls([read("README.md"), edit()]), says("Done.")]);
    turns.run("do it");
    turns.fixture.fixture.tree.write(&path("README.md"), "# other\n");
    accepted(turns.write_as_shown());
    assert_eq!(turns.content("README.md").as_deref(), Some("# other\n"));
}

#[test]
fn what_the_user_agreed_to_read_or_refused_to_have_written_stops_no_write() {
    for (call, consent) in [
        (read(".env"), Consent::Run),
        (write(".env", "KEY=2\n"), Consent::DeclineBecause("no".into())),
        (write(".env", "KEY=2\n"), Consent::Run),
    ] {
        let answers = [calls([edit(), call]), calls([write("b.txt", "b\n")]), says("Done.")];
        let turns = turns(ApprovalMode::Default, answers);
        turns.fixture.fixture.tree.write(&path(".env"), "KEY=1\n");
        turns.consents([consent]);
        let (_, transcript, _) = turns.run("do it");
        assert!(!outcomes(&transcript)[1].contains("not on disk yet"), "{transcript:?}");
        accepted(turns.write_as_shown());
        assert_eq!(turns.content("b.txt").as_deref(), Some("b\n"));
        assert!(turns.content("src/lib.rs").unwrap().contains('2'));
        // Not even a yes has a file written over whose content the conversation does not show.
        assert_eq!(turns.content(".env").as_deref(), Some("KEY=1\n"));
    }
}

#[test]
fn a_mode_without_questions_writes_without_an_answer() {
    let turns = turns(ApprovalMode::AutoEdit, [calls([edit()]), says("Done.")]);
    turns.run("do it");
    accepted(turns.write(&AcceptAnswers::default()));
    assert!(turns.content("src/lib.rs").unwrap().contains('2'));
}

#[test]
fn plan_mode_reads_what_is_staged_and_writes_none_of_it() {
    let answers =
        [calls([edit()]), says("Done."), calls([read("src/lib.rs"), shell("cat src/lib.rs")]), says("Read.")];
    let turns = turns(ApprovalMode::Default, answers);
    turns.run("do it");
    turns.fixture.fixture.host.rules.lock().unwrap().mode = ApprovalMode::Plan;
    let before = turns.fixture.fixture.tree.snapshot();
    let (_, transcript, _) = turns.run("what is in it?");
    let outcomes = outcomes(&transcript);
    assert!(outcomes[0].contains('2') && outcomes[1].starts_with("error: plan mode"), "{outcomes:?}");
    assert!(matches!(turns.write_as_shown(), Acceptance::Withdrawn { .. }));
    assert_eq!(turns.fixture.fixture.tree.snapshot(), before);
    assert!(turns.staged.is_dirty());
}

#[test]
fn a_call_that_was_allowed_when_it_ran_is_judged_again_when_it_is_written() {
    let turns = turns(ApprovalMode::Default, [calls([edit()]), says("Done.")]);
    turns.run("do it");
    let rules = headstart_tool_gate::DenyRules::from_patterns(["src/"]).unwrap();
    turns.fixture.fixture.host.rules.lock().unwrap().deny = rules;
    let Acceptance::Withdrawn { verdict, .. } = turns.write_as_shown() else { panic!("written") };
    assert_eq!(verdict.reason, Reason::DeniedPath);
}

#[test]
fn what_is_kept_is_restored_in_another_process() {
    let first = turns(ApprovalMode::Default, [calls([edit(), write("b.txt", "b\n")]), says("Done.")]);
    first.run("do it");
    let kept = first.staged.finished().unwrap();
    assert_eq!(kept.ending.status(), Status::Completed);
    let json = serde_json::to_string(&kept).unwrap();
    let second = turns(ApprovalMode::Default, []);
    let limits = Limits::default();
    let toolbox = &second.fixture.fixture.engine.toolbox;
    second.staged.restore(&serde_json::from_str(&json).unwrap(), toolbox, &limits).unwrap();
    assert_eq!(second.staged.take_back_turn(toolbox, &limits), None, "its turns are not known");
    assert_eq!(second.staged.approval().unwrap().changes().summary().len(), 2);
    accepted(second.write_as_shown());
    assert_eq!(second.content("b.txt").as_deref(), Some("b\n"));

    // The process may have died between the write and the note of it.
    let third = turns(ApprovalMode::Default, []);
    third.fixture.fixture.tree.write(&path("b.txt"), "b\n");
    third.fixture.fixture.tree.write(&path("src/lib.rs"), "pub fn one() -> u32 {\n    2\n}\n");
    third.staged.restore(&kept, toolbox, &limits).unwrap();
    accepted(third.write_as_shown());
}

#[test]
fn work_ahead_stands_on_what_is_staged_and_goes_with_it() {
    let answers = [
        calls([write("a.txt", "one\n")]),
        says("Done."),
        calls([read("a.txt"), write("b.txt", "two\n")]),
        says("More."),
    ];
    for writes_first in [true, false] {
        let turns = turns(ApprovalMode::Default, answers.clone());
        turns.run("begin");
        let fixture = &turns.fixture.fixture;
        let (speculation, driver, _) =
            fixture.engine.start_on(&turns.staged, "s1", &fixture.params(), "", "more").unwrap();
        block_on(driver);
        let finished = block_on(speculation.finished());
        assert_eq!(finished.ending, Ending::Completed);
        assert!(outcomes(&finished.transcript)[0].contains("one"));
        assert!(block_on(speculation.accept()).is_err(), "what it stands on is not there");
        if writes_first {
            accepted(turns.write_as_shown());
            let Acceptance::NeedsApproval(asks) = block_on(speculation.accept()).unwrap() else { panic!() };
            accepted(block_on(speculation.accept_with(&asks.approve())).unwrap());
        } else {
            accepted(block_on(speculation.stage_on(&turns.staged)).unwrap());
            assert_eq!(turns.content("b.txt"), None);
            accepted(turns.write_as_shown());
        }
        assert_eq!(turns.content("a.txt").as_deref(), Some("one\n"));
        assert_eq!(turns.content("b.txt").as_deref(), Some("two\n"));
    }
}

/// Numbers that look random and are the same each time.
struct Mixed(u64);

impl Mixed {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// Forty turns: 2.5 edits and 3.4 commands each, of which a quarter reads and half writes in the project.
fn forty_turns() -> Vec<Vec<ModelEvent>> {
    let mut mixed = Mixed(7);
    let commands: [(usize, &[&str]); 5] = [
        (34, &["cat README.md", "ls src", "git status"]),
        (69, &["cargo test", "cargo fmt", "make", "sh check.sh"]),
        (16, &["curl https://docs.example.com/a", "gh pr view 3"]),
        (4, &["git push", "npm publish"]),
        (13, &["docker ps", "touch ../other/x", "systemctl restart web"]),
    ];
    let mut calls: Vec<ModelEvent> = commands
        .iter()
        .flat_map(|(times, lines)| (0..*times).map(|time| shell(lines[time % lines.len()])))
        .collect();
    calls.extend((0..100).map(|time| write(&format!("f{}.txt", time % 9), &format!("{time}\n"))));
    let mut turns = vec![Vec::new(); 40];
    let mut place = 0;
    while !calls.is_empty() {
        turns[place % 40].push(calls.swap_remove(mixed.below(calls.len())));
        place += 1;
    }
    turns
}

#[test]
fn forty_turns_ask_at_most_one_and_a_half_questions_each_where_asking_call_by_call_takes_three() {
    let mut counts = Vec::new();
    for is_staged in [false, true] {
        let mut questions = 0;
        for conversation in forty_turns().chunks(8) {
            let answers = conversation
                .iter()
                .flat_map(|turn| turn.iter().map(|one| calls([one.clone()])).chain([says("Done.")]));
            let turns = turns(ApprovalMode::Default, answers.collect::<Vec<_>>());
            turns.consents(std::iter::repeat_n(Consent::Run, 500));
            for line in ["cargo test", "cargo fmt", "make", "sh check.sh"] {
                (0..100).for_each(|_| turns.fixture.views.play(line, ScriptedRun::new("ok\n", 0)));
            }
            for _ in conversation {
                if is_staged {
                    turns.run("next");
                    if turns.staged.is_dirty() {
                        questions += 1;
                        accepted(turns.write_as_shown());
                    }
                } else {
                    let fixture = &turns.fixture.fixture;
                    let model = Arc::clone(&fixture.model) as Arc<dyn Model>;
                    let transcript = Transcript::new("next");
                    let (turn, _) =
                        fixture.engine.turn(model, fixture.request(), transcript, Limits::default());
                    assert_eq!(block_on(turn.run()), Ending::Completed);
                }
            }
            questions += turns.asked().len();
        }
        counts.push(questions);
    }
    println!("questions in 40 turns: {} call by call, {} staged", counts[0], counts[1]);
    assert!(3 * 40 <= counts[0], "{counts:?}");
    assert!(counts[1] * 10 <= 14 * 40, "{counts:?}");
}
