//! Replaces tool servers in a build without the feature `mcp`: there are none, and the user is told so.

#![expect(
    clippy::unused_self,
    clippy::unused_async,
    reason = "it has the shape of what is there with the feature"
)]

use std::path::Path;

use headstart_tool_gate::Declaration;
use headstart_toolbox::Toolbox;

use crate::config::Config;
use crate::conversation::ServersStart;
use crate::environment::Environment;
use crate::error::CliError;
use crate::output;

/// A resource, which no server offers in this build.
pub(crate) struct ListedResource {
    pub(crate) server: String,
    pub(crate) uri: String,
    pub(crate) words: String,
}

/// A prompt, which no server offers in this build.
pub(crate) struct ListedPrompt {
    pub(crate) server: String,
    pub(crate) name: String,
    pub(crate) words: String,
    pub(crate) arguments: Vec<String>,
}

impl ListedPrompt {
    pub(crate) fn usage(&self) -> String {
        String::new()
    }
}

/// The error if a tool server is named.
const WITHOUT: &str = "this headstart was built without tools of others (feature mcp)";

/// A login, which does not exist in this build.
pub(crate) enum LoginPrompt {}

impl LoginPrompt {
    pub(crate) fn lines(&self) -> Vec<String> {
        match *self {}
    }

    pub(crate) async fn finish(self) -> Result<String, String> {
        match self {}
    }
}

/// No tool servers.
#[derive(Default)]
pub(crate) struct ServerTools {
    named: usize,
}

/// The tool servers of a conversation.
pub async fn begin(
    config: &Config,
    _workspace: &str,
    _state: Option<&Path>,
    _environment: &Environment,
    _starts: ServersStart,
) -> Result<ServerTools, CliError> {
    let others = &config.external_tools;
    let tools = ServerTools { named: others.servers.len() + others.http_tools.len() };
    tools.troubles().iter().for_each(|trouble| output::note(trouble));
    Ok(tools)
}

impl ServerTools {
    pub(crate) fn declarations(&self) -> Vec<Declaration> {
        Vec::new()
    }

    pub(crate) fn join(&self, toolbox: Toolbox) -> Toolbox {
        toolbox
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.troubles()
    }

    fn troubles(&self) -> Vec<String> {
        let why = "your configuration names tools of others, and this headstart was built without them (feature mcp)";
        (0 < self.named).then(|| why.to_owned()).into_iter().collect()
    }

    pub(crate) fn start_troubles(&self) -> Vec<String> {
        Vec::new()
    }

    pub(crate) async fn changed(&self) {
        std::future::pending::<()>().await;
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        Vec::new()
    }

    pub(crate) fn has_servers(&self) -> bool {
        false
    }

    pub(crate) fn has_pending_start(&self) -> bool {
        false
    }

    pub(crate) async fn start_all(&self) {}

    pub(crate) fn is_running(&self, _server: &str) -> bool {
        false
    }

    pub(crate) async fn offers(&self) -> (Vec<ListedResource>, Vec<ListedPrompt>) {
        (Vec::new(), Vec::new())
    }

    pub(crate) async fn read_resource(&self, _server: &str, _uri: &str) -> Option<Result<String, String>> {
        None
    }

    pub(crate) async fn prompt(
        &self,
        _server: &str,
        _name: &str,
        _written: &str,
    ) -> Option<Result<String, String>> {
        None
    }

    pub(crate) async fn log_in(&self, _name: &str) -> Result<LoginPrompt, String> {
        Err(WITHOUT.to_owned())
    }

    pub(crate) fn log_out(&self, _name: &str) -> Result<String, String> {
        Err(WITHOUT.to_owned())
    }

    pub(crate) async fn reload(&self) {}

    pub(crate) async fn close(&self) {}
}

pub(crate) fn what_it_is(_declaration: Option<&Declaration>) -> Option<&'static str> {
    None
}
