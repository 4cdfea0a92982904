use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::support::{Session, transcript};

const TEXTS: &str = r#"{"text":"run the tests"}
{"text":"done"}
{"text":"Looks good, thanks!"}

{"text":7}
{"txt":"run the tests"}
"run the tests"
{"text":"run the tests","source":"a log"}
{"text":"run the
{"text":"commit this"}"#;

#[test]
fn the_filter_answers_every_line_in_its_place() {
    let outcome = Session::new().run_with_input(&["filter"], TEXTS);
    assert_eq!(outcome.json().len(), TEXTS.lines().count());
    insta::assert_snapshot!(transcript(&[outcome]), @r#"
    $ headstart filter
    {"keep":true}
    {"keep":false,"reason":"done"}
    {"keep":false,"reason":"evaluative"}
    {"keep":false,"reason":"invalid_input","detail":"the line is not JSON: EOF while parsing a value at byte 0","line":4}
    {"keep":false,"reason":"invalid_input","detail":"\"text\" is not a string","line":5}
    {"keep":false,"reason":"invalid_input","detail":"\"text\" is missing","line":6}
    {"keep":false,"reason":"invalid_input","detail":"the line is not a JSON object","line":7}
    {"keep":true}
    {"keep":false,"reason":"invalid_input","detail":"the line is not JSON: EOF while parsing a string at byte 16","line":9}
    {"keep":true}
    [exit 0]
    "#);
}

#[test]
fn bytes_that_are_no_text_are_answered_too() {
    let outcome =
        Session::new().run_with_input(&["filter"], b"\xff\xfe\n\0\n{\"text\":\"commit this\"}\n".to_vec());
    let kept: Vec<_> = outcome.json().iter().map(|answer| answer["keep"].as_bool().unwrap()).collect();
    assert_eq!(kept, [false, false, true]);
}

#[test]
fn each_answer_comes_before_the_next_question() {
    let session = Session::new();
    let mut child = session.command(&["filter"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut questions = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    for (question, expected) in
        [("commit this", "{\"keep\":true}"), ("done", "{\"keep\":false,\"reason\":\"done\"}")]
    {
        writeln!(questions, "{{\"text\":\"{question}\"}}").unwrap();
        assert_eq!(answers.next().unwrap().unwrap(), expected);
    }
    drop(questions);
    assert!(answers.next().is_none());
    assert!(child.wait().unwrap().success());
}
