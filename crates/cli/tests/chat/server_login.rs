//! Holds how a user logs in to tool servers, from a chat and from a shell. The test plays the browser.
#![expect(clippy::unwrap_used, reason = "what a helper cannot do stops the test")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::json;
use tokio::runtime::Runtime;

use crate::fixture::{Chat, Project, project};
use crate::login_web::{TestServer, browse};
use crate::login_world::{AuthorizationServer, ResourceServer};
use crate::pty::Pty;

/// An authorization server and tool servers, which run as long as this value lives.
struct LoginSetup {
    runtime: Runtime,
    authority: TestServer,
    tools: TestServer,
    other: TestServer,
}

impl LoginSetup {
    fn start() -> Self {
        let runtime = Runtime::new().unwrap();
        let (authority, tools, other) = runtime.block_on(async {
            let (site, authority) = AuthorizationServer::default().start().await;
            let tools = ResourceServer::of(&site).start(authority.clone()).await;
            let other = ResourceServer::of(&site).start(authority).await;
            (site, tools, other)
        });
        Self { runtime, authority, tools, other }
    }

    fn browse(&self, address: &str) {
        assert_eq!(self.runtime.block_on(browse(address)).0, 200);
    }
}

fn name(project: &Project, file: &str, server: &TestServer) {
    project.session.write(file, format!("[mcp.docs]\nurl = '{}/mcp'\n", server.origin));
}

const OWN: &str = "home/.config/headstart/config.toml";

/// Wide enough for an address to fit in one row.
const COLUMNS: u16 = 1000;

/// The address that a login shows for the browser.
fn address(shown: &str) -> String {
    let mut rows = shown.lines().map(str::trim);
    rows.rfind(|row| row.starts_with("http://") && row.contains("&resource=")).unwrap().to_owned()
}

/// All files below a folder that contain one of the tokens.
fn files_with_tokens(folder: PathBuf) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with_tokens(path));
        } else if fs::read(&path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains("secret-token"))
        {
            found.push(path);
        }
    }
    found
}

#[test]
fn a_login_in_a_chat_gives_its_tools_and_a_logout_takes_them() {
    let world = LoginSetup::start();
    let project = project().calls(0, "mcp__docs__look", json!({})).says(0, "It looked.");
    let mut arguments = project.arguments("auto-edit");
    let log = project.session.home().join("log");
    arguments.splice(0..0, ["--log".into(), log.display().to_string(), "--log-content".into()]);
    name(&project, OWN, &world.tools);
    let mut chat = Chat::spawn(project, &arguments, COLUMNS, 40);
    chat.wait_for("it wants a login (401): `/mcp login docs` in a chat");
    assert_eq!(world.authority.heard(), "[]", "nobody logs in unasked");
    chat.send("/mcp login docs\r");
    chat.wait_for("Open this address in a browser of this machine:");
    chat.wait_for(&format!(
        "What you permit there is permitted to {}/mcp, the tool server docs.",
        world.tools.origin
    ));
    chat.wait_for("&resource=");
    world.browse(&address(&chat.settle()));
    chat.wait_for(&format!("docs: you are logged in at {}", world.authority.origin));
    chat.wait_for("docs         1 tools");
    chat.send("begin\r");
    chat.answer_to("run this?", "y");
    chat.wait_for("It looked.");
    chat.send("/mcp logout docs\r");
    chat.wait_for("docs: you are logged out");
    chat.send("/mcp login t\r");
    chat.wait_for("there is no tool server \"t\"; there are docs");
    assert!(!chat.contents().contains("secret-"), "{}", chat.contents());
    chat.leave_keeping(|session| {
        let found = files_with_tokens(session.home());
        assert!(found.is_empty(), "a log, a session or a recording has one: {found:?}");
    });
}

#[test]
fn a_login_in_a_shell_is_for_one_file_and_one_address() {
    let world = LoginSetup::start();
    let project = project();
    name(&project, OWN, &world.tools);
    let mut shell = Pty::of(&project.session.command(&["tool-servers", "login", "docs"]), COLUMNS, 40);
    shell.wait_for("&resource=");
    world.browse(&address(&shell.contents()));
    shell.wait_for("docs: you are logged in at");
    assert_eq!(shell.exit_code(), 0);
    let kept = files_with_tokens(project.session.home());
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(fs::metadata(&kept[0]).unwrap().permissions().mode() & 0o777, 0o600);
    let folder = kept[0].parent().unwrap();
    assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);

    let rows = project.session.run(&["tool-servers", "--json"]).to_string();
    assert!(rows.contains(&format!("\"loggedInAt\":\"{}\"", world.authority.origin)), "{rows}");
    assert!(!rows.contains("secret-"), "{rows}");
    let tried = project.session.run(&["tool-servers", "test", "docs"]).to_string();
    assert!(tried.contains("mcp__docs__look"), "{tried}");

    // A project that names the same server by the same address needs a login of its own, and one that names another
    // address gets no token.
    project.session.write(OWN, "");
    for server in [&world.tools, &world.other] {
        name(&project, "project/.headstart/config.toml", server);
        project.session.run(&["tool-servers", "allow", "docs"]);
        let before = server.heard().matches("secret-token").count();
        let tried = project.session.run(&["tool-servers", "test", "docs"]).to_string();
        assert!(tried.contains("wants a login (401)"), "{tried}");
        assert_eq!(server.heard().matches("secret-token").count(), before);
    }
}
