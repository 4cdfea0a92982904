//! Holds that `headstart gate` works as a service: one process answers any number of lines in constant memory.

#![expect(clippy::unwrap_used, reason = "what a helper cannot do stops the test")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Stdio};
use std::thread;

use serde_json::{Value, json};

use crate::support::Session;

/// A line of one of eight kinds, which include malformed ones and commands that the gate refuses.
fn line(number: usize) -> String {
    match number % 8 {
        0 => format!("{{\"cmd\":\"cat file-{number}.txt\"}}"),
        1 => format!("{{\"tool\":\"read_file\",\"args\":{{\"file_path\":\"src/{number}.rs\"}}}}"),
        2 => format!("{{\"cmd\":\"rm -rf build-{number}\"}}"),
        3 => format!("{{\"cmd\":\"ls {number}"),
        4 => String::new(),
        5 => format!("{{\"cmd\":\"ls {} 'not closed\"}}", "x".repeat(number % 97)),
        6 => format!("[{number}]"),
        _ => format!(
            "{{\"tool\":\"write_file\",\"args\":{{\"file_path\":\"../{number}\",\"content\":\"x\"}}}}"
        ),
    }
}

fn start(session: &Session) -> (Child, BufReader<ChildStdout>) {
    let mut child = session.command(&["gate"]).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let answers = BufReader::new(child.stdout.take().unwrap());
    (child, answers)
}

/// The memory that a process filled itself, in bytes. Pages of its executable do not count, because the kernel maps more or
/// fewer of them around each one that is touched.
#[cfg(target_os = "linux")]
fn own_memory(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[test]
#[cfg(target_os = "linux")]
fn two_hundred_thousand_lines_take_no_more_memory_than_a_thousand() {
    const FEW: usize = 1_000;
    const MANY: usize = 200_000;
    let session = Session::new();
    let (mut child, mut answers) = start(&session);
    let mut questions = child.stdin.take().unwrap();
    let writer = thread::spawn(move || {
        for number in 0..MANY {
            writeln!(questions, "{}", line(number)).unwrap();
        }
        questions
    });
    let mut answer = String::new();
    let mut few = 0;
    for number in 0..MANY {
        answer.clear();
        answers.read_line(&mut answer).unwrap();
        assert!(answer.ends_with("}\n"), "line {number}: {answer}");
        if number % 997 == 3 {
            let expected = if number % 8 == 3 || number % 8 == 4 || number % 8 == 6 {
                json!(number + 1)
            } else {
                Value::Null
            };
            assert_eq!(serde_json::from_str::<Value>(&answer).unwrap()["line"], expected, "{answer}");
        }
        if number == FEW {
            few = own_memory(&child);
        }
    }
    // The process waits for more lines here, so it still has what it would keep of each.
    let many = own_memory(&child);
    drop(writer.join().unwrap());
    assert_eq!(answers.read_line(&mut answer).unwrap(), 0);
    assert!(child.wait().unwrap().success());
    assert!(many < few + 256 * 1024, "{few} bytes after {FEW} lines, {many} after {MANY}");
}

#[test]
fn each_answer_comes_before_the_next_question() {
    let session = Session::new();
    let (mut child, answers) = start(&session);
    let mut questions = child.stdin.take().unwrap();
    let mut answers = answers.lines();
    for (question, decision) in
        [("ls", "allow"), ("rm x", "boundary"), ("cat ../x", "boundary"), ("pwd", "allow")]
    {
        writeln!(questions, "{}", json!({ "cmd": question })).unwrap();
        let answer: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        assert_eq!(answer["decision"], decision, "{question}");
    }
    // A question that arrives in pieces is still one question.
    for piece in ["{\"cmd\"", ":\"ls", "\"}\n{\"cmd\":", "\"rm x\"}\n"] {
        questions.write_all(piece.as_bytes()).unwrap();
        questions.flush().unwrap();
    }
    for decision in ["allow", "boundary"] {
        let answer: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        assert_eq!(answer["decision"], decision);
    }
    drop(questions);
    assert!(answers.next().is_none());
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_reader_that_has_enough_ends_it() {
    let session = Session::new();
    let (mut child, mut answers) = start(&session);
    let mut questions = child.stdin.take().unwrap();
    let writer = thread::spawn(move || {
        (0..1_000_000).take_while(|number| writeln!(questions, "{}", line(*number)).is_ok()).count()
    });
    let mut answer = String::new();
    answers.read_line(&mut answer).unwrap();
    drop(answers);
    child.wait().unwrap();
    assert!(writer.join().unwrap() < 1_000_000, "nobody reads the answers, so nobody judges on");
}

#[test]
fn a_line_that_is_no_call_is_answered_with_its_number() {
    let session = Session::new();
    let input = "{\"cmd\":\"ls\"}\nls\n\n{\"cmd\":1}\n{\"cmd\":\"ls\"}";
    let answers = session.run_with_input(&["gate"], input).json();
    let shown: Vec<_> =
        answers.iter().map(|answer| (answer["reason"].as_str().unwrap(), answer["line"].as_u64())).collect();
    let invalid = |line| ("invalid_input", Some(line));
    assert_eq!(shown, [("read_only", None), invalid(2), invalid(3), invalid(4), ("read_only", None)]);
}
