//! Attacks on a fetch, and the results of a search. The test machine acts as the web at 127.0.0.2; 127.0.0.1 must not
//! be reached.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use headstart_toolbox::{ItemUri, ToolOutput};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::address::{Resolver, is_public, parse_address, permitted_addresses};
use super::fetch::{FetchLimits, Fetcher};
use super::page::{Kind, Page};
use super::search::{Search, SearchConfig, SearchRequest};

const WEB: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
const OWN: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The addresses of a name at each lookup; the last ones stay.
struct FakeResolver(Mutex<VecDeque<Vec<IpAddr>>>);

#[async_trait]
impl Resolver for FakeResolver {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let mut names = self.0.lock().expect("no thread panicked");
        let next = if 1 < names.len() { names.pop_front() } else { names.front().cloned() };
        next.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn fetcher(names: impl IntoIterator<Item = Vec<IpAddr>>) -> Fetcher {
    Fetcher {
        http: true,
        resolver: Arc::new(FakeResolver(Mutex::new(names.into_iter().collect()))),
        is_open: |address| *address == WEB,
        limits: FetchLimits { time: Duration::from_secs(10), bytes: 100_000, redirects: 5 },
    }
}

/// The requests to a server, by path.
type RequestLog = Arc<Mutex<Vec<String>>>;

/// A server at one address. `answer` gives the bytes that answer a request, and possibly further bytes that follow
/// again and again at an interval.
async fn serve(
    address: IpAddr,
    port: u16,
    answer: impl Fn(&str, u16) -> (Vec<u8>, Option<(&'static [u8], Duration)>) + Send + Sync + 'static,
) -> (u16, RequestLog) {
    let listener = TcpListener::bind((address, port)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let requests = RequestLog::default();
    let (log, answer) = (Arc::clone(&requests), Arc::new(answer));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
            tokio::spawn(async move {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).await.is_ok() {
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                log.lock().expect("no thread panicked").push(head.clone());
                let path = head.split(' ').nth(1).unwrap_or_default();
                let (bytes, more) = answer(path, port);
                // Some of the tests have a client that leaves in the middle.
                let _ = stream.write_all(&bytes).await;
                while let Some((bytes, apart)) = more {
                    if stream.write_all(bytes).await.is_err() {
                        return;
                    }
                    tokio::time::sleep(apart).await;
                }
            });
        }
    });
    (port, requests)
}

fn http_response(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

fn redirect(to: &str) -> Vec<u8> {
    http_response("302 Found", &format!("location: {to}\r\n"), "")
}

fn request_count(log: &RequestLog) -> usize {
    log.lock().expect("no thread panicked").len()
}

#[test]
fn addresses_that_are_not_the_webs() {
    for closed in [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a00:1",
        "64:ff9b:1::1",
        "fe80::1",
        "fc00::1",
        "fd12::1",
        "fec0::1",
        "ff02::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
        "100::1",
        "5f00::1",
    ] {
        assert!(!is_public(&closed.parse().expect(closed)), "{closed}");
    }
    for open in [
        "1.1.1.1",
        "172.32.0.1",
        "192.0.1.1",
        "::ffff:1.1.1.1",
        "64:ff9b::101:101",
        "2606:4700::1",
        "2a00::1",
    ] {
        assert!(is_public(&open.parse().expect(open)), "{open}");
    }
}

#[tokio::test]
async fn no_spelling_of_this_machine_is_fetched() {
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "017700000001",
        "0177.0.0.1",
        "127.0.0.1.",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:7f00:0001]",
        "①②⑦.⓪.⓪.①",
        "0",
        "0.0.0.0",
        "[::]",
        "169.254.169.254",
        "[fe80::1]",
        "%31%32%37.0.0.1",
    ] {
        let url = parse_address(&format!("https://{host}/"), false).expect(host);
        let refused =
            permitted_addresses(&url, &FakeResolver(Mutex::default()), is_public).await.expect_err(host);
        assert!(refused.contains("that is not fetched"), "{host}: {refused}");
    }
    // Looked up by the system's own resolver.
    for name in ["localhost", "LOCALHOST", "localhost."] {
        let refused =
            Fetcher::new(false).fetch(&format!("https://{name}/")).await.expect_err(name).to_string();
        assert!(refused.contains("not fetched") || refused.contains("no host"), "{name}: {refused}");
    }
}

#[tokio::test]
async fn what_is_no_plain_address_is_refused() {
    for (address, words) in [
        ("http://example.org/", "only https is fetched"),
        ("file:///etc/passwd", "file is not fetched"),
        ("ftp://example.org/", "ftp is not fetched"),
        ("data:text/html,x", "data is not fetched"),
        ("gopher://127.0.0.1:6379/_x", "gopher is not fetched"),
        ("javascript:1", "javascript is not fetched"),
        ("https://user:pass@example.org/", "a name or a password"),
        ("https://1.1.1.1@127.0.0.1/", "a name or a password"),
        ("example.org", "no whole address"),
        ("https://", "no whole address"),
        ("", "no whole address"),
    ] {
        let refused = Fetcher::new(false).fetch(address).await.expect_err(address).to_string();
        assert!(refused.contains(words), "{address}: {refused}");
    }
    let long = format!("https://example.org/{}", "a".repeat(9_000));
    assert!(parse_address(&long, false).is_err_and(|why| why.contains("8192 bytes")));
}

#[tokio::test]
async fn a_page_is_given_as_text() {
    let html = "<html><head><title>T</title><script>steal()</script><style>a{}</style></head><body><h1>Fish</h1>\
                <p>Cod &amp; chips,<br>caf\u{e9} \u{202e}\u{1b}[2J.</p><table><tr><td>a<td>b</table></body></html>";
    let (port, log) = serve(WEB, 0, move |path, _| {
        let headers = "content-type: text/html; charset=utf-8\r\n";
        let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/plain; charset=iso-8859-1\r\ncontent-length: 4\r\n\r\n";
        let latin = [head.as_bytes(), b"caf\xe9"].concat();
        let bytes = match path {
            "/old" => redirect("/new?x=1#part"),
            "/latin" => latin,
            "/none" => http_response("404 Not Found", headers, "gone"),
            _ => http_response("200 OK", headers, html),
        };
        (bytes, None)
    })
    .await;
    let fetcher = fetcher([vec![WEB]]);
    let page = fetcher.fetch(&format!("http://docs.test:{port}/old")).await.expect("a page");
    let told = page.render(20_000, 30_000);
    assert!(told.starts_with(&format!("http://docs.test:{port}/new?x=1#part\n\n")), "{told}");
    assert!(told.contains("Fish") && told.contains("Cod & chips,\ncaf\u{e9} ."), "{told:?}");
    assert!(!told.contains("steal") && !told.contains("a{}"), "{told}");
    let head = log.lock().expect("no thread panicked")[0].to_lowercase();
    assert!(head.contains(&format!("host: docs.test:{port}")) && !head.contains("accept-encoding"), "{head}");
    assert!(!head.contains("cookie") && !head.contains("authorization"), "{head}");
    let latin = fetcher.fetch(&format!("http://docs.test:{port}/latin")).await.expect("a page");
    assert_eq!(latin.text, "caf\u{e9}");
    let refused = fetcher.fetch(&format!("http://docs.test:{port}/none")).await.expect_err("404").to_string();
    assert_eq!(refused, "it answered 404 Not Found");
    assert!(page.render(10, 30_000).ends_with("[cut: this is the beginning of the page]"));
}

#[tokio::test]
async fn a_redirect_leads_nowhere_but_to_the_web() {
    let (own_port, own) =
        serve(OWN, 0, |_, _| (http_response("200 OK", "content-type: text/plain\r\n", "secret"), None)).await;
    for to in [
        format!("http://127.0.0.1:{own_port}/"),
        format!("http://2130706433:{own_port}/"),
        format!("http://[::ffff:127.0.0.1]:{own_port}/"),
        format!("//127.0.0.1:{own_port}/"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "http://user@example.org/".to_owned(),
        "http://[::1".to_owned(),
    ] {
        let target = to.clone();
        let (port, _) = serve(WEB, 0, move |_, _| (redirect(&target), None)).await;
        let refused =
            fetcher([vec![WEB]]).fetch(&format!("http://a.test:{port}/")).await.expect_err(&to).to_string();
        assert!(!refused.contains("secret"), "{to}: {refused}");
    }
    assert_eq!(request_count(&own), 0, "this machine was not asked");
    // A redirect in a circle.
    let (port, log) = serve(WEB, 0, |_, _| (redirect("/again"), None)).await;
    let refused = fetcher([vec![WEB]])
        .fetch(&format!("http://a.test:{port}/"))
        .await
        .expect_err("a circle")
        .to_string();
    assert_eq!((refused.as_str(), request_count(&log)), ("it redirects more than 5 times", 6));
    // A redirect from an encrypted address to one that is not.
    let plain = Fetcher { http: false, ..fetcher([vec![WEB]]) };
    assert!(
        plain.fetch("http://a.test/").await.expect_err("not encrypted").to_string().contains("only https")
    );
}

/// A name is looked up once for each request, and the result of that lookup is what is connected to.
#[tokio::test]
async fn a_name_that_changes_its_address_gains_nothing() {
    let (port, web) = serve(WEB, 0, |path, _| {
        (
            if path == "/go" {
                redirect("/next")
            } else {
                http_response("200 OK", "content-type: text/plain\r\n", "web")
            },
            None,
        )
    })
    .await;
    let (_, own) =
        serve(OWN, port, |_, _| (http_response("200 OK", "content-type: text/plain\r\n", "secret"), None))
            .await;
    let address = format!("http://rebind.test:{port}/");
    // The name belongs to the web when it is checked, and to this machine from then on.
    let fetched = fetcher([vec![WEB], vec![OWN]]).fetch(&address).await.expect("what was checked");
    assert_eq!((fetched.text.as_str(), request_count(&web)), ("web", 1));
    // The next request of a redirect is checked again.
    let refused = fetcher([vec![WEB], vec![OWN]])
        .fetch(&format!("{address}go"))
        .await
        .expect_err("a redirect")
        .to_string();
    assert!(refused.contains("127.0.0.1, which is this machine"), "{refused}");
    // One closed address closes the name.
    for both in [vec![WEB, OWN], vec![OWN, WEB], vec![]] {
        fetcher([both]).fetch(&address).await.expect_err("a closed address").to_string();
    }
    assert_eq!(request_count(&own), 0, "this machine was not asked");
}

#[tokio::test]
async fn no_answer_takes_more_than_its_limits() {
    const CHUNK: &[u8] = &[b'x'; 16 * 1024];
    let head = |headers: &str| format!("HTTP/1.1 200 OK\r\n{headers}\r\n").into_bytes();
    let text = "content-type: text/plain\r\n";
    let now = Duration::ZERO;
    let slow = Duration::from_millis(20);
    // An endless body is cut.
    let (port, _) = serve(WEB, 0, move |_, _| (head(text), Some((CHUNK, now)))).await;
    let fetched = fetcher([vec![WEB]]).fetch(&format!("http://a.test:{port}/")).await.expect("its beginning");
    assert_eq!((fetched.text.len(), fetched.is_whole), (100_000, false));
    // A body, a header and a redirect that come very slowly.
    let hasty = || {
        let limits = FetchLimits { time: Duration::from_millis(400), bytes: 100_000, redirects: 5 };
        Fetcher { limits, ..fetcher([vec![WEB]]) }
    };
    for beginning in [head(text), b"HTTP/1.1 200 OK\r\nx: ".to_vec(), Vec::new()] {
        let (port, _) = serve(WEB, 0, move |_, _| (beginning.clone(), Some((b"a", slow)))).await;
        let refused =
            hasty().fetch(&format!("http://a.test:{port}/")).await.expect_err("too slow").to_string();
        assert!(refused == "it was not there within 0.4 s" || refused.contains("invalid HTTP"), "{refused}");
    }
    // Compressed answers may have any size once they are unpacked.
    for coding in ["gzip", "br", "deflate, gzip", "zstd"] {
        let headers = format!("{text}content-encoding: {coding}\r\n");
        let (port, _) =
            serve(WEB, 0, move |_, _| (http_response("200 OK", &headers, "\u{1f}bomb"), None)).await;
        let refused = fetcher([vec![WEB]])
            .fetch(&format!("http://a.test:{port}/"))
            .await
            .expect_err(coding)
            .to_string();
        assert!(refused.contains("compressed"), "{refused}");
    }
}

#[tokio::test]
async fn only_text_and_html_are_read() {
    for (content_type, kind) in [
        ("text/html", Some(Kind::Html)),
        ("Text/HTML; charset=x", Some(Kind::Html)),
        ("application/xhtml+xml", Some(Kind::Html)),
        ("text/markdown", Some(Kind::Text)),
        ("application/json", Some(Kind::Text)),
        ("application/problem+json", Some(Kind::Text)),
        ("application/octet-stream", None),
        ("image/svg+xml", None),
        ("image/png", None),
        ("video/mp4; text/html", None),
        ("", None),
    ] {
        assert_eq!(Kind::of(content_type), kind, "{content_type}");
    }
    for headers in ["content-type: image/png\r\n", ""] {
        let (port, _) = serve(WEB, 0, move |_, _| (http_response("200 OK", headers, "<p>x"), None)).await;
        let refused = fetcher([vec![WEB]])
            .fetch(&format!("http://a.test:{port}/"))
            .await
            .expect_err(headers)
            .to_string();
        assert!(refused.contains("only text and HTML are read"), "{refused}");
    }
    let (port, _) =
        serve(WEB, 0, |_, _| (http_response("200 OK", "content-type: text/plain\r\n", "a\0b"), None)).await;
    let refused =
        fetcher([vec![WEB]]).fetch(&format!("http://a.test:{port}/")).await.expect_err("binary").to_string();
    assert!(refused.contains("binary"), "{refused}");
}

/// HTML that is made to exhaust a parser that builds a tree.
#[test]
fn hostile_html_takes_no_longer_than_any() {
    let pages = [
        "<div>".repeat(75_000),
        "<table><tr><td>".repeat(15_000),
        "<b><i><a>".repeat(25_000),
        "<".repeat(250_000),
        "&#x41;".repeat(50_000),
        "<svg>".repeat(50_000),
        "<!--".repeat(75_000),
        "<script><!--<script>".repeat(20_000),
        format!("<p {}>", "a=b ".repeat(100_000)),
        format!("<p>{}", "\u{0301}".repeat(125_000)),
        format!("<pre>{}", " ".repeat(375_000)),
        "</p>".repeat(75_000),
        "<h1>".repeat(75_000),
    ];
    for page in pages {
        let start: String = page.chars().take(20).collect();
        let begun = std::time::Instant::now();
        let page = Page::of("x".to_owned(), Kind::Html, "text/html", page.as_bytes(), true).expect(&start);
        // Some seconds, for a build without optimisation on a busy machine; building a tree takes minutes.
        assert!(begun.elapsed() < Duration::from_secs(20), "{start}: {:?}", begun.elapsed());
        assert!(page.render(super::MAX_CHARS, 100_000).chars().count() < super::MAX_CHARS + 100, "{start}");
    }
}

fn search(url: String, request: SearchRequest) -> Search {
    let config = SearchConfig {
        url,
        request,
        headers: vec![("x-key".to_owned(), "k-123".to_owned())],
        results: "/web/results".to_owned(),
        title: "/title".to_owned(),
        link: "/url".to_owned(),
        text: "/said/0".to_owned(),
    };
    Search::new(config).expect("a search")
}

#[tokio::test]
async fn a_search_gives_five_results_by_their_pointers() {
    let result = |number: usize| json!({"title": format!("T{number}\u{1b}[2J"), "url": format!("https://a.test/{number}"), "said": [if number == 1 { "x".repeat(9_000) } else { "A <b>bold</b> word".to_owned() }]});
    let answer = json!({"web": {"results": (0..9).map(result).collect::<Vec<_>>()}}).to_string();
    let (port, log) = serve(OWN, 0, move |_, _| {
        (http_response("200 OK", "content-type: application/json\r\n", &answer), None)
    })
    .await;
    let by_address = search(format!("http://127.0.0.1:{port}/s?q={{query}}&n=5"), SearchRequest::Get);
    let (told, items) = by_address.ask("a b&c=d#e/é").await.expect("results").into_parts();
    let first = (&*items[0].name, items[0].uri.clone());
    assert_eq!((items.len(), first), (5, ("T0", Some(ItemUri::Url("https://a.test/0".to_owned())))));
    assert!(told.starts_with("T0\nhttps://a.test/0\nA bold word\n\nT1\nhttps://a.test/1\nxxx"), "{told}");
    assert_eq!((told.matches("https://a.test/").count(), told.matches("x\n[cut]").count()), (5, 1));
    assert!(told.chars().filter(|sign| *sign == 'x').count() == 8_000 && !told.contains('\u{1b}'));
    let head = log.lock().expect("no thread panicked")[0].clone();
    assert!(head.starts_with("GET /s?q=a%20b%26c%3Dd%23e%2F%C3%A9&n=5 HTTP"), "{head}");
    assert!(head.contains("x-key: k-123"), "{head}");
    let body = json!({"q": "{query}", "n": 5, "in": ["{query} too"]});
    let by_body = search(format!("http://127.0.0.1:{port}/s"), SearchRequest::Post(body));
    by_body.ask("\"a\"").await.expect("results");
    assert!(log.lock().expect("no thread panicked")[1].starts_with("POST /s HTTP"));
}

#[tokio::test]
async fn a_search_that_fails_says_how() {
    for (status, body, words) in [
        ("200 OK", "{}", "nothing at \"/web/results\", where `results` in [web]"),
        ("200 OK", "{\"web\": {\"results\": 5}}", "no list at \"/web/results\""),
        ("200 OK", "<html>", "no JSON"),
        ("401 Unauthorized", "{\"error\": \"bad key\"}", "401 Unauthorized: {\"error\": \"bad key\"}"),
        ("302 Found", "", "302 Found"),
    ] {
        let (port, _) = serve(OWN, 0, move |_, _| {
            (http_response(status, "location: http://127.0.0.1:1/\r\n", body), None)
        })
        .await;
        let failed =
            search(format!("http://127.0.0.1:{port}/?q={{query}}"), SearchRequest::Get).ask("x").await;
        assert!(failed.as_ref().is_err_and(|why| why.to_string().contains(words)), "{failed:?}");
    }
    let (port, _) =
        serve(OWN, 0, |_, _| (http_response("200 OK", "", "{\"web\": {\"results\": []}}"), None)).await;
    let found = search(format!("http://127.0.0.1:{port}/?q={{query}}"), SearchRequest::Get).ask("x").await;
    assert_eq!(found.map(ToolOutput::into_text).as_deref(), Ok("[nothing was found]"));
}
