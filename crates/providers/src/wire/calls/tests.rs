use serde_json::json;

use super::*;

/// Pieces of calls: index, id, name, characters of the arguments.
type Pieces<'a> = &'a [(Option<u64>, &'a str, &'a str, &'a str)];

fn read(pieces: Pieces<'_>) -> Vec<(String, String)> {
    let mut calls = Calls::default();
    for (index, id, name, letters) in pieces {
        calls.add(CallFragment {
            index: *index,
            id: (*id).into(),
            name: (*name).into(),
            arguments: Some(Value::from(*letters)).into(),
            ..CallFragment::default()
        });
    }
    let calls = calls.take(&mut HashSet::new()).unwrap().0;
    calls.into_iter().map(|call| (call.name, Value::Object(call.args).to_string())).collect()
}

/// Servers give calls wrong indices or none. A name after complete arguments shows that another call begins.
#[test]
fn a_name_behind_complete_arguments_begins_another_call() {
    let cases: [(Pieces<'_>, &[(&str, Value)]); 8] = [
        // Two calls without ids and with the same index, each in one piece.
        (
            &[(Some(0), "", "ls", r#"{"path":"."}"#), (Some(0), "", "grep", r#"{"pattern":"x"}"#)],
            &[("ls", json!({"path": "."})), ("grep", json!({"pattern": "x"}))],
        ),
        // Two calls of the same tool, in pieces, without indices.
        (
            &[
                (None, "", "ls", r#"{"pa"#),
                (None, "", "", r#"th":"a"}"#),
                (None, "", "ls", ""),
                (None, "", "", r#"{"path""#),
                (None, "", "", r#":"b"}"#),
            ],
            &[("ls", json!({"path": "a"})), ("ls", json!({"path": "b"}))],
        ),
        // Only the first piece has an id.
        (
            &[(Some(0), "x", "ls", "{}"), (Some(0), "", "grep", "{}")],
            &[("ls", json!({})), ("grep", json!({}))],
        ),
        // If the name is repeated with every piece, it is one call, even if a piece is empty.
        (
            &[(Some(0), "x", "ls", r#"{"a""#), (Some(0), "x", "ls", ":1}"), (Some(0), "x", "ls", "")],
            &[("ls", json!({"a": 1}))],
        ),
        (
            &[(Some(0), "", "ls", r#"{"a""#), (Some(0), "", "ls", ":1}"), (Some(0), "", "ls", "")],
            &[("ls", json!({"a": 1}))],
        ),
        // A closing brace within the arguments is not their end.
        (
            &[
                (Some(0), "", "ls", r#"{"a":{}"#),
                (Some(0), "", "ls", r#","b":"}""#),
                (Some(0), "", "ls", "}"),
            ],
            &[("ls", json!({"a": {}, "b": "}"}))],
        ),
        // Correct indices tell the calls apart.
        (
            &[(Some(0), "", "ls", "{"), (Some(1), "", "grep", "{}"), (Some(0), "", "", "}")],
            &[("ls", json!({})), ("grep", json!({}))],
        ),
        (&[(Some(0), "", "ls", ""), (Some(0), "", "", "{}")], &[("ls", json!({}))]),
    ];
    for (pieces, expected) in cases {
        let expected: Vec<_> =
            expected.iter().map(|(name, args)| ((*name).to_owned(), args.to_string())).collect();
        assert_eq!(read(pieces), expected, "{pieces:?}");
    }
}
