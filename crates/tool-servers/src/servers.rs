use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::{join_all, pending, select_all};

use crate::catalogue::{OmittedTool, catalogue};
use crate::config::{ServerConfig, ServerName};
use crate::server::Server;
use crate::tool::ServerTool;

/// The servers of a session. [`close`](Self::close) ends them in order; dropping this ends them at the latest.
#[derive(Default)]
pub struct ToolServers {
    start_reports: Vec<StartReport>,
    servers: Vec<Arc<Server>>,
    tools: Vec<Arc<ServerTool>>,
    /// The servers whose change of tools the user was told about.
    notified: Mutex<BTreeSet<ServerName>>,
}

/// The result of starting a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartReport {
    /// The server.
    pub name: ServerName,
    /// How many tools it offers, or why it does not answer.
    pub tools: Result<usize, String>,
    /// Its tools that are not offered.
    pub omitted: Vec<OmittedTool>,
}

impl ToolServers {
    /// Starts servers, all at the same time, and asks each once for its tools: these are the tools of the session,
    /// sorted by name. One that does not answer in time is reported, and not started later, because none of its tools
    /// is known.
    pub async fn start(configs: Vec<ServerConfig>) -> Self {
        let servers: Vec<_> = configs.into_iter().map(Server::new).collect();
        let listed = join_all(servers.iter().map(|server| async move {
            let connection = server.turn_connection().await?;
            connection.tools().await
        }));
        let listed = listed.await;
        let mut all = Self::default();
        for (server, listed) in servers.into_iter().zip(listed) {
            let name = server.config.name.clone();
            match listed {
                Ok((tools, is_whole)) => {
                    let (listed, omitted) = catalogue(&name, tools, is_whole);
                    all.start_reports.push(StartReport { name, tools: Ok(listed.len()), omitted });
                    all.tools.extend(
                        listed
                            .into_iter()
                            .map(|listed| Arc::new(ServerTool::new(Arc::clone(&server), listed))),
                    );
                }
                Err(cause) => {
                    all.start_reports.push(StartReport { name, tools: Err(cause), omitted: Vec::new() });
                }
            }
            all.servers.push(server);
        }
        all.tools.sort_by(|one, other| one.name().cmp(other.name()));
        all
    }

    /// The result for each server, in the order of the configuration.
    pub fn start_reports(&self) -> &[StartReport] {
        &self.start_reports
    }

    /// The tools of all servers, sorted by name. They never change.
    pub fn tools(&self) -> &[Arc<ServerTool>] {
        &self.tools
    }

    /// The running server of this name.
    pub(crate) fn server(&self, name: &str) -> Option<&Arc<Server>> {
        self.servers.iter().find(|server| server.config.name.as_str() == name)
    }

    pub(crate) fn servers(&self) -> &[Arc<Server>] {
        &self.servers
    }

    /// Waits until a server reports that its tools have changed. It may do so at any time, and a report during a call
    /// may be read only after the call's answer, so [`notices`](Self::notices) at the end of a turn may miss it.
    pub async fn changed(&self) {
        if self.servers.is_empty() {
            return pending().await;
        }
        select_all(self.servers.iter().map(|server| Box::pin(server.changes.tools_changed()))).await;
    }

    /// What has happened since that the user should know, each once.
    pub fn notices(&self) -> Vec<String> {
        let mut notified = self.notified.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = self.servers.iter().filter(|server| server.changes.take_tools());
        // If a server reports this again and again, the user is told once.
        let new = changed.map(|server| &server.config.name).filter(|name| notified.insert((*name).clone()));
        let notice = |name: &ServerName| {
            format!(
                "the tool server {name} says that its tools have changed; /mcp reload takes that on, and with that the model's cache of this conversation is lost"
            )
        };
        new.map(notice).collect()
    }

    /// Ends all servers. Afterwards none of their processes is left.
    pub async fn close(&self) {
        join_all(self.servers.iter().map(|server| server.close())).await;
    }
}
