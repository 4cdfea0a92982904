//! The start of a session's tool servers, while its user can already type.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::v1::NoticeSeverity;
use headstart_machine::tool_servers::ServerTools;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::AcpSession;

/// How long the first prompt waits for servers that start slowly.
const LATE: Duration = Duration::from_secs(5);

/// The servers that start, and the first prompt, which waits for them because the list of tools is part of the beginning
/// of every request.
#[derive(Default)]
pub(super) struct Startup {
    starting: Option<JoinHandle<()>>,
    prompt: Option<String>,
    /// When the prompt goes without the tools.
    late_at: Option<Instant>,
    /// Whether a prompt has gone without them.
    is_late: bool,
}

/// What happens while servers start.
#[derive(Debug, Clone, Copy)]
pub(super) enum StartupEvent {
    /// They have started, or failed to.
    Started,
    /// A prompt has waited long enough.
    Late,
}

impl Startup {
    pub(super) fn begin(servers: &Arc<ServerTools>) -> Self {
        let starting = servers.has_pending_start().then(|| {
            let servers = Arc::clone(servers);
            tokio::spawn(async move { servers.start_all().await })
        });
        Self { starting, ..Self::default() }
    }

    pub(super) fn is_starting(&self) -> bool {
        self.starting.is_some()
    }

    pub(super) fn has_prompt(&self) -> bool {
        self.prompt.is_some()
    }

    /// Keeps a prompt if it has to wait, and returns whether it has.
    pub(super) fn queue(&mut self, text: &str) -> bool {
        let waits = self.is_starting() && !self.is_late && !text.trim().is_empty();
        if waits {
            self.prompt = Some(text.to_owned());
            self.late_at = Some(Instant::now() + LATE);
        }
        waits
    }

    /// Gives up a prompt that waits, and returns whether there was one.
    pub(super) fn take_back(&mut self) -> bool {
        self.late_at = None;
        self.prompt.take().is_some()
    }

    /// Waits for what happens next. Tools are taken on only while nothing goes on in the conversation.
    pub(super) async fn next(&mut self, is_idle: bool) -> StartupEvent {
        let Self { starting, late_at, .. } = self;
        let started = async {
            match starting {
                // A start that broke leaves the servers as they are.
                Some(starting) if is_idle => drop(starting.await),
                _ => pending().await,
            }
        };
        let late = async {
            match *late_at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => pending().await,
            }
        };
        let event = tokio::select! {
            () = started => StartupEvent::Started,
            () = late => StartupEvent::Late,
        };
        match event {
            StartupEvent::Started => self.starting = None,
            StartupEvent::Late => self.is_late = true,
        }
        event
    }

    pub(super) async fn stop(&mut self) {
        if let Some(starting) = self.starting.take() {
            starting.abort();
            let _ = starting.await;
        }
    }
}

impl AcpSession {
    pub(super) async fn on_startup(&mut self, event: StartupEvent) {
        match event {
            StartupEvent::Started => self.take_tools().await,
            StartupEvent::Late => self.tell_that_servers_are_late().await,
        }
        self.send_waiting_prompt().await;
    }

    /// Offers the model the tools of the servers.
    async fn take_tools(&mut self) {
        let toolbox = self.conversation.parts.with_tools_of_servers();
        self.conversation.parts.engine.toolbox = toolbox.clone();
        // The agent is idle, so it takes the tools.
        let _ = self.conversation.agent.set_toolbox(toolbox);
        self.conversation.agent.rules_changed();
        for trouble in self.conversation.parts.server_tools.start_troubles() {
            self.notice(NoticeSeverity::Warning, &trouble).await;
        }
    }

    async fn tell_that_servers_are_late(&self) {
        let late = "The tool servers are late, and this turn goes without their tools; they are taken on when it is over.";
        self.notice(NoticeSeverity::Warning, late).await;
    }

    async fn send_waiting_prompt(&mut self) {
        self.startup.late_at = None;
        let (Some(text), Some(pending)) = (self.startup.prompt.take(), self.prompt.take()) else { return };
        self.submit(pending, &text).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Servers that never start.
    fn hung() -> Startup {
        Startup { starting: Some(tokio::spawn(pending())), ..Startup::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_prompt_waits_five_seconds_and_goes_without_the_tools() {
        let mut startup = hung();
        let asked = Instant::now();
        assert!(startup.queue("use it"));
        assert!(matches!(startup.next(true).await, StartupEvent::Late));
        assert_eq!(asked.elapsed(), LATE);
        assert!(startup.prompt.take().is_some());
        assert!(!startup.queue("and now"), "the second does not wait again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_prompt_that_was_taken_back_makes_nothing_late() {
        let mut startup = hung();
        assert!(startup.queue("use it") && startup.take_back() && !startup.take_back());
        let next = tokio::time::timeout(2 * LATE, startup.next(true)).await;
        assert!(next.is_err(), "nothing happens");
        assert!(startup.queue("use it"), "the next one waits for the tools");
    }

    #[tokio::test]
    async fn servers_that_have_started_are_taken_on_once_nothing_goes_on() {
        let mut startup = Startup { starting: Some(tokio::spawn(async {})), ..Startup::default() };
        assert!(startup.queue("use it"));
        assert!(matches!(startup.next(true).await, StartupEvent::Started));
        assert!(!startup.is_starting() && startup.has_prompt());
    }
}
