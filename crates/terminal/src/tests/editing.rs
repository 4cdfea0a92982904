use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyEventState, KeyModifiers};
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use super::{events, play, shown};
use crate::{Action, Choice, Ghost, GhostDirection, LineEditor, Palette, Popup, Size, View, render};

fn submitted(text: &str) -> Action {
    Action::Submit(text.to_owned())
}

/// Each case is typed text followed by letters in normal mode.
#[test]
fn letters_are_commands_in_the_normal_mode_of_vi() {
    for (typed, script, expected) in [
        // Esc moves the cursor onto the character that was typed last.
        ("one", "", "on‸e"),
        ("", "", "‸"),
        ("one", "h", "o‸ne"),
        ("one", "h h h h", "‸one"),
        ("one", "l l", "on‸e"),
        ("one_two_three", "0 w", "one ‸two three"),
        ("one_two_three", "0 w w w", "one two thre‸e"),
        ("one_two_three", "b", "one two ‸three"),
        ("one_two_three", "b b", "one ‸two three"),
        ("one_two_three", "0 e", "on‸e two three"),
        ("one_two_three", "0 e e", "one tw‸o three"),
        ("one|two", "0 $", "one\ntw‸o"),
        ("one|two", "k", "on‸e\ntwo"),
        ("one|two", "k j", "one\ntw‸o"),
        ("one|two", "0 h", "one\n‸two"),
        ("one|two", "k $ w", "one\n‸two"),
        ("one", "i x", "onx‸e"),
        ("one", "a x", "onex‸"),
        ("one", "I x", "x‸one"),
        ("one", "0 A x", "onex‸"),
        ("one|two", "k o x", "one\nx‸\ntwo"),
        ("one|two", "O x", "one\nx‸\ntwo"),
        ("one", "O x", "x‸\none"),
        ("one", "x", "o‸n"),
        ("one", "0 x x", "‸e"),
        ("one", "X", "o‸e"),
        ("one", "s x", "onx‸"),
        ("one|two|six", "k d d", "one\n‸six"),
        ("one|two", "d d", "‸one"),
        ("one", "d d", "‸"),
        ("one_two", "0 D", "‸"),
        ("one_two", "0 w D", "one‸ "),
        ("one_two", "0 w C x", "one x‸"),
        ("one_two_three", "0 d w", "‸two three"),
        ("one|two", "k 0 d w", "‸\ntwo"),
        ("one_two_three", "0 d e", "‸ two three"),
        ("one_two_three", "b d b", "one ‸three"),
        ("one_two_three", "0 w d $", "one‸ "),
        ("one_two_three", "0 w d 0", "‸two three"),
        ("one_two_three", "0 c w x", "x‸ two three"),
        ("one_two|six", "k c c x", "x‸\nsix"),
        ("one_two", "S x", "x‸"),
        ("one_two", "d z x", "one t‸w"),
        ("one_two_three", "0 d w p", "tone ‸wo three"),
        ("one_two", "0 d w u", "‸one two"),
        ("one_two", "0 d w d d u u", "‸one two"),
        // A grapheme cluster counts as one character.
        ("e\u{301}漢", "h x", "‸漢"),
        ("one", "q z Z", "on‸e"),
    ] {
        let mut editor = LineEditor::default().with_vi();
        let _ = play(&mut editor, &format!("{typed} Esc {script}"));
        assert_eq!(shown(&editor), expected, "{typed} {script}");
    }
}

#[test]
fn esc_leaves_a_mode_of_vi_and_only_then_does_what_it_does_without() {
    let mut editor = LineEditor::default().with_vi();
    assert_eq!(editor.vi_mode(), Some("INSERT"));
    editor.set_ghost(Some(Ghost::only("run the tests")));
    assert_eq!(play(&mut editor, "Esc"), Action::None);
    assert_eq!((editor.vi_mode(), editor.ghost().is_some()), (Some("NORMAL"), true));
    assert_eq!(play(&mut editor, "Tab"), Action::Tab);
    assert_eq!(play(&mut editor, "Esc"), Action::DismissGhost);
    assert_eq!(play(&mut editor, "d Esc"), Action::None);
    assert_eq!(play(&mut editor, "Esc"), Action::Escape);
    // Pasted text is text in every mode, and sending a prompt ends normal mode.
    assert_eq!(play(&mut editor, "paste:dd"), Action::Inserted);
    assert_eq!(play(&mut editor, "Enter"), Action::Submit("dd".to_owned()));
    assert_eq!(editor.vi_mode(), Some("INSERT"));
    assert_eq!(play(&mut editor, "Esc k ^R d Esc ^C"), Action::Edited);
    assert_eq!(LineEditor::default().vi_mode(), None);
}

#[test]
fn keys_edit_the_buffer() {
    let cases = [
        ("abc", "abc‸", Action::Inserted),
        ("abc Left", "ab‸c", Action::Edited),
        ("abc Left Left X", "aX‸bc", Action::Inserted),
        ("abc Right", "abc‸", Action::None),
        ("abc Home", "‸abc", Action::Edited),
        ("abc ^A", "‸abc", Action::Edited),
        ("abc ^A ^A", "‸abc", Action::None),
        ("abc ^A ^E", "abc‸", Action::Edited),
        ("abc ^A Right ^K", "a‸", Action::Edited),
        ("abc Left ^U", "‸c", Action::Edited),
        ("abc ^U ^U", "‸", Action::None),
        ("fix_the_test ^W", "fix the ‸", Action::Edited),
        ("fix_the__ ^W", "fix ‸", Action::Edited),
        ("fix_the M-Backspace", "fix ‸", Action::Edited),
        ("fix_the M-b M-b M-f", "fix‸ the", Action::Edited),
        ("abc Backspace", "ab‸", Action::Edited),
        ("abc ^H", "ab‸", Action::Edited),
        ("Backspace", "‸", Action::None),
        ("abc Home Delete", "‸bc", Action::Edited),
        ("abc Home ^D", "‸bc", Action::Edited),
        ("abc ^D", "abc‸", Action::None),
        ("abc ^C", "‸", Action::Edited),
        ("a M-Enter b", "a\nb‸", Action::Inserted),
        ("a ^J b", "a\nb‸", Action::Inserted),
        ("a|b Up ^E X", "aX‸\nb", Action::Inserted),
        ("a|b Home", "a\n‸b", Action::Edited),
        ("a|b Up ^K", "a‸b", Action::Edited),
        ("漢字e\u{301} Left Left", "漢‸字e\u{301}", Action::Edited),
        ("👩‍👩‍👧 Backspace", "‸", Action::Edited),
        ("Esc", "‸", Action::Escape),
        ("abc Esc", "abc‸", Action::Escape),
        ("fix_the_test Home M-d", "‸ the test", Action::Edited),
        ("fix_the_test ^W ^W ^Y", "fix the test‸", Action::Inserted),
        ("fix_the_test ^W Left ^W ^Y", "fix the‸ ", Action::Inserted),
        ("abc ^A ^K ^Y ^Y", "abcabc‸", Action::Inserted),
        ("^Y", "‸", Action::None),
        ("fix_it ^7", "fix ‸", Action::Edited),
        ("fix_it ^7 ^7", "fix‸", Action::Edited),
        ("fix_it ^U ^7", "fix it‸", Action::Edited),
        ("fix ^C ^7", "fix‸", Action::Edited),
        ("abc Left x Left y ^7 ^7", "ab‸c", Action::Edited),
        ("^7", "‸", Action::None),
        ("a ^G", "a‸", Action::Editor),
        ("a ^Z", "a‸", Action::Suspend),
        ("a ^L", "a‸", Action::Redraw),
        ("abc Tab", "abc‸", Action::Tab),
        ("Tab", "‸", Action::Tab),
        ("Right", "‸", Action::None),
        ("^C", "‸", Action::Interrupt),
        ("abc ^C ^C", "‸", Action::Interrupt),
        ("^D", "‸", Action::EndOfInput),
    ];
    for (script, expected, action) in cases {
        let mut editor = LineEditor::default();
        assert_eq!(play(&mut editor, script), action, "{script}");
        assert_eq!(shown(&editor), expected, "{script}");
    }
}

#[test]
fn enter_submits_what_is_not_blank() {
    let cases = [
        ("fix_it Enter", submitted("fix it"), "‸"),
        ("fix_it Left Enter", submitted("fix it"), "‸"),
        ("a M-Enter b Enter", submitted("a\nb"), "‸"),
        ("Enter", Action::None, "‸"),
        ("__ Enter", Action::None, "  ‸"),
        ("M-Enter Enter", Action::None, "\n‸"),
        // A line that begins with a blank is not remembered.
        ("older Enter _newer Enter Up", Action::Edited, "older‸"),
        ("a\\ Enter", Action::Inserted, "a\n‸"),
        ("a\\ Enter b Enter", submitted("a\nb"), "‸"),
        ("a\\ Enter ^7 ^7", Action::Edited, "a\\‸"),
        // Only a backslash at the end of a line breaks it; one within a path does not.
        ("a\\b Enter", submitted("a\\b"), "‸"),
        ("a\\ Left Enter", submitted("a\\"), "‸"),
    ];
    for (script, action, left) in cases {
        let mut editor = LineEditor::default();
        assert_eq!(play(&mut editor, script), action, "{script}");
        assert_eq!(shown(&editor), left, "{script}");
    }
}

#[test]
fn a_paste_never_submits() {
    let mut editor = LineEditor::default();
    let pasted = "rm a\r\nrm b\rrm c\n\x1b[31m\u{0}\t!".to_owned();
    assert_eq!(editor.handle(&Event::Paste(pasted)), Action::Inserted);
    assert_eq!(editor.text(), "rm a\nrm b\nrm c\n[31m\t!");
    assert_eq!(editor.handle(&Event::Paste("\x1b\u{9b}".to_owned())), Action::None);
    assert_eq!(play(&mut editor, "Enter"), submitted("rm a\nrm b\nrm c\n[31m\t!"));
}

#[test]
fn ghost_text_is_accepted_by_tab_and_right_alone() {
    let cases = [
        ("Tab", Action::Tab, true),
        ("Right", Action::InsertGhost, true),
        ("^F", Action::InsertGhost, true),
        ("Enter", Action::None, true),
        ("M-Enter", Action::Inserted, false),
        ("Esc", Action::DismissGhost, false),
        ("x", Action::Inserted, false),
        ("paste:x", Action::Inserted, false),
        ("x Backspace Tab", Action::Tab, false),
        ("Up Tab", Action::Tab, false),
        ("Left", Action::None, true),
        ("End", Action::None, true),
        ("Backspace", Action::None, true),
        ("^C", Action::Interrupt, true),
    ];
    for (script, action, stays) in cases {
        let mut editor = LineEditor::new(vec!["older".to_owned()]);
        assert!(editor.set_ghost(Some(Ghost::only("run the tests"))));
        assert_eq!(play(&mut editor, script), action, "{script}");
        assert_eq!(editor.ghost().is_some(), stays, "{script}");
        assert!(!editor.text().contains("run"), "{script}");
    }
}

#[test]
fn a_ghost_goes_with_the_text_it_was_set_for() {
    let ghost = || Some(Ghost::only(" the tests"));
    // Keys after `run` with its ghost, the resulting action, and whether the ghost is still there.
    let cases = [
        ("Tab", Action::Tab, true),
        ("Right", Action::InsertGhost, true),
        ("Left", Action::Edited, true),
        // The cursor moves on; only at the end of the text does the key take the ghost.
        ("Left Right", Action::Edited, true),
        ("Left Right Right", Action::InsertGhost, true),
        ("Left Tab", Action::Tab, true),
        ("x", Action::Inserted, false),
        ("_", Action::Inserted, false),
        ("Backspace", Action::Edited, false),
        ("^C", Action::Edited, false),
        ("Up", Action::Edited, false),
        ("Up Down", Action::Edited, false),
        ("Esc", Action::DismissGhost, false),
        ("Enter", submitted("run"), false),
    ];
    for (script, action, stays) in cases {
        let mut editor = LineEditor::new(vec!["run the older".to_owned()]);
        let _ = play(&mut editor, "run");
        assert!(editor.set_ghost(ghost()));
        assert_eq!(play(&mut editor, script), action, "{script}");
        assert_eq!(editor.ghost().is_some(), stays, "{script}");
    }

    let mut editor = LineEditor::default();
    let _ = play(&mut editor, "run");
    assert!(!editor.set_ghost(Some(Ghost::only("  \n"))), "no word");
    assert!(!editor.set_ghost(Some(Ghost::only("\u{301}x"))), "an accent on what is typed");
    assert!(editor.set_ghost(ghost()) && !editor.set_ghost(None));
    editor.set_ghost(ghost());
    editor.replace("Run the tests");
    assert_eq!((editor.ghost(), shown(&editor).as_str()), (None, "Run the tests‸"));
}

#[test]
fn keys_turn_to_another_ghost() {
    let cases = [
        ("M-n", Action::TurnGhost(GhostDirection::Next)),
        ("M-p", Action::TurnGhost(GhostDirection::Previous)),
        ("Down", Action::ListSuggestions),
        ("^N", Action::ListSuggestions),
        ("M-Down", Action::ListSuggestions),
        // These keys belong to the history.
        ("Up", Action::Edited),
        ("Up Down", Action::Edited),
        ("x M-n", Action::None),
        ("Esc M-n", Action::None),
        ("Esc Down", Action::None),
        ("x M-Down", Action::ListSuggestions),
    ];
    for (script, action) in cases {
        let mut editor = LineEditor::new(vec!["older".to_owned()]);
        editor.set_ghost(Some(Ghost { others: 2, ..Ghost::only("run the tests") }));
        assert_eq!(play(&mut editor, script), action, "{script}");
    }
    let mut editor = LineEditor::default();
    editor.set_ghost(Some(Ghost::only("run the tests")));
    assert_eq!(play(&mut editor, "Down"), Action::None, "there is no other");
}

#[test]
fn a_numbered_list_takes_its_keys_and_closes_for_every_other() {
    let choice = |text: &str| Choice { label: text.to_owned(), text: text.to_owned(), ..Choice::default() };
    let with_list = |script: &str| {
        let mut editor = LineEditor::new(vec!["older".to_owned()]);
        let _ = play(&mut editor, "say");
        editor.set_popup(Popup::numbered(["a", "b", "c"].map(choice).to_vec(), 1));
        let action = play(&mut editor, script);
        (shown(&editor), editor.popup().map(|list| list.marked().text.clone()), action)
    };
    let is = |text: &str, marked: Option<&str>, action| (text.to_owned(), marked.map(str::to_owned), action);
    assert_eq!(with_list("Down"), is("say‸", Some("c"), Action::Marked));
    assert_eq!(with_list("Down Down"), is("say‸", Some("a"), Action::Marked));
    assert_eq!(with_list("Up"), is("say‸", Some("a"), Action::Marked));
    for (script, place) in [("Enter", 1), ("Tab", 1), ("Up Enter", 0), ("1", 0), ("3", 2)] {
        assert_eq!(with_list(script).2, Action::TakeListed(place), "{script}");
    }
    for script in ["Esc", "M-Down"] {
        assert_eq!(with_list(script), is("say‸", None, Action::ClosePopup), "{script}");
    }
    assert_eq!(with_list("4"), is("say4‸", None, Action::Inserted));
    assert_eq!(with_list("x"), is("sayx‸", None, Action::Inserted));
    assert_eq!(with_list("Left"), is("sa‸y", None, Action::Edited));
    assert_eq!(Popup::numbered(vec![choice("a")], 1), None);
}

#[test]
fn the_history_is_walked_with_up_and_down() {
    let mut editor = LineEditor::new(vec!["one".to_owned(), "two|lines".replace('|', "\n")]);
    let cases = [
        // No remembered line begins with what is typed.
        ("draft Up", "draft‸"),
        ("^U Up", "two\nlines‸"),
        ("Up", "two‸\nlines"),
        ("Up", "one‸"),
        ("Up", "one‸"),
        ("Down", "two\nlines‸"),
        ("Down", "‸"),
        ("tw Up", "two\nlines‸"),
        ("Down", "tw‸"),
        ("^U Up Up Up", "one‸"),
        ("! Down", "one!‸"),
        ("Enter", "‸"),
        ("Up", "one!‸"),
        ("Enter Up Up", "two\nlines‸"),
    ];
    for (script, expected) in cases {
        let _ = play(&mut editor, script);
        assert_eq!(shown(&editor), expected, "{script}");
    }
}

#[test]
fn the_release_of_a_key_is_no_key() {
    let mut editor = LineEditor::default();
    for (kind, text) in
        [(KeyEventKind::Press, "a"), (KeyEventKind::Release, "a"), (KeyEventKind::Repeat, "aa")]
    {
        let key = KeyEvent {
            code: KeyCode::Char('a'),
            modifiers: KeyModifiers::NONE,
            kind,
            state: KeyEventState::NONE,
        };
        let _ = editor.handle(&Event::Key(key));
        assert_eq!(editor.text(), text);
    }
}

#[test]
fn a_resize_is_passed_on() {
    let size = Size { columns: 30, rows: 8 };
    assert_eq!(LineEditor::default().handle(&Event::Resize(30, 8)), Action::Resized(size));
}

/// Any events that a user, or a cat on the keyboard, may cause.
fn any_event() -> impl Strategy<Value = Vec<Event>> {
    const SCRIPTS: &[&str] = &[
        "Enter",
        "Tab",
        "Esc",
        "Left",
        "Right",
        "Up",
        "Down",
        "Home",
        "End",
        "Backspace",
        "Delete",
        "M-Enter",
        "^J",
        "^A",
        "^E",
        "^K",
        "^U",
        "^W",
        "^C",
        "^D",
        "M-b",
        "M-f",
        "M-n",
        "M-p",
        "M-Down",
        "x",
        "_",
    ];
    let text = prop_oneof![
        "[a\u{301}\u{200d}👩🇫🇷漢ᄀ\u{915}\u{94d}\t\n\u{202e}\u{e0041}\u{1b}]{0,6}",
        any::<String>().prop_map(|text| text.chars().take(12).collect()),
    ];
    prop_oneof![
        4 => proptest::sample::select(SCRIPTS).prop_map(events),
        3 => any::<char>().prop_map(|c| vec![Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE))]),
        3 => text.prop_map(|text| vec![Event::Paste(text)]),
    ]
}

#[derive(Debug, Clone)]
enum Step {
    Events(Vec<Event>),
    Ghost(String),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![8 => any_event().prop_map(Step::Events), 1 => any::<String>().prop_map(Step::Ghost)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn whatever_is_typed_the_editor_and_its_frame_hold_together(
        steps in proptest::collection::vec(any_step(), 0..40),
        columns in 20_u16..60,
        rows in 1_u16..10,
        status in proptest::option::of(any::<String>()),
        palette in prop_oneof![Just(Palette::STYLED), Just(Palette::PLAIN)],
    ) {
        let mut editor = LineEditor::default();
        for step in steps {
            match step {
                Step::Ghost(ghost) => {
                    editor.set_ghost(Some(Ghost::only(ghost)));
                }
                Step::Events(events) => for event in events {
                    let (had_ghost, before) = (editor.ghost().is_some(), editor.text().to_owned());
                    let action = editor.handle(&event);
                    match &action {
                        Action::InsertGhost => prop_assert!(had_ghost && editor.text() == before),
                        Action::Tab => prop_assert_eq!((editor.ghost().is_some(), editor.text()), (had_ghost, &*before)),
                        Action::TurnGhost(_) => prop_assert!(had_ghost && editor.ghost().is_some()),
                        Action::Submit(text) => prop_assert_eq!(text, &before),
                        Action::None | Action::DismissGhost => prop_assert_eq!(editor.text(), &before),
                        _ => {}
                    }
                    prop_assert!(editor.ghost().is_none() || editor.text() == before, "a ghost of another text");
                }
            }
            let text = editor.text();
            prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
            let at_boundary = text.grapheme_indices(true).any(|(offset, _)| offset == editor.cursor());
            prop_assert!(at_boundary || editor.cursor() == text.len());
        }

        let size = Size { columns, rows };
        let frame = render(&editor, &View { size, palette, live: &[], status: status.as_deref(), footer: None });
        prop_assert!(frame.rows.len() < usize::from(rows).max(2));
        prop_assert!(frame.cursor.row < frame.rows.len());
        prop_assert!(frame.cursor.column < usize::from(columns));
        for row in &frame.rows {
            let text: String = row.spans.iter().map(|span| span.text.as_str()).collect();
            prop_assert!(unicode_width::UnicodeWidthStr::width(text.as_str()) <= row.width, "{:?}", row);
            prop_assert!(row.width <= usize::from(columns), "{:?}", row);
            prop_assert_eq!(crate::sanitize(&text), text.as_str());
            prop_assert!(!text.contains(['\n', '\t']));
        }
    }
}

#[test]
fn ctrl_r_searches_what_was_sent() {
    let mut editor =
        LineEditor::new(["fix the parser", "add tests", "Fix the docs"].map(str::to_owned).to_vec());
    let control_r = || Event::Key(KeyEvent::new(KeyCode::Char('r'), KeyModifiers::CONTROL));
    let key = |code| Event::Key(KeyEvent::new(code, KeyModifiers::NONE));
    let typed = |editor: &mut LineEditor, text: &str| {
        for letter in text.chars() {
            let _ = editor.handle(&key(KeyCode::Char(letter)));
        }
    };
    typed(&mut editor, "draft");
    let _ = editor.handle(&control_r());
    assert_eq!((editor.searches_for(), editor.text()), (Some(""), "draft"));
    typed(&mut editor, "fix t");
    assert_eq!(editor.text(), "Fix the docs");
    let _ = editor.handle(&control_r());
    assert_eq!(editor.text(), "fix the parser");
    // There is no older entry.
    let _ = editor.handle(&control_r());
    assert_eq!((editor.searches_for(), editor.text()), (Some("fix t"), "fix the parser"));
    let _ = editor.handle(&key(KeyCode::Esc));
    assert_eq!((editor.searches_for(), editor.text()), (None, "draft"));
    let _ = editor.handle(&control_r());
    typed(&mut editor, "zz");
    assert_eq!(editor.text(), "draft", "nothing was found");
    let _ = editor.handle(&key(KeyCode::Backspace));
    let _ = editor.handle(&key(KeyCode::Backspace));
    typed(&mut editor, "tests");
    // The first Enter leaves the entry in the prompt, and the second one sends it.
    assert_eq!(editor.handle(&key(KeyCode::Enter)), Action::Edited);
    assert_eq!((editor.searches_for(), editor.text()), (None, "add tests"));
    assert_eq!(editor.handle(&key(KeyCode::Enter)), Action::Submit("add tests".to_owned()));
}

#[test]
fn a_list_takes_the_keys_that_choose_from_it_and_no_other() {
    let choice = |text: &str, is_whole| Choice {
        label: text.to_owned(),
        text: text.to_owned(),
        is_whole,
        ..Choice::default()
    };
    let with_list = |script: &str| {
        let mut editor = LineEditor::new(vec!["older".to_owned()]);
        let _ = play(&mut editor, "say_/m");
        editor.set_ghost(Some(Ghost::only(" or not")));
        editor.set_popup(Popup::new(4, vec![choice("/mode ", false), choice("/more", true)]));
        let action = play(&mut editor, script);
        (shown(&editor), editor.popup().is_some(), action)
    };
    let is = |text: &str, has_list, action| (text.to_owned(), has_list, action);
    assert_eq!(with_list("Tab"), is("say /mode ‸", false, Action::Inserted));
    assert_eq!(with_list("Down Tab"), is("say /more‸", false, Action::Inserted));
    assert_eq!(with_list("Down"), is("say /m‸", true, Action::None));
    assert_eq!(with_list("Down Down Down Enter"), is("‸", false, Action::Submit("say /more".to_owned())));
    assert_eq!(with_list("Down Up Enter"), is("say /mode ‸", false, Action::Inserted));
    // Enter sends what is typed if the user has not moved the mark in the list.
    assert_eq!(with_list("Enter"), is("‸", false, Action::Submit("say /m".to_owned())));
    assert_eq!(with_list("Esc"), is("say /m‸", false, Action::ClosePopup));
    assert_eq!(with_list("Esc Tab"), is("say /m‸", false, Action::Tab));
    assert_eq!(with_list("o"), is("say /mo‸", false, Action::Inserted));
    assert_eq!(with_list("Left"), is("say /‸m", false, Action::Edited));
}

#[test]
fn a_long_paste_is_one_letter_that_goes_out_whole() {
    let long = (1..=84).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\r\n");
    let mut editor = LineEditor::default();
    let take = |editor: &mut LineEditor, event: &Event| drop(editor.handle(event));
    let paste = |text: &str| Event::Paste(text.to_owned());
    take(&mut editor, &paste("why: "));
    take(&mut editor, &paste(&long));
    take(&mut editor, &paste("\u{10ff00} so"));
    let view = View {
        size: Size { columns: 60, rows: 20 },
        palette: Palette::STYLED,
        live: &[],
        status: None,
        footer: None,
    };
    let frame = render(&editor, &view);
    let rows: Vec<String> =
        frame.rows.iter().map(|row| row.spans.iter().map(|span| span.text.as_str()).collect()).collect();
    assert_eq!(rows, ["> why: [paste 1, 84 lines] so"]);
    assert_eq!(frame.cursor.column, rows[0].len());
    let expected = format!("why: {} so", long.replace("\r\n", "\n"));
    assert_eq!(editor.whole_text(), expected);
    // Three letters back, the whole paste is deleted at once, and an undo restores it at once.
    let key = |code| Event::Key(KeyEvent::new(code, KeyModifiers::NONE));
    for _ in 0..3 {
        take(&mut editor, &key(KeyCode::Left));
    }
    take(&mut editor, &key(KeyCode::Backspace));
    assert_eq!(editor.whole_text(), "why:  so");
    let undo = KeyEvent::new(KeyCode::Char('_'), KeyModifiers::CONTROL);
    take(&mut editor, &Event::Key(undo));
    assert_eq!(editor.whole_text(), expected);
    assert_eq!(editor.send(), Some(expected.clone()));
    // A sent prompt is recalled as it was sent.
    take(&mut editor, &key(KeyCode::Up));
    assert_eq!(editor.whole_text(), expected);
}

/// Terminals differ in what they send between the lines of a paste.
#[test]
fn a_long_paste_is_recognized_by_each_kind_of_line_end() {
    for end in ["\n", "\r", "\r\n"] {
        let mut editor = LineEditor::default();
        drop(editor.handle(&Event::Paste(vec!["line"; 13].join(end))));
        assert_eq!(editor.text().chars().count(), 1, "{end:?}");
        assert_eq!(editor.whole_text(), ["line"; 13].join("\n"));
    }
}

#[test]
fn a_short_paste_stands_as_it_is() {
    let mut editor = LineEditor::default();
    let short = "one\ntwo\nthree";
    drop(editor.handle(&Event::Paste(short.to_owned())));
    assert_eq!(editor.text(), short);
    let mut wide = LineEditor::default();
    drop(wide.handle(&Event::Paste("x".repeat(1_001))));
    assert_eq!((wide.text().chars().count(), wide.whole_text().len()), (1, 1_001));
}
