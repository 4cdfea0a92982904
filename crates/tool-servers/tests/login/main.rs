//! Logins to a server behind an address, with an authorization server of this test. Instead of a browser the test
//! itself opens the addresses.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod attacks;
#[path = "web.rs"]
mod login_web;
mod world;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use headstart_overlay_fs::{MemoryTree, Overlay, Quota};
use headstart_tool_gate::GateContext;
use headstart_tool_servers::{Connect, LoginClient, PendingLogin, ServerConfig, StoredLogin, ToolServers};
use headstart_toolbox::{Tool, ToolContext, ToolLimits, ToolOutput};
use serde_json::Map;

use self::login_web::{TestServer, browse};
use self::world::{AuthorizationServer, ResourceServer, config};

/// Logs in as a user who agrees.
async fn log_in(config: &ServerConfig) -> Result<(), String> {
    let login = PendingLogin::begin(config).await?;
    let address = login.address().to_owned();
    let finished = tokio::spawn(login.finish());
    let (status, _) = browse(&address).await;
    assert_eq!(status, 200);
    finished.await.unwrap()
}

/// Calls the server's tool. Returns what the model reads.
async fn call(servers: &ToolServers) -> Result<String, String> {
    let Some(tool) = servers.tools().first() else {
        return Err(servers.start_reports()[0].tools.clone().unwrap_err());
    };
    let view = Arc::new(Overlay::new(Arc::new(MemoryTree::default()), Quota::default()));
    let (gate, limits) = (GateContext::default(), ToolLimits::default());
    let context = ToolContext {
        view: &view,
        gate: &gate,
        limits: &limits,
        hardened: None,
        consented: true,
        attended: true,
    };
    tool.run(&Map::new(), context).await.map(ToolOutput::into_text).map_err(|error| error.to_string())
}

async fn servers(config: &ServerConfig) -> ToolServers {
    ToolServers::start(vec![config.clone()]).await
}

/// Starts an authority and a server that accepts its tokens.
async fn world(authority: AuthorizationServer) -> (TestServer, Arc<AuthorizationServer>, TestServer) {
    let (site, authority) = authority.start().await;
    let tools = ResourceServer::of(&site).start(Arc::clone(&authority)).await;
    (site, authority, tools)
}

fn mcp(site: &TestServer) -> String {
    format!("{}/mcp", site.origin)
}

#[tokio::test]
async fn a_user_logs_in_asks_and_logs_out() {
    let (site, _, tools) = world(AuthorizationServer::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let config = config(&mcp(&tools), folder.path());

    let before = servers(&config).await;
    let why = call(&before).await.unwrap_err();
    assert!(why.contains("wants a login (401): `/mcp login docs`"), "{why}");
    assert_eq!(site.heard(), "[]", "nobody logs in unasked");

    let login = PendingLogin::begin(&config).await.unwrap();
    assert_eq!((login.server(), login.issuer()), (mcp(&tools).as_str(), site.origin.as_str()));
    assert_eq!(login.scopes(), ["read"]);
    assert!(login.address().starts_with(&format!("{}/authorize?", site.origin)));
    drop(login);
    assert_eq!(StoredLogin::of(&config), Ok(None), "and a login that is given up leaves nothing");

    log_in(&config).await.unwrap();
    let logged_in = StoredLogin { issuer: site.origin.clone(), scopes: vec!["read".to_owned()] };
    assert_eq!(StoredLogin::of(&config), Ok(Some(logged_in)));
    let file = folder.path().join("login.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let after = servers(&config).await;
    // The server answers with the token that it was sent, and the token is not shown.
    assert_eq!(call(&after).await.unwrap(), "seen with [token]");
    assert!(!tools.heard().contains("secret-refresh"), "what gets new tokens goes to the authority alone");
    after.close().await;

    assert_eq!(StoredLogin::forget(&config), Ok(true));
    assert_eq!((StoredLogin::of(&config), StoredLogin::forget(&config)), (Ok(None), Ok(false)));
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(call(&servers(&config).await).await.unwrap_err().contains("wants a login"));
}

#[tokio::test]
async fn a_token_that_is_about_to_end_is_replaced_and_asked_for_as_the_server_calls_itself() {
    // The tokens last no second, so each call finds that its token has ended.
    let (site, authority) =
        AuthorizationServer { token_lifetime: 0, ..AuthorizationServer::default() }.start().await;
    let names: [fn(&str) -> String; 2] = [|origin| format!("{origin}/mcp"), str::to_owned];
    for resource in names {
        let tools =
            ResourceServer { resource, ..ResourceServer::of(&site) }.start(Arc::clone(&authority)).await;
        let folder = tempfile::tempdir().unwrap();
        let config = config(&mcp(&tools), folder.path());
        log_in(&config).await.unwrap();
        let found = site.asked("/.well-known/oauth-authorization-server").len();
        let running = servers(&config).await;
        for _ in 0..3 {
            assert_eq!(call(&running).await.unwrap(), "seen with [token]");
        }
        assert_eq!(site.asked("/.well-known/oauth-authorization-server").len(), found, "nobody looks anew");
    }
    let asked = site.asked("/token");
    let refreshed = asked.iter().filter(|asked| asked.form()["grant_type"] == "refresh_token").count();
    assert!(6 <= refreshed, "{refreshed}");
}

#[tokio::test]
async fn two_that_need_new_tokens_at_once_get_them_one_after_the_other() {
    let (_site, _, tools) =
        world(AuthorizationServer { token_lifetime: 0, ..AuthorizationServer::default() }).await;
    let folder = tempfile::tempdir().unwrap();
    let config = config(&mcp(&tools), folder.path());
    log_in(&config).await.unwrap();
    // A refresh token can be used once, so the second of two that use the same one would be logged out.
    let all = futures::future::join_all((0..4).map(|_| async {
        let running = servers(&config).await;
        call(&running).await
    }));
    for said in all.await {
        assert_eq!(said.unwrap(), "seen with [token]");
    }
}

#[tokio::test]
async fn a_login_that_has_ended_is_said_and_nothing_begins_another() {
    let (site, authority, tools) =
        world(AuthorizationServer { refuses_refresh: true, ..AuthorizationServer::default() }).await;
    let folder = tempfile::tempdir().unwrap();
    let config = config(&mcp(&tools), folder.path());
    log_in(&config).await.unwrap();
    let running = servers(&config).await;
    authority.end_tokens();
    let why = call(&running).await.unwrap_err();
    assert!(why.contains("its login has ended (401); `/mcp login docs`"), "{why}");
    assert_eq!((site.asked("/authorize").len(), site.asked("/register").len()), (1, 1));
    log_in(&config).await.unwrap();
    assert_eq!(call(&servers(&config).await).await.unwrap(), "seen with [token]");
}

#[tokio::test]
async fn what_a_server_wants_besides_is_asked_for_by_the_next_login() {
    let (site, authority) = AuthorizationServer::default().start().await;
    let tools = ResourceServer { needs: Some("write"), ..ResourceServer::of(&site) }.start(authority).await;
    let folder = tempfile::tempdir().unwrap();
    let config = config(&mcp(&tools), folder.path());
    log_in(&config).await.unwrap();
    let running = servers(&config).await;
    let why = call(&running).await.unwrap_err();
    assert!(why.contains("more than its login permits (403, insufficient_scope write)"), "{why}");
    let login = PendingLogin::begin(&config).await.unwrap();
    assert_eq!(login.scopes(), ["read", "write"]);
    drop(login);
    log_in(&config).await.unwrap();
    assert_eq!(call(&running).await.unwrap(), "seen with [token]", "without a new start");
}

#[tokio::test]
async fn a_client_that_is_registered_by_hand_needs_no_registration() {
    let (site, _, tools) = world(AuthorizationServer {
        metadata: serde_json::json!({ "registration_endpoint": null }),
        secret: Some("secret-of-client"),
        token_lifetime: 0,
        ..AuthorizationServer::default()
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(&mcp(&tools), folder.path());
    let why = PendingLogin::begin(&config).await.err().unwrap();
    assert!(why.contains("no program registers itself") && why.contains("client_id"), "{why}");
    let Connect::Http { login: Some(login), .. } = &mut config.connect else { panic!() };
    let secret = Some("secret-of-client".to_owned());
    login.client = Some(LoginClient { id: "by-hand".to_owned(), secret });
    login.scopes = vec!["read".to_owned(), "more".to_owned()];
    log_in(&config).await.unwrap();
    assert_eq!(call(&servers(&config).await).await.unwrap(), "seen with [token]");
    let asked = &site.asked("/authorize")[0].query;
    assert_eq!((asked["client_id"].as_str(), asked["scope"].as_str()), ("by-hand", "read more"));
    let file = fs::read_to_string(folder.path().join("login.json")).unwrap();
    assert!(!file.contains("secret-of-client"), "it is the configuration's to say");
}

#[tokio::test]
async fn a_secret_that_a_registration_gives_is_kept_for_new_tokens() {
    let authority = AuthorizationServer {
        secret: Some("secret-of-client"),
        token_lifetime: 0,
        ..AuthorizationServer::default()
    };
    let (_site, _, tools) = world(authority).await;
    let folder = tempfile::tempdir().unwrap();
    let config = config(&mcp(&tools), folder.path());
    log_in(&config).await.unwrap();
    assert_eq!(call(&servers(&config).await).await.unwrap(), "seen with [token]");
}
