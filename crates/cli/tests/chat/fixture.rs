use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::pty::Pty;
use crate::support::{PATIENCE, Session};

/// The row that shows the suggestion `add tests` as ghost text.
pub(crate) const GHOST: &str = "> add tests  [Tab]";

/// A user with a project, and the recording that answers them.
pub(crate) struct Project {
    pub(crate) session: Session,
    turns: Vec<Value>,
    suggestions: Vec<String>,
}

/// A project with a small file in it.
pub(crate) fn project() -> Project {
    let session = Session::new();
    session.write("project/notes.txt", "one\n");
    Project { session, turns: Vec::new(), suggestions: Vec::new() }
}

/// A project whose first turn reads a file, says `First answer.`, and then suggests `add tests`. A test adds the
/// answers for that prompt.
pub(crate) fn project_with_suggestion() -> Project {
    let look = json!({ "file_path": "notes.txt" });
    project().calls(0, "read_file", look).says(0, "First answer.").suggests("add tests")
}

impl Project {
    /// Adds the model's next answer, which is a text.
    pub(crate) fn says(self, delay: u64, text: &str) -> Self {
        self.turn(delay, text, &[])
    }

    /// Adds the model's next answer, which is a call.
    pub(crate) fn calls(self, delay: u64, name: &str, args: Value) -> Self {
        self.turn(delay, "", &[(name, args)])
    }

    /// Adds the model's next answer, which comes after `delay` milliseconds.
    pub(crate) fn turn(mut self, delay: u64, text: &str, calls: &[(&str, Value)]) -> Self {
        let calls: Vec<_> = calls.iter().map(|(name, args)| json!({ "name": name, "args": args })).collect();
        self.turns.push(json!({ "text": text, "toolCalls": calls, "delayMs": delay }));
        self
    }

    pub(crate) fn writes(self, delay: u64, path: &str, content: &str) -> Self {
        self.calls(delay, "write_file", json!({ "file_path": path, "content": content }))
    }

    pub(crate) fn shell(self, delay: u64, command: &str) -> Self {
        self.calls(delay, "shell", json!({ "command": command }))
    }

    /// Adds the next suggestion.
    pub(crate) fn suggests(mut self, text: &str) -> Self {
        self.suggestions.push(text.to_owned());
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.session = self.session.variable(name, value);
        self
    }

    /// Makes the recording count as a model that is not free and whose price is unknown.
    pub(crate) fn paid(self) -> Self {
        let model = self.model();
        let settings = format!("[models.'{model}']\nfree = false\n");
        self.session.write("home/.config/headstart/config.toml", settings);
        self
    }

    /// Sets what is known of the user from other projects.
    pub(crate) fn habits(self, habits: &Value) -> Self {
        self.session.write("home/.local/state/headstart/user/habits.json", habits.to_string());
        self
    }

    pub(crate) fn model(&self) -> String {
        format!("replay:{}", self.session.home().join("recording.json").display())
    }

    /// Writes the recording, and returns the arguments of a chat that plays it.
    pub(crate) fn arguments(&self, mode: &str) -> Vec<String> {
        let recording = json!({ "turns": self.turns, "suggestions": self.suggestions });
        self.session.write("home/recording.json", recording.to_string());
        let model = self.model();
        ["chat", "--model", &model, "--mode", mode].map(str::to_owned).to_vec()
    }

    /// Begins a chat in a terminal of 72 columns.
    pub(crate) fn chat(self, mode: &str) -> Chat {
        self.chat_in(mode, 72, 40)
    }

    pub(crate) fn chat_in(self, mode: &str, columns: u16, rows: u16) -> Chat {
        let arguments = self.arguments(mode);
        Chat::spawn(self, &arguments, columns, rows)
    }

    /// Begins a chat, sends `begin`, and waits for the answer `First answer.` and the ghost text `add tests`.
    pub(crate) fn chat_with_ghost(self, mode: &str) -> Chat {
        self.chat_with_ghost_in(mode, 72)
    }

    /// Like [`chat_with_ghost`](Self::chat_with_ghost), in a terminal with this many columns.
    pub(crate) fn chat_with_ghost_in(self, mode: &str, columns: u16) -> Chat {
        let mut chat = self.chat_in(mode, columns, 40);
        chat.send("begin\r");
        chat.wait_for("First answer.");
        chat.wait_for(GHOST);
        chat
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.session.workspace().join(path)).ok()
    }
}

/// A running chat.
pub(crate) struct Chat {
    pub(crate) project: Project,
    pty: Pty,
}

impl std::ops::Deref for Chat {
    type Target = Pty;

    fn deref(&self) -> &Pty {
        &self.pty
    }
}

impl std::ops::DerefMut for Chat {
    fn deref_mut(&mut self) -> &mut Pty {
        &mut self.pty
    }
}

impl Chat {
    pub(crate) fn spawn(project: Project, arguments: &[String], columns: u16, rows: u16) -> Self {
        let chat = Self::without_prompt(project, arguments, columns, rows);
        chat.wait_for_row(">");
        chat
    }

    /// Begins a chat without waiting for a prompt to be drawn.
    pub(crate) fn without_prompt(project: Project, arguments: &[String], columns: u16, rows: u16) -> Self {
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let pty = Pty::of(&project.session.command(&arguments), columns, rows);
        Self { project, pty }
    }

    /// Waits until a row of the screen is exactly `row`, apart from blanks at its end.
    pub(crate) fn wait_for_row(&self, row: &str) {
        self.wait_until(row, |screen| rows(screen).any(|found| found == row));
    }

    /// Waits until the screen does not contain `text` any more.
    pub(crate) fn wait_until_gone(&self, text: &str) {
        self.wait_until(&format!("no {text}"), |screen| !screen.contents().contains(text));
    }

    /// Waits longer than the delay before something is shown, so that what should not happen has time to happen.
    /// Returns the screen.
    pub(crate) fn settle(&self) -> String {
        std::thread::sleep(Duration::from_millis(400));
        self.contents()
    }

    /// How many times `text` is on the screen.
    pub(crate) fn count(&self, text: &str) -> usize {
        self.contents().matches(text).count()
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        self.project.read(path)
    }

    /// Takes the suggestion with Tab. Waits first, because a key that comes too early counts as meant for something
    /// else.
    pub(crate) fn take(&mut self) {
        self.wait_for("[Tab]");
        std::thread::sleep(Duration::from_millis(450));
        self.send("\t");
    }

    /// Puts the suggestion into the prompt, with Right.
    pub(crate) fn insert(&mut self) {
        self.wait_for("[Tab]");
        self.send("\x1b[C");
    }

    /// Sends a key to the question about a call. Waits first, because a question ignores keys that come too early.
    pub(crate) fn answer(&mut self, key: &str) {
        self.answer_to("run this?", key);
    }

    /// Sends a key to the question about the changes of work ahead, in the same way.
    pub(crate) fn answer_about_changes(&mut self, key: &str) {
        self.answer_to("write this? [y]es / [d]iff / [n]o", key);
    }

    /// Sends a key to a question that contains `question`, in the same way.
    pub(crate) fn answer_to(&mut self, question: &str, key: &str) {
        self.wait_for(question);
        std::thread::sleep(Duration::from_millis(500));
        self.send(key);
    }

    /// Empties a prompt that is not empty. Nothing may be running.
    pub(crate) fn empty_the_prompt(&mut self) {
        self.send("\x03");
        // A suggestion may be back in the empty line.
        self.wait_until("an empty prompt", |screen| {
            let (row, column) = screen.cursor_position();
            let row = screen.rows(0, screen.size().1.get()).nth(usize::from(row));
            usize::from(column) == 2 && row.is_some_and(|row| row.starts_with('>'))
        });
    }

    /// Leaves, and checks that nothing is left of work that ran ahead.
    pub(crate) fn leave(mut self) {
        self.send("\x04");
        assert_eq!(self.exit_code(), 0);
        self.assert_nothing_is_left();
    }

    /// The project of a chat that has ended.
    pub(crate) fn into_project(self) -> Project {
        self.project
    }

    /// Leaves, and has `look` check what the chat has left in the state folder.
    pub(crate) fn leave_keeping(mut self, look: impl FnOnce(&Session)) {
        self.send("\x04");
        assert_eq!(self.exit_code(), 0);
        look(&self.project.session);
    }

    /// Checks that the state folder keeps no record and that no command runs in the project.
    pub(crate) fn assert_nothing_is_left(&self) {
        let store = self.project.session.store();
        let records = std::fs::read_dir(&store).map_or(0, Iterator::count);
        assert_eq!(records, 0, "{}", store.display());
        self.wait_for_processes(0);
    }

    /// Waits until this many processes run in the project; a process that was killed may need a moment to end.
    pub(crate) fn wait_for_processes(&self, number: usize) {
        let started = Instant::now();
        while self.processes().len() != number {
            assert!(started.elapsed() < PATIENCE, "{:?}", self.processes());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until a command whose line contains `command` runs in the project.
    pub(crate) fn wait_for_command(&self, command: &str) {
        let started = Instant::now();
        while !self.processes().iter().any(|process| process.contains(command)) {
            assert!(started.elapsed() < PATIENCE, "{:?}", self.processes());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The command lines of the processes that run in the project: the chat and its commands.
    pub(crate) fn processes(&self) -> Vec<String> {
        processes_in(&self.project.session.workspace())
    }
}

fn rows(screen: &vt100::Screen) -> impl Iterator<Item = String> {
    let columns = screen.size().1.get();
    screen.rows(0, columns).map(|row| row.trim_end().to_owned())
}

/// The command lines of the processes whose current folder is `folder`; empty if the system has no `/proc`.
fn processes_in(folder: &std::path::Path) -> Vec<String> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let folder = folder.canonicalize().expect("the project is there");
    let works_there =
        |process: &std::path::PathBuf| std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == folder);
    let command = |process: std::path::PathBuf| {
        let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ")
    };
    let processes = processes.flatten().map(|entry| entry.path());
    // A process that has ended and that its parent has not collected has no command line.
    processes.filter(works_there).map(command).filter(|line| !line.is_empty()).collect()
}

/// Waits until all of these files exist.
pub(crate) fn wait_for_files(files: &[&std::path::Path]) {
    let started = Instant::now();
    while !files.iter().all(|file| file.exists()) {
        assert!(started.elapsed() < PATIENCE, "not all of {files:?} are there");
        std::thread::sleep(Duration::from_millis(5));
    }
}
