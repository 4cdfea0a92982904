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

const PAIRS: &str = r#"{"guess":"option 2, one file","kind":"choice","sign":"2","typed":"the second"}
{"guess":"option 2, one file","kind":"choice","sign":"2","also":["one file"],"typed":"2, and Rename it"}
{"guess":"option 2, one file","kind":"choice","sign":"2","typed":"2?"}
{"guess":"rename it","typed":"please rename it"}
{"guess":"rename it","typed":"rename it","kind":null,"sign":null,"also":null,"seen":3}

{"guess":"rename it"}
{"guess":7,"typed":"7"}
{"guess":"rename it","typed":"ok","kind":"wish"}
{"guess":"rename it","typed":"ok","sign":2}
{"guess":"rename it","typed":"ok","also":["yes",3]}
[]"#;

#[test]
fn the_comparison_answers_every_line_in_its_place() {
    let outcome = Session::new().run_with_input(&["match"], PAIRS);
    assert_eq!(outcome.json().len(), PAIRS.lines().count());
    insta::assert_snapshot!(transcript(&[outcome]), @r#"
    $ headstart match
    {"match":"match","rule":"sign"}
    {"match":"extends","rule":"adds","adds":"Rename it"}
    {"match":"no","rule":"none"}
    {"match":"match","rule":"equal"}
    {"match":"match","rule":"equal"}
    {"match":"no","reason":"invalid_input","detail":"the line is not JSON: EOF while parsing a value at byte 0","line":6}
    {"match":"no","reason":"invalid_input","detail":"\"typed\" is missing","line":7}
    {"match":"no","reason":"invalid_input","detail":"\"guess\" is not a string","line":8}
    {"match":"no","reason":"invalid_input","detail":"\"kind\" is not one of permission, choice, habit, plan, trade","line":9}
    {"match":"no","reason":"invalid_input","detail":"\"sign\" is not a string","line":10}
    {"match":"no","reason":"invalid_input","detail":"\"also\" holds something that is not a string","line":11}
    {"match":"no","reason":"invalid_input","detail":"the line is not a JSON object","line":12}
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
