//! Holds what a chat costs the machine and the connection to its terminal, as promised in `docs/chat.md`.

use std::time::Duration;

use crate::fixture::{Chat, project, project_with_suggestion};

/// The most bytes that a key may cause to be written; only what it changes of an ordinary frame is drawn again.
const BYTES_OF_A_KEY: usize = 700;
/// How long an idle chat is watched for wake-ups.
const IDLE: Duration = Duration::from_secs(5);
/// The most wake-ups in that time, which leaves room for the kernel's own timers.
const WAKE_UPS: u64 = 3;
/// How many times the chat is watched for that long. In one of these times it must be idle.
const LOOKS: usize = 8;

/// An answer with this many lines may take at most [`MAX_KEPT`] bytes of memory.
const LINES_TO_KEEP: usize = 10_000;
const MAX_KEPT: u64 = 20 << 20;

/// The memory of the chat's process, in bytes.
#[cfg(target_os = "linux")]
fn memory(chat: &Chat) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", chat.process_id())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
    line.trim_end_matches("kB").trim().parse::<u64>().expect("a number") << 10
}

#[cfg(target_os = "linux")]
#[test]
fn ten_thousand_lines_of_an_answer_take_little_memory() {
    let answer = (0..LINES_TO_KEEP)
        .map(|line| format!("line {line:05} of an answer, as wide as a row of prose\n\n"))
        .collect::<Vec<_>>()
        .concat();
    let mut chat =
        project().says(0, "First answer.").says(0, &format!("{answer}The end.")).chat_in("plan", 80, 24);
    chat.send("begin\r");
    chat.wait_for("First answer.");
    chat.settle();
    let before = memory(&chat);
    chat.send("more\r");
    chat.wait_for("The end.");
    chat.settle();
    let kept = memory(&chat).saturating_sub(before);
    println!("{LINES_TO_KEEP} lines of an answer, {} kB: {} kB of memory", answer.len() >> 10, kept >> 10);
    assert!(kept <= MAX_KEPT, "{kept} bytes");
    chat.leave();
}

/// How often the threads of the chat's process have gone to sleep voluntarily.
fn sleeps(chat: &Chat) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", chat.process_id())).expect("it runs");
    let of_task = |task: std::fs::DirEntry| {
        // A thread may end while the threads are read; then it counts as 0.
        let status = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.and_then(|count| count.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    tasks.flatten().map(of_task).sum()
}

#[cfg(target_os = "linux")]
#[test]
fn an_idle_chat_sleeps() {
    let chat = project_with_suggestion()
        .writes(0, "tests.txt", "tests\n")
        .says(0, "Tests are written.")
        .chat_with_ghost("auto-edit");
    chat.wait_for("✓ ready");
    // Views and lists are prepared behind the prompt, which takes longer on a busy machine; then it is idle for good.
    let idle = (0..LOOKS).any(|_| {
        let (slept, written) = (sleeps(&chat), chat.written().len());
        std::thread::sleep(IDLE);
        // A thread that ended took its count along, so nothing can be said of this time.
        let Some(slept) = sleeps(&chat).checked_sub(slept) else { return false };
        let written = chat.written().len() - written;
        println!("an idle chat: {slept} wake-ups and {written} bytes in {} s", IDLE.as_secs());
        slept <= WAKE_UPS && written == 0
    });
    assert!(idle, "it woke up more than {WAKE_UPS} times or drew something in each {} s", IDLE.as_secs());
    chat.leave();
}

#[test]
fn a_key_writes_few_bytes() {
    let mut chat = project().says(0, "never").chat_in("auto-edit", 120, 30);
    let text = "please look at the parser and fix what adds";
    let before = chat.written().len();
    for letter in text.chars() {
        chat.send(&letter.to_string());
        std::thread::sleep(Duration::from_millis(20));
    }
    chat.wait_for_row(&format!("> {text}"));
    let bytes = (chat.written().len() - before) / text.len();
    println!("a key: {bytes} bytes");
    assert!(bytes <= BYTES_OF_A_KEY, "{bytes} bytes a key");
    chat.empty_the_prompt();
    chat.leave();
}

/// Holds that the chat writes no codes by which a program takes the screen or the scrollback from its user: partial
/// scroll regions, inserted and deleted lines, and clearing.
#[test]
fn a_long_answer_is_written_once_and_nothing_is_cleared() {
    const LINES: usize = 2_000;
    let answer =
        (0..LINES).map(|line| format!("line {line:04} of the answer\n\n")).collect::<Vec<_>>().concat();
    let mut chat = project().says(0, &format!("{answer}The end.")).chat("auto-edit");
    chat.send("begin\r");
    chat.wait_for("The end.");
    chat.settle();
    let written = chat.written();
    println!("{LINES} lines of an answer, {} bytes: {} written", answer.len(), written.len());
    for line in [0, 1, LINES / 2, LINES - 1] {
        let line = format!("line {line:04} of the answer");
        assert!(written.contains(&line), "{line}");
    }
    let codes = written.split("\x1b[").skip(1).map(|rest| {
        let end = rest.find(|c: char| c.is_ascii_alphabetic()).map_or(rest.len(), |end| end + 1);
        &rest[..end]
    });
    let takes_away = |code: &&str| code.ends_with(['r', 'L', 'M', 'S', 'T']) || matches!(*code, "2J" | "3J");
    assert_eq!(codes.filter(takes_away).collect::<Vec<_>>(), Vec::<&str>::new());
    chat.leave();
}
