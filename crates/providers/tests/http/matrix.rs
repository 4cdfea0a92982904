//! Every fault with every wire format: there is no panic, nothing hangs, the end is right, and what came before it is
//! kept.

use std::time::Duration;

use futures::future::join_all;

use crate::Events;
use crate::formats::{Format, PATIENCE, answer, error, formats, short, without_errors};
use crate::server::{Server, Step, response, streaming_as};

/// A way in which a server fails, with a script that makes a server fail in this way.
struct Fault {
    name: &'static str,
    script: fn(&Format) -> Vec<Step>,
    end: End,
}

/// What a client must make of the fault.
enum End {
    /// The whole answer, because the fault does not matter.
    Whole,
    /// The events that the decoder alone makes of these bytes.
    As(fn(&Format) -> Vec<u8>),
    /// The first half of the events, and an error that begins with these words.
    Half(&'static str),
    /// Only an error that begins with these words.
    Error(&'static str),
}

const CUT: &str = "cut the answer short; try again";
const DROPPED: &str = "closed the connection before it answered; try again";

const FAULTS: &[Fault] = &[
    Fault {
        name: "a byte at a time",
        script: |format| ended(format.chunks(format.stream().as_bytes().chunks(1))),
        end: End::Whole,
    },
    Fault {
        name: "slowly, longer in all than silence may be",
        script: |format| {
            let mut drip = format.chunks(format.stream().as_bytes().chunks(5));
            for place in [3, 60, 120, 130] {
                drip.insert(place, Step::Wait(Duration::from_millis(600)));
            }
            ended(drip)
        },
        end: End::Whole,
    },
    Fault {
        name: "everything in one piece, and no end of the body",
        script: |format| format.chunks([format.stream().as_bytes()]),
        end: End::Whole,
    },
    Fault {
        name: "every event twice",
        script: |format| format.whole(&twice(format)),
        end: End::As(|format| twice(format).concat().into_bytes()),
    },
    Fault { name: "hangs up in the middle", script: |format| first_half(format), end: End::Half(CUT) },
    Fault {
        name: "ends the body in the middle",
        script: |format| ended(first_half(format)),
        end: End::Half(CUT),
    },
    Fault {
        name: "resets the connection in the middle",
        // The wait gives the chunks time to arrive, because a reset may overtake them.
        script: |format| then(first_half(format), [Step::Wait(Duration::from_millis(200)), Step::Reset]),
        end: End::Half(CUT),
    },
    Fault { name: "resets the connection at once", script: |_| vec![Step::Reset], end: End::Error(DROPPED) },
    Fault { name: "closes the connection at once", script: |_| vec![], end: End::Error(DROPPED) },
    Fault { name: "closes it after the head", script: |format| format.chunks([]), end: End::Error(DROPPED) },
    Fault {
        name: "breaks the framing of the body",
        script: |format| then(first_half(format), [Step::Raw(b"zz\r\n".to_vec())]),
        end: End::Half(CUT),
    },
    Fault {
        name: "promises more bytes than come",
        script: |format| sized(format, &half(format), 100_000),
        end: End::Half(CUT),
    },
    Fault {
        name: "promises more bytes than the whole answer has",
        script: |format| sized(format, &format.stream(), 100_000),
        end: End::Whole,
    },
    Fault {
        name: "promises fewer bytes than come",
        script: |format| sized(format, &format.stream(), half(format).len()),
        end: End::Half(CUT),
    },
    Fault {
        name: "an event that is broken",
        script: |format| {
            let broken = format.frame("{\"choices\":[");
            then(first_half(format), [Step::Chunk(broken), Step::LastChunk])
        },
        end: End::Half("sent a malformed answer: EOF while parsing"),
    },
    Fault {
        name: "bytes that are no text",
        script: |format| {
            then(first_half(format), [Step::Chunk(b"data: \xff\xff\n\n".to_vec()), Step::LastChunk])
        },
        end: End::Half("sent a malformed answer: the stream is not UTF-8"),
    },
    Fault {
        name: "an error in the middle",
        script: |format| {
            let error = format.frame(r#"{"error":{"message":"no power: sk-test-secret","code":503}}"#);
            then(first_half(format), [Step::Chunk(error), Step::LastChunk])
        },
        end: End::Half("failed (503): no power: ***; try again later"),
    },
    Fault {
        name: "a line of 16 MB",
        script: |format| {
            let mut line = format.frame("");
            line.truncate(line.len().saturating_sub(1));
            line.resize(16 * 1024 * 1024, b'x');
            then(first_half(format), [Step::Chunk(line), Step::LastChunk])
        },
        end: End::Half("sent a malformed answer: an event is longer than 8 MiB"),
    },
    Fault {
        name: "empty events without end, slowly",
        script: |format| then(first_half(format), [Step::ForEver(empty(format), Duration::from_millis(20))]),
        end: End::Half("sent nothing for 3 s; try again"),
    },
    Fault {
        name: "empty events without end, as fast as it can",
        script: |format| then(first_half(format), [Step::ForEver(empty(format).repeat(100), Duration::ZERO)]),
        // Either limit may be reached first: that of time, or that of the length of an answer.
        end: End::Half("sent "),
    },
    Fault {
        name: "silence in place of an answer",
        script: |_| vec![Step::Wait(PATIENCE)],
        // The wait for the first bytes of an answer has a limit.
        end: End::Error("sent nothing for 1.5 s; try again"),
    },
    Fault {
        name: "silence after the head",
        script: |format| vec![streaming_as(format.kind), Step::Wait(PATIENCE)],
        end: End::Error("sent nothing for 1.5 s; try again"),
    },
    Fault {
        name: "silence in the middle",
        script: |format| then(first_half(format), [Step::Wait(PATIENCE)]),
        end: End::Half("sent nothing for 1.5 s; try again"),
    },
    Fault {
        name: "silence after the end",
        script: |format| then(format.chunks([format.stream().as_bytes()]), [Step::Wait(PATIENCE)]),
        end: End::Whole,
    },
];

fn then(mut steps: Vec<Step>, more: impl IntoIterator<Item = Step>) -> Vec<Step> {
    steps.extend(more);
    steps
}

fn ended(steps: Vec<Step>) -> Vec<Step> {
    then(steps, [Step::LastChunk])
}

fn half(format: &Format) -> String {
    format.pieces[..format.pieces.len() / 2].concat()
}

fn first_half(format: &Format) -> Vec<Step> {
    format.chunks(format.pieces[..format.pieces.len() / 2].iter().map(String::as_bytes))
}

fn twice(format: &Format) -> Vec<String> {
    format.pieces.iter().flat_map(|piece| [piece.clone(), piece.clone()]).collect()
}

/// An answer with this body and a promised length.
fn sized(format: &Format, body: &str, length: usize) -> Vec<Step> {
    let head =
        format!("HTTP/1.1 200 OK\r\ncontent-type: {}\r\ncontent-length: {length}\r\n\r\n", format.kind);
    vec![Step::Raw(head.into_bytes()), Step::Raw(body.as_bytes().to_vec())]
}

/// An event of the format without content, together with signs of life.
fn empty(format: &Format) -> Vec<u8> {
    let event = match format.name() {
        "anthropic" => r#"{"type":"ping"}"#,
        "gemini" => r#"{"candidates":[{"content":{"parts":[{"text":""}]}}]}"#,
        "responses" => r#"{"type":"response.in_progress"}"#,
        "ollama" => r#"{"message":{"content":""},"done":false}"#,
        _ => r#"{"choices":[{"index":0,"delta":{"content":""}}]}"#,
    };
    let signs: &[u8] = if format.name() == "ollama" { b"\n\n" } else { b": still here\n\n\n\n" };
    [&format.frame(event), signs].concat()
}

fn check(format: &Format, fault: &Fault, events: &Events) {
    let place = format!("{}, {}", format.name(), fault.name);
    let (kept, says) = match &fault.end {
        End::Whole => return assert_eq!(*events, format.whole_answer(), "{place}"),
        End::As(bytes) => return assert_eq!(*events, format.decoded(&bytes(format)), "{place}"),
        End::Half(says) => (format.decoded(half(format).as_bytes()), says),
        End::Error(says) => (Vec::new(), says),
    };
    assert_eq!(without_errors(events), without_errors(&kept), "{place}");
    assert!(error(events).starts_with(says), "{place}: {}", error(events));
}

#[tokio::test]
async fn every_fault_with_every_format() {
    let formats = formats();
    for fault in FAULTS {
        let run = formats.iter().map(|format| async move {
            check(format, fault, &format.against_within((fault.script)(format), short()).await);
        });
        join_all(run).await;
    }
}

/// The answer is cut between any two events, and in the middle of events.
#[tokio::test]
async fn cut_anywhere() {
    let formats = formats();
    let cut = |format: &Format, end: usize| {
        let expected = format.decoded(&format.stream().as_bytes()[..end]);
        let script =
            format.chunks([&format.stream().as_bytes()[..end]].into_iter().filter(|bytes| !bytes.is_empty()));
        (script, expected)
    };
    for format in &formats {
        let events = format.pieces.iter().scan(0, |end, piece| {
            *end += piece.len();
            Some(*end)
        });
        // Places without a pattern, which are the same in every run.
        let length = format.stream().len();
        let anywhere = (1..=60_usize).map(|number| number.wrapping_mul(2_654_435_761) % length);
        let ends: Vec<usize> = [0].into_iter().chain(events).chain(anywhere).collect();
        let run = ends.iter().map(|end| async move {
            let (script, expected) = cut(format, *end);
            let events = format.against(script).await;
            let place = format!("{} at {end}", format.name());
            assert_eq!(without_errors(&events), without_errors(&expected), "{place}");
            assert_eq!(events.len(), expected.len(), "{place}");
            if expected.iter().any(Result::is_err) {
                assert_eq!(error(&events), if *end == 0 { DROPPED } else { CUT }, "{place}");
            }
        });
        join_all(run).await;
    }
}

/// If a storm of refusals passes, only its time is noticed. If it stays, the request ends with the provider's own
/// words.
#[tokio::test]
async fn storms_of_429() {
    let busy = r#"{"error":{"message":"busy"}}"#;
    let refusal = |headers: &str| response("429 Too Many Requests", headers, busy);
    for format in formats() {
        let scripts = [refusal(""), refusal("retry-after: 0\r\n"), refusal("retry-after-ms: 3\r\n")];
        let server = Server::start_each([&scripts[..], &[format.whole(&format.pieces)]].concat()).await;
        assert_eq!(answer(&format.retrying(&server)).await, format.whole_answer(), "{}", format.name());
        let requests = server.requests();
        assert_eq!(requests.len(), 4, "{}", format.name());
        assert!(requests.iter().all(|request| request.1 == requests[0].1), "the same bytes each time");

        let server = Server::start(refusal("retry-after: 0\r\n")).await;
        let events = answer(&format.retrying(&server)).await;
        let says = "limits the rate of requests; retry after 0 s; it says: busy";
        assert_eq!((error(&events).as_str(), server.requests().len()), (says, 21), "{}", format.name());
    }
}
