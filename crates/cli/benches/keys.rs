//! Measures the time from a key in a chat until its frame is written, in a project of 200,000 files: in an empty
//! prompt, and after an `@`, where each letter is looked up in the names of all files. The list of the names that fit
//! follows the letter, so the time until it is there is measured too.
//!
//! Run it with `cargo bench -p headstart --bench keys`.
#![expect(clippy::unwrap_used, reason = "a benchmark that fails ends")]
#![expect(clippy::print_stdout, reason = "the figures are what it is for")]

#[path = "../tests/support/pty.rs"]
mod pty;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use pty::Pty;

const FOLDERS: usize = 2_000;
const WORD: &str = "a word that is typed";
/// Part of a file's name; each of its letters fits many names.
const NAME: &str = "folder1file7";

/// Whether this is a benchmark. If it runs as a test, it uses a few files and one round.
fn is_bench() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let (home, project) = (folder.path().join("home"), folder.path().join("project"));
    fs::create_dir_all(&home).unwrap();
    let (folders, rounds) = if is_bench() { (FOLDERS, 10) } else { (2, 1) };
    for number in 0..folders {
        let folder = project.join(format!("src/folder{number:04}"));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..100 {
            fs::File::create(folder.join(format!("some_file{file:02}.rs"))).unwrap();
        }
    }
    let recording = folder.path().join("recording.json");
    fs::write(&recording, json!({ "turns": [{ "text": "never", "toolCalls": [] }] }).to_string()).unwrap();
    let mut chat = start(&home, &project, &recording);
    chat.wait_for("? keys");
    let mut plain: Vec<_> = (0..rounds).flat_map(|_| type_in(&mut chat, "", WORD)).collect();
    chat.send("@");
    chat.wait_for("@src/folder0000/");
    chat.send("\x03");
    let mut listed: Vec<_> = (0..rounds).flat_map(|_| type_in(&mut chat, "@", NAME)).collect();
    let mut lists: Vec<_> = (0..rounds).map(|_| list(&mut chat, is_bench())).collect();
    for (what, times) in
        [("a letter", &mut plain), ("a letter behind an @", &mut listed), ("its list of names", &mut lists)]
    {
        times.sort_unstable();
        let at = |part: usize| times[(times.len() - 1) * part / 100].as_secs_f64() * 1_000.0;
        println!("{what:<22} {:>7.2} ms in the middle, {:>7.2} ms of 99 in 100", at(50), at(99));
    }
}

fn start(home: &Path, project: &Path, recording: &Path) -> Pty {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headstart"));
    command.args(["chat", "--mode", "plan", "--model"]).arg(format!("replay:{}", recording.display()));
    command.current_dir(project).env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap());
    command.env("LANG", "C.UTF-8");
    Pty::of(&command, 80, 24)
}

/// Types a word after `begins`, and empties the prompt again. Returns the time from each letter's key to its frame.
fn type_in(chat: &mut Pty, begins: &str, word: &str) -> Vec<Duration> {
    let mut typed = format!("> {begins}");
    chat.send(begins);
    wait_for_row(chat, &typed);
    let mut times = Vec::new();
    for letter in word.chars() {
        typed.push(letter);
        let started = Instant::now();
        chat.send(letter.encode_utf8(&mut [0; 4]));
        wait_for_row(chat, &typed);
        times.push(started.elapsed());
    }
    chat.send("\x03");
    wait_for_row(chat, ">");
    times
}

/// Types the last letter of a word after an `@`, and returns the time until the list shows what fits the whole word.
fn list(chat: &mut Pty, is_bench: bool) -> Duration {
    let (begin, last, first) = if is_bench {
        ("@folder199", "9", "> @src/folder1999/")
    } else {
        ("@folder000", "1", "> @src/folder0001/")
    };
    chat.send(begin);
    wait_for_row(chat, &format!("> {begin}"));
    chat.wait_for("  @src/");
    std::thread::sleep(Duration::from_millis(200));
    let started = Instant::now();
    chat.send(last);
    wait_for_row(chat, first);
    let time = started.elapsed();
    chat.send("\x03");
    wait_for_row(chat, ">");
    time
}

fn wait_for_row(chat: &Pty, row: &str) {
    chat.wait_until(row, |screen| {
        let columns = screen.size().1.get();
        screen.rows(0, columns).any(|found| found.trim_end() == row.trim_end())
    });
}
