//! `headstart acp-proxy`: runs between an editor and an agent that speak the Agent Client Protocol, and has the agent
//! work ahead.
//!
//! Messages are passed on as unchanged lines (`message`). What the proxy learns from them, and what it does then, is
//! decided without any IO (`relay`, `permission`). This module does the IO: it runs two processes of the agent, the one
//! that the editor talks to (`agent`) and one in a view of the project (`second_agent`), and commits what the second
//! one did.

mod agent;
mod message;
mod permission;
mod profiles;
mod projects;
mod relay;
mod second_agent;
mod stand_in;
mod state;
mod streams;

use std::sync::Arc;
use std::time::Duration;

use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::output;
use headstart_machine::system::signals::Signals;
use headstart_overlay_fs::{ChangeSet, CommitOptions, CommitOutcome, OsTree, Workspace as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};

use self::agent::{Agent, AgentEnd};
use self::profiles::profile_of;
use self::projects::{Projects, SharedProjects};
pub(crate) use self::relay::Suggestions;
use self::relay::{Effect, Proxy};
use self::second_agent::{SecondAgent, SecondEvent};
use self::state::{StateFile, StateWriter};
use self::streams::{LineWriter, lines};

/// How often the proxy checks whether the time of work ahead is up.
const TICK: Duration = Duration::from_secs(1);
/// After the agent has ended, the editor has so long to send another request, so that it can be told of the end.
const LAST_REQUEST_WAIT: Duration = Duration::from_secs(5);
/// The time limit for the end of the agent once the editor has disconnected, and for that of a second agent.
const END_TIMEOUT: Duration = Duration::from_secs(3);

/// Events besides the lines of the editor and the agent.
enum ProxyEvent {
    Second(u64, SecondEvent),
    Prepared(u64),
    Committed(u64, Result<CommitOutcome, String>),
}

/// Passes messages on until the editor or the agent ends. Then nothing that was started still runs.
pub(crate) async fn serve(
    context: Context,
    command: Vec<String>,
    suggestions: Suggestions,
) -> Result<ExitStatus, CliError> {
    let mut signals = Signals::new().map_err(CliError::Input)?;
    let (editor, writing) = LineWriter::new(tokio::io::stdout());
    let mut of_editor = lines(tokio::io::stdin());
    let profile = profile_of(&command);
    let state = context.store().ok().map(|store| store.state_folder().to_owned());
    let file = StateFile::of(state.as_deref(), profile.map_or("others", |profile| profile.name));
    let mut suggestions = suggestions;
    let mut proxy_state = file.read().unwrap_or_else(|error| {
        output::note(&format!(
            "headstart: nothing runs ahead, for what was kept of sessions cannot be read: {error}"
        ));
        suggestions = Suggestions::Off;
        <_>::default()
    });
    let projects = SharedProjects::new(Projects::new(context, command.clone(), profile));
    let settled =
        file.settle(&mut proxy_state, |taking| projects.has_committed(&taking.folder, taking.changes));
    if let Err(error) = settled {
        output::note(&format!(
            "headstart: whether a prompt was taken when its editor went is not known: {error}"
        ));
    }
    let mut proxy = Proxy::new(Box::new(projects.clone()), profile, suggestions, proxy_state);
    if profile.is_none() && suggestions == Suggestions::Own {
        proxy
            .is_unfit("this agent is none of those whose work can be taken over; its messages are passed on");
    }
    let (event_sender, mut events) = mpsc::unbounded_channel();
    let mut runner = EffectRunner {
        editor: editor.clone(),
        agent: None,
        second: None,
        leaving: Vec::new(),
        event_sender,
        projects,
        state_writer: StateWriter::start(file),
        prepared: Vec::new(),
        forgetting: Vec::new(),
    };
    let ended = match Agent::start(&command) {
        Ok(mut agent) => {
            runner.agent.clone_from(&agent.out);
            let over =
                relay(&mut proxy, &mut runner, &mut agent, &mut of_editor, &mut events, &mut signals).await;
            runner.shut_down(&mut proxy, &mut events).await;
            match over {
                RelayEnd::Editor(status) => {
                    agent.wait_or_end().await;
                    Ok(status)
                }
                RelayEnd::Agent => Err(agent.wait_for_end().await),
            }
        }
        Err(ended) => Err(ended),
    };
    let ended = match ended {
        Ok(status) => status,
        Err(ended) => Ok(report_agent_end(&mut proxy, &mut runner, &mut of_editor, ended).await),
    };
    drop((runner, editor));
    // The last lines may not have been written yet.
    let _ = tokio::time::timeout(Duration::from_secs(1), writing).await;
    ended
}

/// Which side ended first.
enum RelayEnd {
    Editor(Result<ExitStatus, CliError>),
    Agent,
}

async fn relay(
    proxy: &mut Proxy,
    runner: &mut EffectRunner,
    agent: &mut Agent,
    of_editor: &mut mpsc::Receiver<Vec<u8>>,
    events: &mut mpsc::UnboundedReceiver<ProxyEvent>,
    signals: &mut Signals,
) -> RelayEnd {
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let Some(to_agent) = agent.out.as_ref().map(LineWriter::depth) else { return RelayEnd::Agent };
    let (editor, to_editor) = (runner.editor.clone(), runner.editor.depth());
    // After the editor's last line, the remaining lines of the agent still go to the editor.
    let mut last = None;
    runner.run_effects(proxy);
    loop {
        let at = last.unwrap_or_else(Instant::now);
        tokio::select! {
            signal = signals.next() => {
                let what = "what ran ahead is gone, what was taken stays".to_owned();
                return RelayEnd::Editor(Err(CliError::Signalled { signal, what }));
            }
            () = editor.disconnected() => return RelayEnd::Editor(Ok(ExitStatus::Done)),
            () = tokio::time::sleep_until(at), if last.is_some() => return RelayEnd::Editor(Ok(ExitStatus::Done)),
            line = of_editor.recv(), if last.is_none() && to_agent.has_room() => if let Some(line) = line {
                proxy.editor(&line);
            } else {
                runner.shut_down(proxy, events).await;
                agent.out = None;
                last = Some(Instant::now() + END_TIMEOUT);
            },
            () = to_agent.drained(), if !to_agent.has_room() => {}
            line = agent.lines.recv(), if to_editor.has_room() => match line {
                Some(line) => proxy.agent(&line),
                None if last.is_some() => return RelayEnd::Editor(Ok(ExitStatus::Done)),
                None => return RelayEnd::Agent,
            },
            () = to_editor.drained(), if !to_editor.has_room() => {}
            Some(event) = events.recv() => match event {
                ProxyEvent::Second(number, event) => EffectRunner::handle_second_event(proxy, number, event),
                ProxyEvent::Prepared(number) => proxy.prepared(number),
                ProxyEvent::Committed(number, outcome) => proxy.committed(number, outcome),
            },
            _ = ticks.tick() => proxy.tick(),
        }
        runner.run_effects(proxy);
    }
}

/// Tells the editor how the agent ended, as the answer to its open requests or to its next one.
async fn report_agent_end(
    proxy: &mut Proxy,
    runner: &mut EffectRunner,
    of_editor: &mut mpsc::Receiver<Vec<u8>>,
    ended: AgentEnd,
) -> ExitStatus {
    output::note(&format!("headstart: {}", ended.why));
    proxy.agent_ended(&ended.why);
    runner.run_effects(proxy);
    let deadline = Instant::now() + LAST_REQUEST_WAIT;
    while let Ok(Some(line)) = tokio::time::timeout_at(deadline, of_editor.recv()).await {
        let was_request = proxy.refuse(&line, &ended.why);
        runner.run_effects(proxy);
        if was_request {
            break;
        }
    }
    ExitStatus::Of(ended.code)
}

/// Carries out the effects that the proxy decides on.
struct EffectRunner {
    editor: LineWriter,
    agent: Option<LineWriter>,
    second: Option<(u64, SecondAgent)>,
    /// Those that are to answer one request yet.
    leaving: Vec<(u64, SecondAgent)>,
    event_sender: mpsc::UnboundedSender<ProxyEvent>,
    projects: SharedProjects,
    state_writer: StateWriter,
    /// The changes that were prepared for a commit.
    prepared: Vec<PreparedCommit>,
    forgetting: Vec<JoinHandle<()>>,
}

type PreparedCommit = JoinHandle<(Arc<OsTree>, ChangeSet)>;

impl EffectRunner {
    fn run_effects(&mut self, proxy: &mut Proxy) {
        loop {
            let effects = proxy.take_effects();
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                self.run_effect(effect);
            }
        }
    }

    fn run_effect(&mut self, effect: Effect) {
        match effect {
            Effect::ToEditor(line) => self.editor.send(line),
            Effect::ToAgent(line) => {
                if let Some(agent) = &self.agent {
                    agent.send(line);
                }
            }
            Effect::ToSecond(line) => {
                if let Some((_, second)) = &self.second {
                    second.send(line);
                }
            }
            Effect::Answer { name, may_run } => {
                if let Some((_, second)) = &self.second {
                    second.answer(&name, may_run);
                }
            }
            Effect::Start { number, folder } => self.start(number, &folder),
            Effect::Freeze { number } => {
                if let Some((_, second)) = self.second.as_ref().filter(|(running, _)| *running == number) {
                    second.freeze();
                }
            }
            Effect::Leave { number } => {
                self.leaving.extend(self.second.take_if(|(running, _)| *running == number));
            }
            Effect::End { number } => {
                self.leaving.retain(|(leaving, _)| *leaving != number);
                drop(self.second.take_if(|(running, _)| *running == number));
                self.forget();
            }
            Effect::Prepare { number, folder, changes } => {
                let event_sender = self.event_sender.clone();
                let Ok(tree) = self.projects.tree(&folder) else {
                    // The commit will report the error.
                    return drop(event_sender.send(ProxyEvent::Prepared(number)));
                };
                let prepared = tokio::task::spawn_blocking(move || {
                    // Preparing only makes the commit faster, so its error has no effect.
                    let _ = futures::executor::block_on(tree.prepare(&changes));
                    let _ = event_sender.send(ProxyEvent::Prepared(number));
                    (tree, changes)
                });
                self.prepared.push(prepared);
            }
            Effect::Commit { number, folder, changes, note } => {
                let noted = self.state_writer.write(note);
                let (event_sender, tree) = (self.event_sender.clone(), self.projects.tree(&folder));
                // The commit may wait for one of another process, which must not delay messages.
                tokio::task::spawn_blocking(move || {
                    // The note must be on disk first, so that a process that starts after a crash knows of the commit.
                    let _ = noted.recv();
                    let outcome = tree.and_then(|tree| {
                        let committed = tree.commit(&changes, CommitOptions::default());
                        futures::executor::block_on(committed).map_err(|error| error.to_string())
                    });
                    // Nobody receives this if the proxy is about to end.
                    let _ = event_sender.send(ProxyEvent::Committed(number, outcome));
                });
            }
            Effect::Keep(change) => drop(self.state_writer.write(change)),
            Effect::Write(folder, pending_writes) => self.projects.write(&folder, pending_writes),
            Effect::Say(what) => output::note(&format!("headstart: {what}")),
        }
    }

    /// Removes what was prepared for commits that nobody waits for any more. A commit that was made has left nothing to
    /// remove.
    fn forget(&mut self) {
        self.forgetting.retain(|forgetting| !forgetting.is_finished());
        for prepared in self.prepared.drain(..) {
            self.forgetting.push(tokio::spawn(async move {
                if let Ok((tree, changes)) = prepared.await {
                    tree.forget(&changes);
                }
            }));
        }
    }

    fn start(&mut self, number: u64, folder: &str) {
        let (events, mut receiver) = mpsc::unbounded_channel();
        let event_sender = self.event_sender.clone();
        tokio::spawn(async move {
            while let Some((number, event)) = receiver.recv().await {
                if event_sender.send(ProxyEvent::Second(number, event)).is_err() {
                    return;
                }
            }
        });
        let started = self.projects.plan(folder).and_then(|plan| {
            SecondAgent::start(plan, number, events.clone()).map_err(|error| error.to_string())
        });
        match started {
            Ok(second) => self.second = Some((number, second)),
            Err(why) => drop(events.send((number, SecondEvent::Ended { why, for_good: true }))),
        }
    }

    fn handle_second_event(proxy: &mut Proxy, number: u64, event: SecondEvent) {
        match event {
            SecondEvent::Started => proxy.second_started(number),
            SecondEvent::Line(line) => proxy.second(number, &line),
            SecondEvent::CommandRequested(command) => proxy.second_command(number, &command),
            SecondEvent::Ended { why, for_good } => proxy.second_ended(number, &why, for_good),
            SecondEvent::Frozen(frozen) => proxy.frozen(number, frozen),
        }
    }

    /// Ends the work ahead, after a commit that is in progress or the answer to a fork, and waits until nothing of it is left.
    async fn shut_down(&mut self, proxy: &mut Proxy, events: &mut mpsc::UnboundedReceiver<ProxyEvent>) {
        let deadline = Instant::now() + END_TIMEOUT;
        while proxy.shuts_down_later()
            && let Ok(Some(event)) = tokio::time::timeout_at(deadline, events.recv()).await
        {
            match event {
                ProxyEvent::Committed(number, outcome) => proxy.committed(number, outcome),
                ProxyEvent::Second(number, event) if proxy.is_forking() => {
                    Self::handle_second_event(proxy, number, event);
                }
                ProxyEvent::Second(..) | ProxyEvent::Prepared(_) => {}
            }
            self.run_effects(proxy);
        }
        // The first agent is asked to delete the fork once the second has ended, which could write it anew until then.
        if let Some(holder) = self.second.take().and_then(|(_, second)| second.end()) {
            let waited = tokio::task::spawn_blocking(move || holder.join());
            let _ = tokio::time::timeout(END_TIMEOUT, waited).await;
        }
        proxy.shut_down();
        self.run_effects(proxy);
        self.agent = None;
        self.forget();
        let forgotten = futures::future::join_all(std::mem::take(&mut self.forgetting));
        let _ = tokio::time::timeout(END_TIMEOUT, forgotten).await;
        self.projects.written().await;
    }
}
