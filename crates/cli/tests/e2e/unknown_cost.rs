//! Holds what is said of the cost of work if the server does not state it.

use std::fs;

use serde_json::{Value, json};

use crate::formats::{FORMATS, KEY};
use crate::support::Session;
use crate::support::server::Server;

#[test]
fn a_cost_that_is_not_told_is_counted_as_unknown_and_is_no_money() {
    let format = FORMATS.iter().find(|format| format.prefix == "openai").unwrap();
    let session = Session::with_project().variable(format.variable, KEY);
    let prices = format!("[models.'{}'.prices]\ninput = 1\noutput = 10\n", format.model());
    session.write("home/.config/headstart/config.toml", prices);
    let chunk = |delta: Value, finish: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let says = |text: &str| {
        format.framed(&[chunk(json!({"content": text}), Value::Null), chunk(json!({}), json!("stop"))])
    };
    let server = Server::start(vec![says("A greeting."), says(r#"{"suggestion":"run the tests"}"#)]);
    let (model, url) = (format.model(), &server.base_url);
    let outcome = session.run(&["speculate", "--json", "--model", &model, "--base-url", url, "say hello"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(outcome.finished()["usage"]["untoldRequests"], server.requests().len(), "{outcome}");
    let ledger = fs::read_to_string(session.ledger()).unwrap();
    let lines: Vec<Value> = ledger.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["untoldRequests"] == 1 || line["untoldRequests"] == 2), "{ledger}");
    assert!(lines.iter().all(|line| line.get("money").is_none()), "what is not known is not 0: {ledger}");
    let stats = session.run(&["stats"]);
    assert!(stats.stdout.contains("cost is not known"), "{stats}");
}
