use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use url::Url;

use crate::untrusted::clean;

/// The most bytes of a browser's request.
const MAX_HEAD: usize = 16 * 1024;
/// The time limit for the request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// The most requests at the same time; one of them is the user's browser.
const MAX_AT_ONCE: usize = 32;
/// The path on this machine to which the browser is sent back.
const PATH: &str = "/callback";

/// Waits for the browser that is sent back from a login, at a port that only this machine can reach.
pub(super) struct RedirectListener {
    listener: TcpListener,
    port: u16,
}

/// What the browser brings back.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AuthorizationResponse {
    pub(super) code: String,
    pub(super) issuer: Option<String>,
}

impl RedirectListener {
    pub(super) async fn open() -> Result<Self, String> {
        let no_port = |error: std::io::Error| format!("no port of this machine is to be had: {error}");
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(no_port)?;
        let port = listener.local_addr().map_err(no_port)?.port();
        Ok(Self { listener, port })
    }

    pub(super) fn address(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the request with the right `state`. Any other one is refused, and changes nothing.
    pub(super) async fn wait(&self, state: &str) -> Result<AuthorizationResponse, String> {
        let (sender, mut responses) = mpsc::channel(1);
        let room = Arc::new(Semaphore::new(MAX_AT_ONCE));
        let expected: Arc<str> = state.into();
        loop {
            let (stream, _) = tokio::select! {
                Some(response) = responses.recv() => return response,
                accepted = self.listener.accept() => {
                    let Ok(accepted) = accepted else {
                        // Such an error (too many open files, for example) may pass.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        continue;
                    };
                    accepted
                }
            };
            let Ok(permit) = Arc::clone(&room).try_acquire_owned() else { continue };
            let (sender, expected, port) = (sender.clone(), Arc::clone(&expected), self.port);
            tokio::spawn(async move {
                let _permit = permit;
                if let Ok(Some(response)) =
                    tokio::time::timeout(HEAD_TIME, serve(stream, port, &expected)).await
                {
                    let _ = sender.send(response).await;
                }
            });
        }
    }
}

/// Answers one request; returns its content if it is the expected one.
async fn serve(
    mut stream: TcpStream,
    port: u16,
    state: &str,
) -> Option<Result<AuthorizationResponse, String>> {
    let mut head = Vec::new();
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        let mut piece = [0; 2048];
        let read = stream.read(&mut piece).await.ok().filter(|read| 0 < *read)?;
        head.extend_from_slice(&piece[..read]);
        if MAX_HEAD < head.len() {
            return None;
        }
    }
    let response = std::str::from_utf8(&head).ok().and_then(|head| parse_callback(head, port, state));
    let (status, words) = match &response {
        Some(Ok(_)) => (
            "200 OK",
            "You are back: headstart says in its terminal what came of it. This page may be closed.",
        ),
        Some(Err(_)) => {
            ("200 OK", "Nothing was permitted. headstart says why in its terminal; this page may be closed.")
        }
        None => ("400 Bad Request", "This is not what headstart waits for."),
    };
    // The page contains nothing of the request.
    let page = format!("<!doctype html><meta charset=utf-8><title>headstart</title><p>{words}</p>");
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nContent-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    // If the browser is gone, its request still counts.
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
    response
}

/// The content of a request; `None` if it is not the expected one.
fn parse_callback(head: &str, port: u16, state: &str) -> Option<Result<AuthorizationResponse, String>> {
    let mut lines = head.split("\r\n");
    let mut request = lines.next()?.split(' ');
    let (method, target) = (request.next()?, request.next()?);
    let host =
        lines.filter_map(|line| line.split_once(':')).find(|(name, _)| name.eq_ignore_ascii_case("host"));
    // A page may have led the browser here under another host name.
    if method != "GET" || host?.1.trim() != format!("127.0.0.1:{port}") || !target.starts_with('/') {
        return None;
    }
    let url =
        Url::parse(&format!("http://127.0.0.1:{port}{target}")).ok().filter(|url| url.path() == PATH)?;
    let only = |name: &str| {
        let mut found = url.query_pairs().filter(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        let first = found.next();
        if found.next().is_some() { None } else { Some(first) }
    };
    if only("state")?? != state {
        return None;
    }
    match (only("code")?, only("error")?) {
        (Some(code), None) if !code.is_empty() => {
            Some(Ok(AuthorizationResponse { code, issuer: only("iss")? }))
        }
        (None, Some(error)) => {
            let more = only("error_description")?.map(|words| format!(": {words}")).unwrap_or_default();
            Some(Err(format!("it was not permitted ({}{})", line(&error), line(&more))))
        }
        _ => None,
    }
}

fn line(text: &str) -> String {
    clean(text, 200).replace(['\n', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_asked_for_is_taken() {
        let get = |target: &str| {
            parse_callback(&format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1:7\r\n\r\n"), 7, "s1")
        };
        let code = |code: &str, issuer: Option<&str>| {
            Some(Ok(AuthorizationResponse { code: code.to_owned(), issuer: issuer.map(str::to_owned) }))
        };
        assert_eq!(get("/callback?code=c&state=s1"), code("c", None));
        assert_eq!(get("/callback?state=s1&iss=https%3A%2F%2Fx&code=c"), code("c", Some("https://x")));
        for other in [
            "/callback?code=c&state=s2",
            "/callback?code=c",
            "/callback?code=&state=s1",
            "/callback?state=s1",
            "/callback?code=c&state=s1&state=s2",
            "/callback?code=c&code=d&state=s1",
            "/callback?code=c&error=x&state=s1",
            "/callback/?code=c&state=s1",
            "/?code=c&state=s1",
            "//evil.example/callback?code=c&state=s1",
            "http://127.0.0.1:7/callback?code=c&state=s1",
        ] {
            assert_eq!(get(other), None, "{other}");
        }
        let denied = get("/callback?error=access_denied&error_description=%1b%5B31m<b>no&state=s1");
        assert_eq!(denied, Some(Err("it was not permitted (access_denied: <b>no)".to_owned())));
    }

    #[test]
    fn another_host_or_method_brings_nothing() {
        let head = "GET /callback?code=c&state=s HTTP/1.1\r\n";
        for rest in
            ["Host: evil.example:7\r\n\r\n", "Host: 127.0.0.1:8\r\n\r\n", "\r\n", "Host: 127.0.0.1\r\n\r\n"]
        {
            assert_eq!(parse_callback(&format!("{head}{rest}"), 7, "s"), None, "{rest:?}");
        }
        let post = "POST /callback?code=c&state=s HTTP/1.1\r\nHost: 127.0.0.1:7\r\n\r\n";
        assert_eq!(parse_callback(post, 7, "s"), None);
    }
}
