//! Attacks on a login by the server, by an authority that the server names, by another process of this machine, and by
//! a project's file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use headstart_tool_servers::{PendingLogin, StoredLogin};
use serde_json::{Value, json};
use url::Url;

use crate::login_web::{TestServer, answer, browse, get, json as page};
use crate::world::{AuthorizationServer, ResourceServer, config};
use crate::{call, log_in, mcp, servers, world};

/// Tries to log in with an authority whose metadata has these fields. Returns why the login does not begin.
async fn refused(metadata: Value) -> String {
    let (site, _, tools) = world(AuthorizationServer { metadata, ..AuthorizationServer::default() }).await;
    let folder = tempfile::tempdir().unwrap();
    let why = PendingLogin::begin(&config(&mcp(&tools), folder.path())).await.err().unwrap();
    assert!(site.asked("/register").is_empty() && site.asked("/token").is_empty(), "{}", site.heard());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    why
}

#[tokio::test]
async fn no_metadata_leads_to_files_and_other_networks() {
    for field in ["authorization_endpoint", "token_endpoint", "registration_endpoint"] {
        for (address, says) in [
            ("file:///etc/passwd", "file: is no address of a login"),
            ("javascript:alert(1)", "javascript: is no address of a login"),
            ("http://login.example/x", "not encrypted"),
            ("https://10.0.0.9/x", "a private network"),
            ("https://169.254.169.254/latest/meta-data", "a private network"),
            ("https://[fd00::1]/x", "a private network"),
            ("https://user:word@login.example/x", "a name or a password"),
            ("--help", "relative URL"),
        ] {
            let why = refused(json!({ field: address })).await;
            assert!(why.contains(says), "{field} {address}: {why}");
        }
    }
}

#[tokio::test]
async fn one_that_protects_no_code_is_not_logged_in_to() {
    for methods in [json!(null), json!([]), json!(["plain"])] {
        let why = refused(json!({ "code_challenge_methods_supported": methods })).await;
        assert!(why.contains("PKCE"), "{why}");
    }
}

#[tokio::test]
async fn an_address_that_says_itself_what_headstart_says_is_refused() {
    let (site, _) = AuthorizationServer::default().start().await;
    for query in
        ["state=mine", "redirect_uri=https%3A%2F%2Fevil.example", "code_challenge=mine", "resource=x"]
    {
        let endpoint = format!("{}/authorize?{query}", site.origin);
        let authority = AuthorizationServer {
            metadata: json!({ "authorization_endpoint": endpoint }),
            ..AuthorizationServer::default()
        };
        let (_site, _, tools) = world(authority).await;
        let folder = tempfile::tempdir().unwrap();
        let why = PendingLogin::begin(&config(&mcp(&tools), folder.path())).await.err().unwrap();
        assert!(why.contains("headstart's to say"), "{query}: {why}");
    }
}

#[tokio::test]
async fn metadata_of_another_issuer_or_of_another_server_is_none() {
    let why = refused(json!({ "issuer": "https://login.example" })).await;
    assert!(why.contains("issuer mismatch"), "{why}");
    // A server that asks for tokens which are meant for another server.
    let (site, authority) = AuthorizationServer::default().start().await;
    let others: [fn(&str) -> String; 2] =
        [|_| "https://bank.example/mcp".to_owned(), |origin| format!("{origin}/mcp2")];
    for resource in others {
        let tools =
            ResourceServer { resource, ..ResourceServer::of(&site) }.start(Arc::clone(&authority)).await;
        let folder = tempfile::tempdir().unwrap();
        let why = PendingLogin::begin(&config(&mcp(&tools), folder.path())).await.err().unwrap();
        assert!(why.contains("mismatch"), "{why}");
    }
}

/// The address to which the redirects of a test lead.
static ELSEWHERE: OnceLock<String> = OnceLock::new();

#[tokio::test]
async fn nobody_is_led_elsewhere_by_a_redirect() {
    let elsewhere =
        TestServer::start(|origin, _| page(&json!({ "issuer": origin, "access_token": "x" }))).await;
    let address = elsewhere.origin.clone();
    // The server redirects requests for its metadata.
    let (site, authority) = AuthorizationServer::default().start().await;
    let leads = TestServer::start(move |_, _| answer(307, "").with("Location", address.clone())).await;
    let folder = tempfile::tempdir().unwrap();
    let why = PendingLogin::begin(&config(&mcp(&leads), folder.path())).await.err().unwrap();
    assert!(why.contains("redirect"), "{why}");
    // The redirect leads to a file.
    let leads = TestServer::start(move |_, _| answer(302, "").with("Location", "file:///etc/passwd")).await;
    assert!(PendingLogin::begin(&config(&mcp(&leads), folder.path())).await.is_err());
    // The authority redirects registrations and requests for tokens.
    ELSEWHERE.get_or_init(|| elsewhere.origin.clone());
    let led = || Some(answer(307, "").with("Location", ELSEWHERE.get().cloned().unwrap_or_default()));
    let (_one, _, tools) =
        world(AuthorizationServer { registration: led, ..AuthorizationServer::default() }).await;
    let why = PendingLogin::begin(&config(&mcp(&tools), folder.path())).await.err().unwrap();
    assert!(why.contains("307"), "{why}");
    let (_two, _, tools) =
        world(AuthorizationServer { token_endpoint: led, ..AuthorizationServer::default() }).await;
    assert!(log_in(&config(&mcp(&tools), folder.path())).await.is_err());
    assert_eq!(elsewhere.heard(), "[]");
    drop((site, authority));
}

#[tokio::test]
async fn what_no_metadata_says_is_not_guessed() {
    let nothing = TestServer::start(|_, asked| match asked.path.as_str() {
        "/mcp" => answer(401, "").with("WWW-Authenticate", "Bearer realm=\"x\""),
        "/authorize" | "/token" | "/register" => panic!("it is guessed"),
        _ => answer(404, "<html><script>alert(1)</script></html>"),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let why = PendingLogin::begin(&config(&mcp(&nothing), folder.path())).await.err().unwrap();
    assert_eq!(why, "it does not say where to log in to it");
}

#[tokio::test]
async fn answers_that_do_not_end_or_are_of_no_kind_end_the_login() {
    let endless = || {
        let mut endless = answer(200, "");
        endless.endless = true;
        Some(endless)
    };
    let html = || {
        Some(
            answer(200, "<html><script>alert('\u{1b}[31m')</script></html>")
                .with("Content-Type", "text/html"),
        )
    };
    let long = || {
        let body = json!({ "access_token": "x".repeat(20_000), "token_type": "Bearer" });
        Some(page(&body))
    };
    let folder = tempfile::tempdir().unwrap();
    for (token_endpoint, says) in
        [(endless as fn() -> _, "longer than"), (html, "Content-Type"), (long, "a token is longer than")]
    {
        let (_site, _, tools) =
            world(AuthorizationServer { token_endpoint, ..AuthorizationServer::default() }).await;
        let config = config(&mcp(&tools), folder.path());
        let why = log_in(&config).await.unwrap_err();
        assert!(why.contains(says) && !why.contains('\u{1b}'), "{why}");
        assert_eq!(StoredLogin::of(&config), Ok(None));
    }
    let (_site, _, tools) =
        world(AuthorizationServer { registration: endless, ..AuthorizationServer::default() }).await;
    let why = PendingLogin::begin(&config(&mcp(&tools), folder.path())).await.err().unwrap();
    assert!(why.contains("longer than"), "{why}");
    let (site, authority) = AuthorizationServer::default().start().await;
    let tools = ResourceServer { metadata: endless, ..ResourceServer::of(&site) }.start(authority).await;
    let why = PendingLogin::begin(&config(&mcp(&tools), folder.path())).await.err().unwrap();
    assert!(why.contains("longer than"), "{why}");
}

#[tokio::test]
async fn another_process_of_this_machine_brings_nothing() {
    let (site, _, tools) = world(AuthorizationServer::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let config = config(&mcp(&tools), folder.path());
    let login = PendingLogin::begin(&config).await.unwrap();
    let address = Url::parse(login.address()).unwrap();
    let asked = |name: &str| address.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
    let (back, state) = (asked("redirect_uri"), asked("state"));
    let finished = tokio::spawn(login.finish());
    let at = |query: &str| Url::parse(&format!("{back}?{query}")).unwrap();
    // The other process does not know the state of the login, or a page of the web leads the browser here.
    for query in ["code=mine&state=guess", "code=mine", "", "error=access_denied&state=guess"] {
        let (status, _, page) = get(&at(query), None).await;
        assert!(status == 400 && !page.contains("mine") && !page.contains("guess"), "{query}: {page}");
    }
    let (status, ..) = get(&at(&format!("code=mine&state={state}")), Some("evil.example")).await;
    assert_eq!(status, 400);
    // A connection that is held open does not keep others waiting.
    let port = Url::parse(&back).unwrap().port().unwrap();
    let held = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    assert!(!finished.is_finished());
    assert_eq!(browse(address.as_str()).await.0, 200);
    finished.await.unwrap().unwrap();
    assert_eq!(site.asked("/token").len(), 1);
    drop(held);
}

#[tokio::test]
async fn a_code_of_another_login_is_of_no_use() {
    let (site, _, tools) = world(AuthorizationServer::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let config = config(&mcp(&tools), folder.path());
    // An attacker saw the address of the login and has a code of their own, which was given for another secret.
    let (mine, theirs) =
        (PendingLogin::begin(&config).await.unwrap(), PendingLogin::begin(&config).await.unwrap());
    let (status, location, _) = get(&Url::parse(theirs.address()).unwrap(), None).await;
    assert_eq!(status, 302);
    let theirs = Url::parse(&location.unwrap()).unwrap();
    let code = theirs.query_pairs().find(|(key, _)| key == "code").unwrap().1.into_owned();
    let address = Url::parse(mine.address()).unwrap();
    let of = |name: &str| address.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
    let mut injected = Url::parse(&of("redirect_uri")).unwrap();
    injected.query_pairs_mut().append_pair("code", &code).append_pair("state", &of("state"));
    let finished = tokio::spawn(mine.finish());
    get(&injected, None).await;
    let why = finished.await.unwrap().unwrap_err();
    // The authority's error repeats everything that it was sent.
    assert!(why.contains("invalid_grant") && !why.contains(&code), "{why}");
    assert_eq!(StoredLogin::of(&config), Ok(None));
    assert_eq!(site.asked("/token").len(), 1);
}

#[tokio::test]
async fn an_answer_of_another_issuer_is_not_taken() {
    let issuer_of_answers = Some("https://evil.example".to_owned());
    let (site, _, tools) =
        world(AuthorizationServer { issuer_of_answers, ..AuthorizationServer::default() }).await;
    let folder = tempfile::tempdir().unwrap();
    let why = log_in(&config(&mcp(&tools), folder.path())).await.unwrap_err();
    assert!(why.contains("issuer mismatch"), "{why}");
    assert!(site.asked("/token").is_empty());
}

#[tokio::test]
async fn a_refusal_is_told_in_plain_words() {
    let (_site, _, tools) = world(AuthorizationServer::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let login = PendingLogin::begin(&config(&mcp(&tools), folder.path())).await.unwrap();
    let address = Url::parse(login.address()).unwrap();
    let of = |name: &str| address.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
    let mut back = Url::parse(&of("redirect_uri")).unwrap();
    let words = "<script>alert(1)</script>\u{1b}[31m\nno";
    back.query_pairs_mut()
        .append_pair("error", "access_denied")
        .append_pair("error_description", words)
        .append_pair("state", &of("state"));
    let finished = tokio::spawn(login.finish());
    let (status, _, page) = get(&back, None).await;
    assert!(status == 200 && !page.contains("alert"), "{page}");
    let why = finished.await.unwrap().unwrap_err();
    assert_eq!(why, "it was not permitted (access_denied: <script>alert(1)</script> no)");
}

#[tokio::test]
async fn a_token_goes_to_the_server_it_was_made_for_and_to_no_other() {
    let (site, authority, tools) = world(AuthorizationServer::default()).await;
    let folder = tempfile::tempdir().unwrap();
    log_in(&config(&mcp(&tools), folder.path())).await.unwrap();
    // The name is the same, and even the file, but the address is another one, as a project's file could say.
    let other = ResourceServer::of(&site).start(Arc::clone(&authority)).await;
    let moved = config(&mcp(&other), folder.path());
    assert_eq!(StoredLogin::of(&moved), Ok(None));
    let why = call(&servers(&moved).await).await.unwrap_err();
    assert!(why.contains("wants a login"), "{why}");
    let path = config(&format!("{}/mcp/../mcp2", tools.origin), folder.path());
    let _ = call(&servers(&path).await).await;
    assert!(
        !other.heard().contains("secret-token")
            && tools.asked("/mcp2").iter().all(|asked| !asked.headers.contains_key("authorization"))
    );
    assert_eq!(
        call(&servers(&config(&mcp(&tools), folder.path())).await).await.unwrap(),
        "seen with [token]"
    );
}

#[tokio::test]
async fn a_token_for_somebody_else_is_refused_and_not_tried_for_ever() {
    let audience = Some("https://other.example/mcp".to_owned());
    let (site, _, tools) = world(AuthorizationServer { audience, ..AuthorizationServer::default() }).await;
    let folder = tempfile::tempdir().unwrap();
    let config = config(&mcp(&tools), folder.path());
    log_in(&config).await.unwrap();
    let why = call(&servers(&config).await).await.unwrap_err();
    assert!(why.contains("its login has ended (401)"), "{why}");
    assert!(site.asked("/token").len() < 6, "{}", site.heard());
}

#[tokio::test]
async fn what_an_authority_says_of_a_token_holds_none() {
    let (site, authority) =
        AuthorizationServer { token_lifetime: 0, ..AuthorizationServer::default() }.start().await;
    let tools = ResourceServer::of(&site).start(Arc::clone(&authority)).await;
    let folder = tempfile::tempdir().unwrap();
    let config = config(&mcp(&tools), folder.path());
    log_in(&config).await.unwrap();
    let running = servers(&config).await;
    let file = folder.path().join("login.json");
    // The stored token is another one by now. The authority refuses a token that it does not know, with an error that
    // repeats everything it was sent.
    let kept = fs::read_to_string(&file).unwrap().replace("secret-refresh", "secret-refrain");
    fs::write(&file, kept).unwrap();
    let why = call(&running).await.unwrap_err();
    assert!(!why.contains("secret-"), "{why}");
    assert!(!file.exists(), "and what was refused is not sent again");
}

#[tokio::test]
async fn a_file_that_others_may_read_or_that_is_none_of_ours_is_not_used() {
    let (_site, _, tools) = world(AuthorizationServer::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let config = config(&mcp(&tools), folder.path());
    log_in(&config).await.unwrap();
    let file = folder.path().join("login.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let why = call(&servers(&config).await).await.unwrap_err();
    assert!(why.contains("not this user's alone") && why.contains("login.json"), "{why}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&file, "{\"secret-token\":").unwrap();
    let why = StoredLogin::of(&config).unwrap_err();
    assert!(why.contains("none of headstart's") && !why.contains("secret"), "{why}");
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &file).unwrap();
    assert!(StoredLogin::of(&config).is_err());
    assert_eq!(StoredLogin::forget(&config), Ok(true), "a user gets out of it");
    log_in(&config).await.unwrap();
}

#[tokio::test]
async fn a_server_that_is_not_encrypted_is_not_logged_in_to() {
    let folder = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let why = PendingLogin::begin(&config("http://mcp.example/mcp", folder.path())).await.err().unwrap();
    assert!(why.contains("use https") && began.elapsed() < Duration::from_secs(60), "{why}");
}
