//! The addresses by which servers name files.

use headstart_workspace_path::WorkspacePath;

/// What an address names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UriTarget {
    /// A path of the workspace.
    Inside(WorkspacePath),
    /// Something else, of which only the last name is kept, because a model need not know paths of this machine.
    Outside(String),
}

/// The address of a path below `root`, the absolute path of the workspace.
pub fn uri_of(root: &str, path: &WorkspacePath) -> String {
    let mut uri = String::from("file://");
    push_encoded(&mut uri, root.trim_end_matches('/').as_bytes());
    if !path.is_root() {
        uri.push('/');
        push_encoded(&mut uri, path.as_bytes());
    }
    uri
}

/// What an address names, however the server spells it.
///
/// A path with a `..` counts as outside, wherever it leads, because a server has no reason to write one.
pub fn target_of(root: &str, uri: &str) -> UriTarget {
    let outside = |path: &str| {
        let name = path.rsplit(['/', '\\']).find(|name| !name.is_empty()).unwrap_or(path);
        UriTarget::Outside(name.chars().filter(|character| !character.is_control()).take(100).collect())
    };
    let Some(rest) = uri.strip_prefix("file://") else { return outside(uri) };
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let Some(path) = decoded(rest) else { return outside(rest) };
    if !path.starts_with('/') || path.split('/').any(|name| name == "..") {
        return outside(&path);
    }
    match WorkspacePath::resolve(&path, root) {
        Ok(path) => UriTarget::Inside(path),
        Err(_) => outside(&path),
    }
}

fn push_encoded(uri: &mut String, bytes: &[u8]) {
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(*byte));
            }
            _ => {
                uri.push('%');
                for half in [byte >> 4, byte & 15] {
                    uri.push(char::from_digit(u32::from(half), 16).unwrap_or('0').to_ascii_uppercase());
                }
            }
        }
    }
}

/// The decoded text; `None` if it is not UTF-8, or has a `%` without a number.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut half = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        let (high, low) = (half()?, half()?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_back_to_their_paths() {
        for path in ["src/main.rs", "a b/ü#?.py", "x%20y", "[id]/page@2.tsx", "👩‍💻"] {
            let path = WorkspacePath::parse(path).unwrap();
            for root in ["/home/ada/my project", "/"] {
                assert_eq!(
                    target_of(root, &uri_of(root, &path)),
                    UriTarget::Inside(path.clone()),
                    "{path} in {root}"
                );
            }
        }
        assert_eq!(uri_of("/w", &WorkspacePath::root()), "file:///w");
        assert_eq!(uri_of("/w p", &WorkspacePath::parse("ä.rs").unwrap()), "file:///w%20p/%C3%A4.rs");
    }

    /// An address outside the workspace, however it is spelled, is never a path. Only its last name is shown.
    #[test]
    fn what_leaves_the_workspace_is_only_a_name() {
        let cases = [
            ("file:///etc/passwd", "passwd"),
            ("file:///w/../etc/shadow", "shadow"),
            ("file:///w/a/%2e%2e/%2e%2e/etc/x", "x"),
            ("file:///wx/a", "a"),
            ("file:relative", "file:relative"),
            ("file://host/w/a", "a"),
            ("jdt://contents/rt.jar/java.lang/String.class", "String.class"),
            ("untitled:1", "untitled:1"),
            ("file:///w/%zz", "%zz"),
            ("file:///w/%ff", "%ff"),
            ("", ""),
        ];
        for (uri, name) in cases {
            assert_eq!(target_of("/w", uri), UriTarget::Outside(name.to_owned()), "{uri}");
        }
        let spelled = target_of("/w", "file://localhost/w/a%2Db");
        assert_eq!(spelled, UriTarget::Inside(WorkspacePath::parse("a-b").unwrap()));
    }
}
