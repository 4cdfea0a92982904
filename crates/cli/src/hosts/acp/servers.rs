//! Tool servers that the client names for a session.

use std::time::Duration;

use agent_client_protocol_schema::v1::{Error, McpServer};
use headstart_machine::config::{Config, EnvValue, OAuthSetting, ServerSetting, Transport, TrustSetting};
use headstart_tool_gate::PolicyOrigin;

use super::rpc;

/// The time limit for the start of a server, and for each answer.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Adds the servers to a configuration. The user has named them in the editor, so nobody is asked. If the configuration
/// has a server with the same name, that one counts.
pub(super) fn add(servers: &[McpServer], config: &mut Config) -> Result<(), Error> {
    for (place, server) in servers.iter().enumerate() {
        let field = format!("params.mcpServers[{place}]");
        if cfg!(not(feature = "mcp")) {
            return Err(rpc::wrong(&field, "this headstart was built without tool servers (feature mcp)"));
        }
        let setting = setting(server, &field)?;
        if config.external_tools.servers.iter().any(|known| known.name == setting.name) {
            headstart_machine::output::note(&format!(
                "tool server {}: that of your configuration is used",
                setting.name
            ));
        } else {
            config.external_tools.servers.push(setting);
        }
    }
    Ok(())
}

fn setting(server: &McpServer, field: &str) -> Result<ServerSetting, Error> {
    let wrong = |inner: &str, why: &str| rpc::wrong(&format!("{field}.{inner}"), why);
    let (name, transport, env) = match server {
        McpServer::Stdio(server) => {
            let Some(command) = server.command.to_str() else {
                return Err(wrong("command", "it is not UTF-8"));
            };
            let line = std::iter::once(command.to_owned()).chain(server.args.iter().cloned()).collect();
            let literal = |variable: &agent_client_protocol_schema::v1::EnvVariable| {
                (variable.name.clone(), EnvValue::Literal(variable.value.clone()))
            };
            (&server.name, Transport::Command(line), server.env.iter().map(literal).collect())
        }
        McpServer::Http(server) if server.headers.is_empty() => {
            (&server.name, Transport::Url(server.url.clone()), std::collections::BTreeMap::new())
        }
        McpServer::Http(_) => {
            let why = "a server with headers is not taken from an editor; name it in headstart's own configuration, where `bearer` is the variable with its token";
            return Err(wrong("headers", why));
        }
        _ => return Err(wrong("type", "stdio and http are spoken")),
    };
    let name = plain(name);
    if name.is_empty() {
        return Err(wrong("name", "there is no letter or digit in it"));
    }
    Ok(ServerSetting {
        name,
        origin: PolicyOrigin::User,
        file: "the editor's settings".into(),
        transport,
        env,
        bearer: None,
        oauth: OAuthSetting::default(),
        trust: TrustSetting::default(),
        trust_network: false,
        timeout: TIMEOUT,
    })
}

/// A name with which tools can be called, because editors allow any characters.
fn plain(name: &str) -> String {
    let mut plain = String::new();
    for sign in name.chars() {
        match sign {
            sign if sign.is_ascii_alphanumeric() || sign == '-' => plain.push(sign),
            _ if plain.ends_with(['_', '-']) => {}
            _ => plain.push('_'),
        }
    }
    let short: String = plain.trim_matches(['_', '-']).chars().take(32).collect();
    short.trim_matches(['_', '-']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_editors_become_names_of_servers() {
        for (name, expected) in [
            ("github", "github"),
            ("My Server (local)", "My_Server_local"),
            ("a__b", "a_b"),
            ("_x_", "x"),
            ("äöü", ""),
        ] {
            assert_eq!(plain(name), expected, "{name}");
        }
    }
}
