use proptest::prelude::*;
use serde_json::json;

use super::*;

fn file(path: &str, content: &str) -> ContextItem {
    ContextItem::of_file(&WorkspacePath::parse(path).unwrap(), None, content.to_owned())
}

#[test]
fn the_model_reads_the_contents_and_how_a_command_ended() {
    let failed = |content: &str| ContextItem { status: Some("exit code 1".to_owned()), ..file("a", content) };
    let cases = [
        (vec![], ""),
        (vec![file("a", "one"), file("b", ""), file("c", "two")], "one\n\ntwo"),
        (vec![file("a", "a:1:x\n"), file("b", "b:2:y")], "a:1:x\nb:2:y"),
        (vec![failed("no such test"), file("b", "two")], "no such test\n[Status: exit code 1]\n\ntwo"),
        (vec![failed("no such test\n[exit code 1]")], "no such test\n[exit code 1]"),
    ];
    for (items, text) in cases {
        let output = ToolOutput::of(items);
        assert_eq!(output.text(), text);
        assert!(output.into_parts().1.iter().all(|item| !item.content.is_empty()));
    }
}

#[test]
fn only_a_place_of_the_workspace_is_a_file() {
    let lines = Some((3, 4));
    let path = WorkspacePath::parse("src/a.rs").unwrap();
    let inside = ItemUri::File { path: path.clone(), lines: None };
    assert_eq!(ItemUri::of("file:///home/ada/project/src/a.rs", "/home/ada/project"), inside);
    for uri in [
        "file:///home/ada/project/../.ssh/id_rsa",
        "file:///home/ada/project/%2e%2e/secret",
        "file:///home/ada/projects/src/a.rs",
        "file:///etc/passwd",
        "https://example.org/src/a.rs",
        "src/a.rs",
    ] {
        assert_eq!(ItemUri::of(uri, "/home/ada/project"), ItemUri::Url(uri.to_owned()), "{uri}");
    }
    let read = |json| serde_json::from_value::<ItemUri>(json).unwrap();
    assert_eq!(
        read(json!({"type": "file", "value": "src/a.rs", "lines": [3, 4]})),
        ItemUri::File { path, lines }
    );
    for outside in ["../a.rs", "/etc/passwd", "a/../../b"] {
        let uri = read(json!({"type": "file", "value": outside}));
        assert_eq!(uri, ItemUri::Url(outside.to_owned()));
    }
}

#[test]
fn what_is_too_long_is_cut_with_its_items() {
    let items = [file("a", &"a".repeat(60)), file("b", &"b".repeat(60)), file("c", "c")];
    let (text, items) = ToolOutput::of(items).truncated(100).into_parts();
    assert_eq!(text, format!("{}\n\n{}\n[cut after 40 of 60 bytes]", "a".repeat(60), "b".repeat(40)));
    assert_eq!(items.len(), 2);
}

fn a_uri() -> impl Strategy<Value = ItemUri> {
    let file = ("[a-zé ]{1,4}(/[a-z.]{1,3}x){0,2}", proptest::option::of((1_u32..9, 1_u32..9)));
    prop_oneof![
        file.prop_filter_map("a path", |(path, lines)| {
            Some(ItemUri::File { path: WorkspacePath::parse(&path).ok()?, lines })
        }),
        ".{0,12}".prop_map(ItemUri::Url),
    ]
}

proptest! {
    #[test]
    fn an_item_is_read_as_it_was_written(
        (name, description, content) in (".{0,8}", ".{0,8}", ".{0,20}"),
        uri in proptest::option::of(a_uri()),
        status in proptest::option::of(".{0,8}"),
        hidden: bool,
    ) {
        let item = ContextItem { name, description, content, uri, status, hidden };
        let json = serde_json::to_string(&item).unwrap();
        prop_assert_eq!(serde_json::from_str::<ContextItem>(&json).unwrap(), item);
    }
}
