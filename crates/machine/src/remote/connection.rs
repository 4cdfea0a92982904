//! One connection to another machine: a program that the user's file names, its standard input and output, and the
//! calls that share them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use headstart_overlay_fs::ContentHash;
use headstart_toolbox::Tier;
use headstart_toolbox::exchange::{
    ClientHello, ClientMessage, LineBuffer, ServerMessage, decode_greeting, decode_line, encode_line,
};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::environment::Environment;
use crate::system::{Group, GroupLeader, find_program};

/// The time limit for the greeting of the other side. It is long because the other machine may have to wake up.
const GREETING: Duration = Duration::from_secs(30);
/// The other side must send something at least this often. After a longer silence the connection is given up.
const SILENCE: Duration = Duration::from_secs(60);
/// This side sends something at least this often.
const ALIVE: Duration = Duration::from_secs(15);
/// How long the program has time to end by itself.
const ENDING: Duration = Duration::from_secs(2);
/// How long to wait for the program's explanation after one of its streams has ended.
const STDERR_WAIT: Duration = Duration::from_millis(300);
/// The most messages that wait to be written, or to be received by a call.
const MAX_WAITING: usize = 64;
/// The most answers to calls that nobody waits for any more.
const MAX_STRAY: usize = 10_000;
/// The most bytes of the program's standard error that are reported.
const MAX_SAID: usize = 500;

static NUMBER: AtomicU64 = AtomicU64::new(1);

/// A connection. Dropping it ends the program.
pub(super) struct Connection {
    number: u64,
    program: String,
    tier: Tier,
    notes: Vec<String>,
    tree: Option<ContentHash>,
    out: mpsc::Sender<Vec<u8>>,
    /// Messages that are sent before those in `out`. When this is dropped, the connection ends.
    first: Option<mpsc::UnboundedSender<ClientMessage>>,
    calls: Arc<PendingCalls>,
    next: AtomicU64,
    /// Receives nothing, and is closed when the program has ended.
    program_runs: Mutex<std::sync::mpsc::Receiver<()>>,
}

/// The calls that wait for answers.
#[derive(Default)]
struct PendingCalls {
    open: Mutex<BTreeMap<u64, mpsc::Sender<ServerMessage>>>,
    /// Why the connection has ended; `None` while it is open.
    end_reason: Mutex<Option<String>>,
}

/// One call.
pub(super) struct RemoteCall {
    id: u64,
    out: mpsc::Sender<Vec<u8>>,
    answers: mpsc::Receiver<ServerMessage>,
    calls: Arc<PendingCalls>,
}

/// The program that reaches the other machine. When it is dropped, its process group is ended.
struct Transport {
    // This comes first, so that the group is ended while no other process can have its leader's id.
    _group: Group,
    leader: GroupLeader,
}

impl Connection {
    /// Starts the program and waits for the greeting of the other side. The error says why there was none.
    pub(super) async fn open(
        command: &[String],
        workspace: &Path,
        environment: &Environment,
        hello: &ClientHello,
    ) -> Result<Self, String> {
        let mut transport = Transport::start(command, workspace, environment)?;
        let (Some(mut input), Some(output), Some(errors)) = transport.leader.pipes() else {
            return Err("its streams are not there".to_owned());
        };
        let mut said = StderrTail::of(errors);
        let mut told = MessageReader { output, lines: LineBuffer::default(), buffer: vec![0; 256 << 10] };
        let greeted = async {
            // An error here is ignored, because the output of the program explains it better.
            let _ = input.write_all(&encode_line(&ClientMessage::Hello(hello.clone()))).await;
            let line = told.next(GREETING).await?;
            decode_greeting::<ServerMessage>(&line).map_err(|error| error.to_string())
        };
        let greeting = greeted.await;
        let (program, tier, notes, tree) = match greeting {
            Ok(ServerMessage::Hello { program, tier, notes, tree, .. }) => (program, tier, notes, tree),
            Ok(_) => return Err("its first message is no greeting".to_owned()),
            Err(why) => {
                drop(input);
                // The program's own explanation arrives when it ends.
                let _ = timeout(ENDING, transport.leader.wait()).await;
                return Err(said.with(why).await);
            }
        };
        let plain =
            |text: &String| -> String { text.chars().filter(|sign| !sign.is_control()).take(300).collect() };
        let notes: Vec<String> = notes.iter().take(10).map(plain).collect();
        let Some(tier) = tier else { return Err(format!("it has no views: {}", notes.join("; "))) };
        let (out, waiting) = mpsc::channel(MAX_WAITING);
        let (first, urgent) = mpsc::unbounded_channel();
        let calls = Arc::new(PendingCalls::default());
        let mine = Arc::clone(&calls);
        let (runs, program_runs) = std::sync::mpsc::channel();
        tokio::spawn(async move {
            let why = tokio::select! {
                why = read_all(&mut told, &mine) => why,
                why = write_all(&mut input, waiting, urgent) => why,
            };
            // The program ends when its input is closed. Then the waiting calls are told why, including the program's
            // last message.
            drop((input, told));
            mine.end(&said.with(why).await);
            let _ = timeout(ENDING, transport.leader.wait()).await;
            drop((transport, runs));
        });
        Ok(Self {
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            program: plain(&program),
            tier,
            notes,
            tree,
            out,
            first: Some(first),
            calls,
            next: AtomicU64::new(1),
            program_runs: Mutex::new(program_runs),
        })
    }

    /// Distinguishes this connection from others of the process.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn program(&self) -> &str {
        &self.program
    }

    pub(super) fn tier(&self) -> Tier {
        self.tier
    }

    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The hash of the copy at the time of the connection.
    pub(super) fn tree(&self) -> Option<ContentHash> {
        self.tree
    }

    pub(super) fn is_open(&self) -> bool {
        lock(&self.calls.end_reason).is_none()
    }

    /// Ends the connection, because nothing that arrives over it is trusted any more.
    pub(super) fn end(&self, why: &str) {
        self.calls.end(why);
    }

    /// Sends a message that needs no answer.
    pub(super) fn notify(&self, ask: ClientMessage) {
        // If nobody receives the message any more, nothing remains to be ended either.
        if let Some(first) = &self.first {
            let _ = first.send(ask);
        }
    }

    pub(super) fn call(&self) -> RemoteCall {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answers) = mpsc::channel(MAX_WAITING);
        if self.is_open() {
            lock(&self.calls.open).insert(id, sender);
        }
        RemoteCall { id, out: self.out.clone(), answers, calls: Arc::clone(&self.calls) }
    }
}

impl Drop for Connection {
    /// Waits until the program has ended, which ends everything that runs on the other side. A program that does not
    /// end by itself is killed meanwhile.
    fn drop(&mut self) {
        self.first = None;
        let _ = lock(&self.program_runs).recv_timeout(2 * ENDING);
    }
}

impl RemoteCall {
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) async fn send(&self, line: Vec<u8>) -> Result<(), String> {
        if let Some(why) = self.why_over() {
            return Err(why);
        }
        match self.out.send(line).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.why_over().unwrap_or_else(|| "the connection is over".to_owned())),
        }
    }

    /// The next message for this call.
    pub(super) async fn next(&mut self, patience: Duration) -> Result<ServerMessage, String> {
        match timeout(patience, self.answers.recv()).await {
            Ok(Some(told)) => Ok(told),
            Ok(None) => Err(self.why_over().unwrap_or_else(|| "the connection is over".to_owned())),
            Err(_) => Err(format!("no answer came within {} s", patience.as_secs())),
        }
    }

    fn why_over(&self) -> Option<String> {
        lock(&self.calls.end_reason).clone()
    }
}

impl Drop for RemoteCall {
    fn drop(&mut self) {
        lock(&self.calls.open).remove(&self.id);
    }
}

impl PendingCalls {
    fn end(&self, why: &str) {
        lock(&self.end_reason).get_or_insert_with(|| why.to_owned());
        lock(&self.open).clear();
    }
}

impl Transport {
    fn start(command: &[String], workspace: &Path, environment: &Environment) -> Result<Self, String> {
        let (program, arguments) = command.split_first().ok_or("no program is named")?;
        let mut variables = environment.all();
        // A program from the workspace is not the one that the user named.
        let outside = |folder: &std::path::PathBuf| folder.is_absolute() && !folder.starts_with(workspace);
        let path = environment.get("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::env::split_paths(path).filter(outside)).unwrap_or_default();
        variables.insert(OsString::from("PATH"), path.clone());
        let found = find(program, &path)
            .ok_or_else(|| format!("{program} is not installed where PATH can find it"))?;
        let mut command = Command::new(found);
        command
            .args(arguments)
            .current_dir("/")
            .env_clear()
            .envs(variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let started = Group::start(&mut command);
        let (group, leader) = started.map_err(|error| format!("{program} cannot be started: {error}"))?;
        Ok(Self { _group: group, leader })
    }
}

fn find(program: &str, path: &std::ffi::OsStr) -> Option<std::path::PathBuf> {
    if program.contains('/') {
        return Path::new(program).is_absolute().then(|| program.into());
    }
    find_program(program, std::env::split_paths(path))
}

/// Passes incoming messages on until one is wrong, and returns what is wrong.
async fn read_all(told: &mut MessageReader, calls: &PendingCalls) -> String {
    let mut stray = 0;
    loop {
        let line = match told.next(SILENCE).await {
            Ok(line) => line,
            Err(why) => return why,
        };
        if !lock(&calls.end_reason).is_none() {
            return "it is not believed any more".to_owned();
        }
        let told: ServerMessage = match decode_line(&line) {
            Ok(told) => told,
            Err(error) => return error.to_string(),
        };
        let id = match &told {
            ServerMessage::Missing { id, .. }
            | ServerMessage::Unknown { id }
            | ServerMessage::Ready { id }
            | ServerMessage::Content { id, .. }
            | ServerMessage::Failed { id, .. } => *id,
            ServerMessage::Ran(ran) => ran.id,
            ServerMessage::Warmed(warmed) => warmed.id,
            ServerMessage::Alive => continue,
            _ => return "it says hello twice".to_owned(),
        };
        let call = lock(&calls.open).get(&id).cloned();
        match call {
            // A call that waited too long for the answer is no longer open then.
            Some(call) => drop(call.send(told).await),
            None => stray += 1,
        }
        if MAX_STRAY < stray {
            return "it answers what nobody asked".to_owned();
        }
    }
}

async fn write_all(
    input: &mut ChildStdin,
    mut waiting: mpsc::Receiver<Vec<u8>>,
    mut first: mpsc::UnboundedReceiver<ClientMessage>,
) -> String {
    loop {
        let line = tokio::select! {
            biased;
            ask = first.recv() => match ask {
                Some(ask) => encode_line(&ask),
                None => return "nobody needs it any more".to_owned(),
            },
            line = waiting.recv() => match line {
                Some(line) => line,
                None => return "nobody needs it any more".to_owned(),
            },
            () = tokio::time::sleep(ALIVE) => encode_line(&ClientMessage::Alive),
        };
        match timeout(SILENCE, input.write_all(&line)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return format!("it does not listen any more: {error}"),
            Err(_) => return format!("it did not listen for {} s", SILENCE.as_secs()),
        }
    }
}

/// The messages from the other side.
struct MessageReader {
    output: ChildStdout,
    lines: LineBuffer,
    buffer: Vec<u8>,
}

impl MessageReader {
    async fn next(&mut self, patience: Duration) -> Result<Vec<u8>, String> {
        loop {
            if let Some(line) = self.lines.next_line().map_err(|error| error.to_string())? {
                return Ok(line);
            }
            let read = timeout(patience, self.output.read(&mut self.buffer)).await;
            let read = read.map_err(|_| format!("nothing was heard of it for {} s", patience.as_secs()))?;
            match read.map_err(|error| error.to_string())? {
                0 => return Err("the connection ended".to_owned()),
                count => self.lines.push(&self.buffer[..count]),
            }
        }
    }
}

/// The end of what the program prints on standard error.
struct StderrTail {
    text: Arc<Mutex<Vec<u8>>>,
    listening: JoinHandle<()>,
}

impl StderrTail {
    fn of(errors: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let text = Arc::new(Mutex::new(Vec::new()));
        Self { text: Arc::clone(&text), listening: tokio::spawn(listen(errors, text)) }
    }

    /// Why the connection has ended, with the program's own explanation, which may arrive a little later.
    async fn with(&mut self, why: String) -> String {
        let _ = timeout(STDERR_WAIT, &mut self.listening).await;
        let said = lock(&self.text);
        let said = String::from_utf8_lossy(&said);
        let words = said.split(|sign: char| sign.is_whitespace() || sign.is_control());
        let words = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        if words.is_empty() { why } else { format!("{why}: {words}") }
    }
}

async fn listen(mut errors: impl AsyncRead + Unpin, said: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = vec![0; 4096];
    while let Ok(count @ 1..) = errors.read(&mut buffer).await {
        let mut said = lock(&said);
        said.extend_from_slice(&buffer[..count]);
        let over = said.len().saturating_sub(MAX_SAID);
        said.drain(..over);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
