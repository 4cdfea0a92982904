//! Views for another machine, or for an editor on this one. This is the side of the exchange that has the views, on
//! standard input and output.
//!
//! A client that can start this program on this machine may run commands here anyway, so it is trusted. Even so,
//! everything that it names is stored below this user's state folder, and a view over a folder itself is only given for
//! the folder that the command line names. When its side of the stream ends, or it sends nothing for too long,
//! everything that runs is ended.

mod accept;
mod calls;
mod copy;
mod disk;
mod local;
mod log;
mod stored;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use headstart_overlay_fs::{Content, ContentHash};
use headstart_tool_gate::{DenyRules, GateContext};
use headstart_toolbox::exchange::{
    ClientHello, ClientMessage, LineBuffer, ServerMessage, VERSION, decode_greeting, decode_line, encode_line,
};
use headstart_toolbox::{Tier, ViewId, ViewSupport};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use calls::ServedCall;
use copy::WorkspaceCopy;
use headstart_machine::config::{Flags, RuleFiles, ShadowConfig};
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::program::program;
use headstart_machine::store::Store;
use headstart_machine::views::Views;
use headstart_machine::{output, setup, workspace};
pub(crate) use stored::{all as all_copies, remove as remove_copy};

/// The time limit for the first message.
const GREETING: Duration = Duration::from_secs(30);
/// The client must send something at least this often. After a longer silence the connection is given up.
const SILENCE: Duration = Duration::from_secs(120);
/// This side sends something at least this often.
const ALIVE: Duration = Duration::from_secs(10);
/// How long running commands have time to end.
const ENDING: Duration = Duration::from_secs(5);
/// The most messages that wait for one call, and the most answers that wait to be written.
const MAX_WAITING: usize = 64;
/// The most bytes of contents that are kept in case the next command names them.
const MAX_KEPT: usize = 256 << 20;

/// The data that all calls of a connection share.
struct ServeSession {
    workspace: String,
    tree: PathBuf,
    /// The copy of the workspace; `None` if the views are over the workspace itself.
    copy: Option<Mutex<WorkspaceCopy>>,
    /// What the user's own rules close in the workspace itself. A copy has nothing that is closed.
    rules: Option<Mutex<OwnRules>>,
    views: Arc<Views>,
    settings: ShadowConfig,
    /// The state folder, if there is one.
    state: Option<PathBuf>,
    /// What can be taken back.
    last_accept: Mutex<Option<accept::LastAccept>>,
    quota: headstart_overlay_fs::Quota,
    out: mpsc::Sender<Vec<u8>>,
    contents: Mutex<ContentCache>,
    /// The state of the copy when each view was last used.
    view_bases: Mutex<BTreeMap<ViewId, ContentHash>>,
}

/// The rules of this user's configuration, with those that were written down since.
struct OwnRules {
    known: GateContext,
    files: RuleFiles,
}

/// Contents that were received or sent, the newest last.
#[derive(Default)]
struct ContentCache {
    contents: BTreeMap<ContentHash, Content>,
    order: std::collections::VecDeque<ContentHash>,
    bytes: usize,
}

/// Answers requests until the client has disconnected. Views are over the folder `here` itself if there is one, and
/// else over a copy of the client's workspace.
pub(crate) async fn serve(
    context: &Context,
    here: Option<&Path>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), CliError> {
    let (out, waiting) = mpsc::channel(MAX_WAITING);
    let mut tasks = JoinSet::new();
    tasks.spawn(write(waiting, output));
    let mut asked = RequestReader { input, lines: LineBuffer::default(), buffer: vec![0; 256 << 10] };
    let served = answer(context, here, &mut asked, out, &mut tasks).await;
    if served.is_err() {
        // The last message may not have been written yet, and it tells the client more than the end of the stream does.
        let _ = timeout(Duration::from_secs(2), tasks.join_next()).await;
    }
    served
}

async fn answer(
    context: &Context,
    here: Option<&Path>,
    asked: &mut RequestReader<impl AsyncRead + Unpin>,
    out: mpsc::Sender<Vec<u8>>,
    tasks: &mut JoinSet<()>,
) -> Result<(), CliError> {
    let wrong = |why: String| CliError::Unavailable(why);
    let Some(line) = asked.next(GREETING).await.map_err(wrong)? else { return Ok(()) };
    let hello = match decode_greeting::<ClientMessage>(&line) {
        Ok(ClientMessage::Hello(hello)) => hello,
        other => {
            // Tells the client which version is spoken here.
            let none = hello_message(None, vec!["there is no view for this version".to_owned()], None);
            let _ = out.send(encode_line(&none)).await;
            let why =
                other.err().map_or("the first message is no greeting".to_owned(), |error| error.to_string());
            return Err(CliError::Unavailable(why));
        }
    };
    let opened = match here {
        Some(here) => ServeSession::open_here(context, here, out.clone()),
        None => ServeSession::open(context, hello, out.clone()),
    };
    let session = match opened {
        Ok(session) => Arc::new(session),
        Err(error) => {
            let _ = out.send(encode_line(&hello_message(None, vec![error.to_string()], None))).await;
            return Err(error);
        }
    };
    session.greet().await?;
    tasks.spawn(async move {
        while out.send(encode_line(&ServerMessage::Alive)).await.is_ok() {
            tokio::time::sleep(ALIVE).await;
        }
    });
    let mut calls = RunningCalls::new(Arc::clone(&session));
    let ended = loop {
        match asked.next(SILENCE).await {
            Ok(Some(line)) => match decode_line(&line) {
                Ok(ask) => calls.take(ask).await,
                Err(error) => break Err(wrong(error.to_string())),
            },
            Ok(None) => break Ok(()),
            Err(why) => break Err(wrong(why)),
        }
    };
    drop(calls);
    session.views.end_idle(Duration::ZERO);
    // A thread that runs a command notices that its view has ended, and then removes its files on disk.
    let over = async {
        while 1 < Arc::strong_count(&session.views) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let _ = timeout(ENDING, over).await;
    ended
}

fn hello_message(tier: Option<Tier>, notes: Vec<String>, tree: Option<ContentHash>) -> ServerMessage {
    ServerMessage::Hello { version: VERSION, program: program(), tier, notes, tree }
}

impl ServeSession {
    fn open(context: &Context, hello: ClientHello, out: mpsc::Sender<Vec<u8>>) -> Result<Self, CliError> {
        let store = context.store()?;
        let state = store.state_folder();
        // The project's own configuration file is part of what the client sends, and the client has already asked the
        // user about it.
        let config = context.config(&Flags::default(), state)?;
        let settings = with_client_limits(config.shadow, &hello);
        let failed = |error: io::Error| {
            CliError::Unavailable(format!("the copy of the workspace cannot be kept: {error}"))
        };
        let copy = WorkspaceCopy::open(state, &hello, settings.copy_bytes).map_err(failed)?;
        let tree = copy.tree();
        let quota = config.limits.staged;
        let views = Views::new(&tree, &settings, quota, &context.environment, Some(state));
        let views = Arc::new(views.shown_at(PathBuf::from(&hello.workspace)));
        Ok(Self {
            workspace: hello.workspace,
            tree,
            copy: Some(Mutex::new(copy)),
            rules: None,
            views,
            settings,
            state: Some(state.to_owned()),
            last_accept: Mutex::default(),
            quota,
            out,
            contents: Mutex::default(),
            view_bases: Mutex::default(),
        })
    }

    /// A session over the folder itself, with the limits and rules of this user's configuration.
    fn open_here(context: &Context, here: &Path, out: mpsc::Sender<Vec<u8>>) -> Result<Self, CliError> {
        let workspace = workspace::resolve(Some(here))?;
        let tree = PathBuf::from(&workspace);
        let config = context.config(&Flags::default(), &tree)?;
        let rules = config.gate_context(workspace.clone())?;
        if !rules.views {
            return Err(CliError::Unavailable(
                "views are turned off by HEADSTART_SHADOW or [shadow] enabled".to_owned(),
            ));
        }
        let files = RuleFiles::new(&context.environment, &tree);
        let state = context.store().ok();
        let state = state.as_ref().map(Store::state_folder);
        let views = Arc::new(setup::any_views(&config, &workspace, &context.environment, state));
        Ok(Self {
            workspace,
            tree,
            copy: None,
            rules: Some(Mutex::new(OwnRules { known: rules, files })),
            views,
            quota: config.limits.staged,
            settings: config.shadow,
            state: state.map(Path::to_owned),
            last_accept: Mutex::default(),
            out,
            contents: Mutex::default(),
            view_bases: Mutex::default(),
        })
    }

    /// The copy of the workspace. It is an error if the views are over the workspace itself.
    fn copy(&self) -> io::Result<MutexGuard<'_, WorkspaceCopy>> {
        let none = || io::Error::other("there is none, because the views are over the workspace itself");
        self.copy.as_ref().map(lock).ok_or_else(none)
    }

    /// What the user's own rules close now.
    fn deny(&self) -> DenyRules {
        let Some(rules) = &self.rules else { return DenyRules::default() };
        let mut rules = lock(rules);
        if let Some(stricter) = rules.files.stricter(&rules.known) {
            rules.known = stricter;
        }
        rules.files.notices().iter().for_each(|notice| output::note(&format!("headstart: {notice}")));
        rules.known.deny.clone()
    }

    async fn greet(self: &Arc<Self>) -> Result<(), CliError> {
        let session = Arc::clone(self);
        let digest = tokio::task::spawn_blocking(move || {
            let copy = session.copy.as_ref();
            copy.map(|copy| Ok::<_, io::Error>(lock(copy).lock()?.digest())).transpose()
        });
        let digest = digest.await.map_err(|error| CliError::Unavailable(error.to_string()))?;
        let digest =
            digest.map_err(|error| CliError::Unavailable(format!("the copy cannot be read: {error}")))?;
        let hello = match self.views.support() {
            ViewSupport::Views { tier } => hello_message(Some(*tier), self.views.notes().to_vec(), digest),
            ViewSupport::None { why } => hello_message(None, vec![why.clone()], None),
        };
        self.send(&hello).await;
        Ok(())
    }

    /// Sends a message. If that fails, the client has disconnected, and the stream of its messages ends too.
    async fn send(&self, message: &ServerMessage) {
        let _ = self.out.send(encode_line(message)).await;
    }
}

/// The settings with the smaller limit of both sides.
fn with_client_limits(mut settings: ShadowConfig, hello: &ClientHello) -> ShadowConfig {
    let limits = &hello.limits;
    let rows = [
        (&mut settings.bytes, limits.bytes),
        (&mut settings.files, limits.files),
        (&mut settings.processes, limits.processes),
        (&mut settings.memory, limits.memory),
    ];
    for (ours, theirs) in rows {
        *ours = theirs.map_or(*ours, |theirs| theirs.min(*ours));
    }
    settings.build.extend(hello.build.iter().cloned());
    settings
}

impl ContentCache {
    fn get(&self, hash: ContentHash) -> Option<Content> {
        self.contents.get(&hash).cloned()
    }

    fn put(&mut self, content: &Content) {
        if self.contents.insert(content.hash(), content.clone()).is_some() {
            return;
        }
        self.bytes += content.len();
        self.order.push_back(content.hash());
        while MAX_KEPT < self.bytes
            && let Some(oldest) = self.order.pop_front()
        {
            self.bytes -= self.contents.remove(&oldest).map_or(0, |content| content.len());
        }
    }
}

/// The calls that run.
struct RunningCalls {
    session: Arc<ServeSession>,
    /// Calls that wait for further messages.
    open: BTreeMap<u64, mpsc::Sender<ClientMessage>>,
    /// The last command of each view.
    commands: BTreeMap<String, AbortHandle>,
    tasks: JoinSet<()>,
}

impl RunningCalls {
    fn new(session: Arc<ServeSession>) -> Self {
        Self { session, open: BTreeMap::new(), commands: BTreeMap::new(), tasks: JoinSet::new() }
    }

    async fn take(&mut self, ask: ClientMessage) {
        while self.tasks.try_join_next().is_some() {}
        self.open.retain(|_, call| !call.is_closed());
        let id = match &ask {
            ClientMessage::End { view } => {
                if let Some(command) = self.commands.remove(view) {
                    command.abort();
                }
                calls::end(&self.session, &ViewId::new(view));
                return;
            }
            ClientMessage::Tree { id, .. }
            | ClientMessage::Content { id, .. }
            | ClientMessage::Gone { id }
            | ClientMessage::ChangedSince { id, .. }
            | ClientMessage::TakeBack { id, .. } => *id,
            ClientMessage::Accept(accept) => accept.id,
            ClientMessage::Run(run) => run.id,
            ClientMessage::RunLocal(run) => run.id,
            ClientMessage::Warm(warm) => warm.id,
            _ => return,
        };
        let begins = !matches!(ask, ClientMessage::Content { .. } | ClientMessage::Gone { .. })
            && !self.open.contains_key(&id);
        if begins {
            let (sender, more) = mpsc::channel(MAX_WAITING);
            self.open.insert(id, sender);
            let call = ServedCall { session: Arc::clone(&self.session), id, more };
            let task = self.tasks.spawn(call.answer());
            match &ask {
                ClientMessage::Run(run) => drop(self.commands.insert(run.view.clone(), task)),
                ClientMessage::RunLocal(run) => drop(self.commands.insert(run.view.clone(), task)),
                _ => {}
            }
        }
        if let Some(call) = self.open.get(&id) {
            // A call that has ended needs no further messages.
            let _ = call.send(ask).await;
        }
    }
}

/// The messages from the client.
struct RequestReader<R> {
    input: R,
    lines: LineBuffer,
    buffer: Vec<u8>,
}

impl<R: AsyncRead + Unpin> RequestReader<R> {
    /// The next line; `None` if the client has disconnected.
    async fn next(&mut self, patience: Duration) -> Result<Option<Vec<u8>>, String> {
        loop {
            if let Some(line) = self.lines.next_line().map_err(|error| error.to_string())? {
                return Ok(Some(line));
            }
            let read = timeout(patience, self.input.read(&mut self.buffer)).await;
            let read = read
                .map_err(|_| format!("nothing was heard of the other side for {} s", patience.as_secs()))?;
            match read.map_err(|error| error.to_string())? {
                0 => return Ok(None),
                count => self.lines.push(&self.buffer[..count]),
            }
        }
    }
}

async fn write(mut waiting: mpsc::Receiver<Vec<u8>>, mut output: impl AsyncWrite + Unpin) {
    while let Some(line) = waiting.recv().await {
        if output.write_all(&line).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
