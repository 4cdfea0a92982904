use std::sync::Arc;

use headstart_agent::Phase;
use headstart_speculation::Host;
use tokio::task::JoinHandle;

use super::Chat;
use crate::commands::tool_lines;
use crate::error::CliError;
use crate::terminal::Style;

/// Waits until the tool servers are there again; for ever where they are not started anew.
pub(super) async fn reloaded(reloading: &mut Option<JoinHandle<()>>) {
    match reloading {
        // A start that broke off leaves the servers that there are.
        Some(running) => drop(running.await),
        None => std::future::pending().await,
    }
}

impl Chat {
    pub(super) fn show_tools(&mut self) -> Result<(), CliError> {
        let names = self.parts.engine.toolbox.schemas().into_iter().map(|schema| schema.name);
        let lines = tool_lines(names, &self.parts.host.gate_context());
        self.face.say(&lines.join("\n"), Style::Plain)
    }

    pub(super) fn show_servers(&mut self) -> Result<(), CliError> {
        let lines = self.parts.server_tools.lines();
        if lines.is_empty() {
            return self.face.say("no tool servers: [mcp.NAME] in your configuration names one", Style::Dim);
        }
        self.face.say(&lines.join("\n"), Style::Plain)
    }

    pub(super) fn reload_servers(&mut self) -> Result<(), CliError> {
        if self.agent.view().phase != Phase::Idle {
            return self.face.say("a turn is running; Ctrl-C interrupts it", Style::Removed);
        }
        if self.reloading.is_some() {
            return self.face.say("the tool servers are being started", Style::Dim);
        }
        if !self.parts.server_tools.has_servers() {
            return self.show_servers();
        }
        // Work ahead may be asking them.
        self.agent.drop_suggestion();
        let servers = Arc::clone(&self.parts.server_tools);
        self.reloading = Some(tokio::spawn(async move { servers.reload().await }));
        self.face.say("the tool servers are started anew", Style::Dim)
    }

    /// The servers are there again: the model is offered what tools they have now.
    pub(super) fn on_reloaded(&mut self) -> Result<(), CliError> {
        self.reloading = None;
        let toolbox = self.parts.with_tools_of_servers();
        let before = self.parts.engine.toolbox.schemas();
        if before != toolbox.schemas() {
            self.face.say("the model is offered other tools from now on; its provider's cache of this conversation is lost", Style::Dim)?;
        }
        self.parts.engine.toolbox = toolbox.clone();
        // It is idle: nothing was begun since that was looked at.
        let _ = self.agent.set_toolbox(toolbox);
        self.agent.rules_changed();
        self.show_servers()
    }

    /// Ends the servers with the chat, also those that are only starting.
    pub(super) async fn end_servers(&mut self) {
        if let Some(reloading) = self.reloading.take() {
            reloading.abort();
            let _ = reloading.await;
        }
        self.parts.server_tools.close().await;
    }
}
