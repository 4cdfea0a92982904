use std::sync::Arc;

use headstart_agent::Phase;
use headstart_machine::error::CliError;
use headstart_terminal::Style;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::Chat;

/// A login to a tool server that the user has started.
pub(super) struct LoginTask {
    server: String,
    events: mpsc::Receiver<LoginEvent>,
    task: JoinHandle<()>,
}

/// The progress of a login.
pub(super) enum LoginEvent {
    /// The user has to read these lines, and then to log in.
    Begun(Vec<String>),
    Over(Result<String, String>),
}

impl Drop for LoginTask {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Waits for news of a login. Never ends if there is none.
pub(super) async fn next_event(login: &mut Option<LoginTask>) -> LoginEvent {
    let Some(login) = login else { return std::future::pending().await };
    match login.events.recv().await {
        Some(news) => news,
        None => LoginEvent::Over(Err(format!("the login to {} was given up", login.server))),
    }
}

impl Chat {
    /// Begins a login. One that has not ended is dropped.
    pub(super) fn log_in(&mut self, server: &str) -> Result<(), CliError> {
        if !self.display.has_person() {
            let why = format!(
                "nobody sits at a terminal here who could log in; `headstart tool-servers login {server}` does it"
            );
            return self.display.say(&why, Style::Removed);
        }
        let (sender, events) = mpsc::channel(2);
        let (servers, name) = (Arc::clone(&self.parts.server_tools), server.to_owned());
        let task = tokio::spawn(async move {
            let over = match servers.log_in(&name).await {
                Ok(begun) => {
                    let _ = sender.send(LoginEvent::Begun(begun.lines())).await;
                    begun.finish().await
                }
                Err(why) => Err(why),
            };
            let _ = sender.send(LoginEvent::Over(over)).await;
        });
        self.login = Some(LoginTask { server: server.to_owned(), events, task });
        self.display.say(&format!("asking {server} where to log in"), Style::Dim)
    }

    /// Logs the user out. A login to the same server that has not ended is dropped.
    pub(super) fn log_out(&mut self, server: &str) -> Result<(), CliError> {
        if self.login.as_ref().is_some_and(|login| login.server == server) {
            self.login = None;
            self.display.say(&format!("the login to {server} was given up"), Style::Dim)?;
        }
        match self.parts.server_tools.log_out(server) {
            Ok(message) => self.display.say(&message, Style::Dim),
            Err(why) => self.display.say(&why, Style::Removed),
        }
    }

    /// Handles news of a login.
    pub(super) fn on_login(&mut self, event: LoginEvent) -> Result<(), CliError> {
        match event {
            LoginEvent::Begun(lines) => self.display.say(&lines.join("\n"), Style::Plain),
            LoginEvent::Over(Err(why)) => {
                self.login = None;
                self.display.say(&why, Style::Removed)
            }
            LoginEvent::Over(Ok(message)) => {
                self.login = None;
                self.display.say(&message, Style::Dim)?;
                if self.agent.view().phase == Phase::Idle && self.reloading.is_none() {
                    return self.reload_servers();
                }
                self.display.say("/mcp reload takes on its tools", Style::Dim)
            }
        }
    }
}
