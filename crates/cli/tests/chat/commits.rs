//! Holds that commits can be made ahead, and are taken together with the work.

use serde_json::json;

use crate::fixture::{Chat, Project, project_with_suggestion};

const QUESTION: &str = "write this? [y]es / [d]iff / [n]o";

/// The work ahead writes tests and commits them.
fn project() -> Project {
    let project = project_with_suggestion()
        .variable("HEADSTART_SHADOW", "")
        .writes(0, "tests.txt", "tests\n")
        .shell(0, "git add -A && git commit -qm 'Add tests'")
        .says(0, "Tests are committed.");
    project.session.make_repository(&["init", "-q", "-b", "main"]);
    project
}

fn log(chat: &Chat) -> String {
    chat.project.session.git(&["log", "--format=%s"])
}

#[test]
fn a_commit_is_asked_about_by_its_name_and_lands_with_its_files() {
    let mut chat = project().chat_with_ghost("default");
    let before = chat.project.session.tree();
    chat.wait_for("ahead ✓ ready · 1 file +1 -0, 1 commit on main");
    chat.take();
    chat.wait_for("Take what ran ahead?  1 file +1 -0, 1 commit on main\n");
    chat.wait_for("\ngit     1 commit on main: Add tests\n");
    chat.wait_for(QUESTION);
    assert_eq!(chat.project.session.tree(), before, "nothing is written before the answer");
    chat.answer_about_changes("y");
    chat.wait_for("  in the view: 1 commit on main");
    chat.wait_for("of this was done ahead");
    assert_eq!(log(&chat), "Add tests\nfirst\n");
    assert_eq!(chat.project.session.git(&["status", "--porcelain"]), "");
    chat.project.session.repository_is_sound();
    let undone = chat.project.session.run(&["undo"]);
    assert_eq!(undone.code, Some(0), "{undone}");
    assert_eq!((log(&chat).as_str(), chat.read("tests.txt")), ("first\n", None));
    let ledger = std::fs::read_to_string(chat.project.session.ledger()).unwrap();
    let outcomes: Vec<_> = ledger.lines().filter(|line| line.contains(r#""type":"outcome""#)).collect();
    let [accepted, undone] = outcomes.as_slice() else { panic!("{ledger}") };
    assert!(
        accepted.contains(r#""outcome":"accepted""#) && undone.contains(r#""outcome":"undone""#),
        "{ledger}"
    );
    chat.leave();
}

#[test]
fn what_waits_is_shown_with_the_message_and_the_files_of_its_commit() {
    let mut chat = project().chat_with_ghost("default");
    chat.wait_for("ahead ✓ ready · 1 file +1 -0, 1 commit on main");
    let shown = "1 commit on main: Add tests\nfiles: tests.txt\n";
    chat.send("\x0f");
    chat.wait_for(shown);
    chat.wait_for("create tests.txt  +1");
    chat.send("q");
    chat.wait_until_gone("q leaves");
    chat.send("/diff\r");
    chat.wait_for(shown);
    chat.leave();
}

#[test]
fn undo_names_the_commit_that_it_takes_back() {
    let mut chat = project().chat_with_ghost("auto-edit");
    chat.wait_for("ahead ✓ ready · 1 file +1 -0, 1 commit on main");
    chat.take();
    chat.wait_for("of this was done ahead");
    assert_eq!(log(&chat), "Add tests\nfirst\n");
    chat.send("/undo\r");
    chat.wait_for(
        "as before  tests.txt\ntaken back 1 commit on main\nwhat \"add tests\" wrote is taken back",
    );
    assert_eq!((log(&chat).as_str(), chat.read("tests.txt")), ("first\n", None));
    chat.leave();
}

#[test]
fn no_leaves_nothing_of_a_commit() {
    let mut chat = project().chat_with_ghost("default");
    let before = chat.project.session.tree();
    chat.wait_for("1 commit on main");
    chat.take();
    chat.answer_to(QUESTION, "n");
    chat.wait_for("nothing was written, and what ran ahead is dropped");
    assert_eq!(chat.project.session.tree(), before);
    chat.send("\x15");
    chat.leave_keeping(|session| {
        let kept = session.home().join(".local/state/headstart/git");
        assert_eq!(std::fs::read_dir(kept).map_or(0, Iterator::count), 0, "objects go with the chat");
    });
}

/// Work after a commit that was taken commits on top of it.
#[test]
fn the_next_work_commits_on_the_commit_that_was_taken() {
    let project = project()
        .suggests("commit notes")
        .writes(0, "more.txt", "more\n")
        .shell(0, "git log -1 --format='the last one: %s'; git add -A && git commit -qm 'Add more'")
        .calls(0, "shell", json!({ "command": "git log --format=%s" }))
        .says(0, "More is committed.");
    // Wide enough for everything that the row above the prompt may say on a busy machine.
    let mut chat = project.variable("HEADSTART_BACKGROUND", "always").chat_with_ghost_in("auto-edit", 120);
    let before = chat.project.session.tree();
    chat.wait_for("ready · ");
    assert_eq!(chat.project.session.tree(), before);
    chat.take();
    chat.wait_for("Tests are committed.");
    chat.wait_for("> commit notes  [Tab]");
    chat.wait_for("ready · ");
    assert_eq!(log(&chat), "Add tests\nfirst\n");
    chat.take();
    chat.wait_for("the last one: Add tests");
    chat.wait_for("More is committed.");
    chat.wait_for("1 commit on main: Add more");
    assert_eq!(log(&chat), "Add more\nAdd tests\nfirst\n");
    assert_eq!(chat.project.session.git(&["status", "--porcelain"]), "");
    chat.project.session.repository_is_sound();
    chat.leave();
}

/// The question is about the call as it runs for its user. The reason why the call did not run ahead is shown before
/// the question, because it is another matter.
#[test]
fn what_a_view_did_not_give_is_said_before_the_question() {
    let project = project_with_suggestion()
        .variable("HEADSTART_SHADOW", "")
        .shell(
            0,
            "perl -MIO::Socket::INET -e 'IO::Socket::INET->new(PeerAddr => \"192.0.2.7:80\") or die $!'",
        )
        .says(0, "It was tried.");
    let mut chat = project.chat_with_ghost("default");
    chat.wait_for("ahead ! waits for your yes: perl -M");
    chat.take();
    chat.wait_for("ahead it stopped there: perl -M");
    chat.wait_for("network, which a view has not");
    chat.answer_to("run this?", "n");
    chat.wait_for("It was tried.");
    chat.leave();
}

/// The user's commit is kept whatever they answer. The commit that was made ahead is kept next to it, or dropped.
#[test]
fn a_commit_of_the_users_meanwhile_is_asked_about_and_stays() {
    for (key, expected) in [("y", true), ("\x1b", false), ("a", false)] {
        let mut chat = project().says(0, "Asked anew.").chat_with_ghost("auto-edit");
        chat.wait_for("1 commit on main");
        chat.project.session.git(&["commit", "-q", "--allow-empty", "-m", "theirs"]);
        chat.take();
        chat.wait_for(
            "Not written: git was used since it ran ahead\n  the branch main has moved since the work began",
        );
        chat.wait_for("without conflicts");
        let before = chat.project.session.tree();
        chat.answer_to("[y]es / [a]sk again / [n]o", key);
        match key {
            "y" => chat.wait_for("  yes: kept as refs/headstart/"),
            "a" => chat.wait_for("Asked anew."),
            _ => chat.wait_for("nothing was written, and what ran ahead is dropped"),
        }
        assert_eq!((log(&chat).as_str(), chat.read("tests.txt")), ("theirs\nfirst\n", None), "{key:?}");
        let refs = chat.project.session.git(&["for-each-ref", "--format=%(refname)", "refs/headstart"]);
        assert_eq!(refs.lines().count(), usize::from(expected), "{key:?}");
        if expected {
            chat.project.session.git(&["merge", "-q", "--no-edit", refs.trim()]);
            assert_eq!(chat.read("tests.txt").as_deref(), Some("tests\n"));
            assert_eq!(chat.project.session.git(&["status", "--porcelain"]), "");
        } else {
            assert_eq!(chat.project.session.tree(), before, "{key:?}");
        }
        chat.project.session.repository_is_sound();
        chat.send("\x15");
        chat.leave();
    }
}

/// The user edited a file; the work ahead writes none, and only does this with git.
fn only_git(command: &str) -> Chat {
    let project =
        project_with_suggestion().variable("HEADSTART_SHADOW", "").shell(0, command).says(0, "That is done.");
    project.session.make_repository(&["init", "-q", "-b", "main"]);
    project.session.write("project/notes.txt", "two\n");
    let mut chat = project.chat_with_ghost("auto-edit");
    chat.wait_for("ahead ✓ ready");
    chat.take();
    chat.wait_for("of this was done ahead · /undo takes it back");
    chat
}

#[test]
fn undo_says_what_it_did_with_git_where_the_work_wrote_no_file() {
    let mut chat = only_git("git commit -qam 'Note two'");
    assert_eq!(log(&chat), "Note two\nfirst\n");
    chat.send("/undo\r");
    chat.wait_for("taken back 1 commit on main\nwhat \"add tests\" wrote is taken back");
    assert_eq!(log(&chat), "first\n");
    assert_eq!(chat.project.session.git(&["status", "--porcelain"]), " M notes.txt\n");
    assert_eq!(chat.read("notes.txt").as_deref(), Some("two\n"));
    chat.leave();

    let mut chat = only_git("git branch idea && git stash -q");
    assert_eq!(chat.read("notes.txt").as_deref(), Some("one\n"));
    chat.send("/undo\r");
    chat.wait_for("as before  notes.txt\ntaken back branch idea, 1 stash\n");
    assert_eq!(chat.read("notes.txt").as_deref(), Some("two\n"));
    assert_eq!(chat.project.session.git(&["branch", "--format=%(refname:short)"]), "main\n");
    assert_eq!(chat.project.session.git(&["stash", "list"]), "");
    chat.leave();
}

/// A git that says it is an old one, and else is the installed one.
#[test]
fn with_a_git_that_is_too_old_the_row_says_so_and_the_commit_is_asked_about() {
    let project = project();
    let path = std::env::var("PATH").expect("a path");
    let git = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|git| git.exists());
    let git = git.expect("git is installed");
    let script = format!(
        "#!/bin/bash\nfor word; do [[ $word == version || $word == --version ]] && echo 'git version 2.33.1' && exit; done\n\
         exec {} \"$@\"\n",
        git.display()
    );
    project.session.write("home/old/git", script);
    let old = project.session.home().join("old");
    let bits = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(old.join("git"), bits).expect("it is there");
    let mut chat =
        project.variable("PATH", &format!("{}:{path}", old.display())).chat_with_ghost_in("auto-edit", 120);
    chat.wait_for(
        "then asks: git add -A && git commit… (this is git version 2.33.1; install git 2.34 or later; so ",
    );
    chat.take();
    chat.answer("n");
    chat.wait_for("Tests are committed.");
    assert_eq!(log(&chat), "first\n");
    chat.leave();
}

/// The branch has its star until the commit is taken, and none when the next call is asked about.
#[test]
fn the_question_after_a_commit_shows_the_branch_as_it_is_by_then() {
    let project = project_with_suggestion()
        .variable("HEADSTART_SHADOW", "")
        .shell(0, "git add -A && git commit -qm 'Note two'")
        .shell(0, "git push -q");
    project.session.make_repository(&["init", "-q", "-b", "main"]);
    project.session.write("project/notes.txt", "two\n");
    let mut chat = project.chat_with_ghost("auto-edit");
    chat.wait_for("then asks: git push -q");
    chat.wait_for(" · main* · ");
    chat.take();
    chat.wait_for("run this? [y]es");
    chat.wait_for(" · main · ");
    assert_eq!(log(&chat), "Note two\nfirst\n");
    chat.answer("n");
    chat.send("\x04");
    chat.exit_code();
}
