//! Whether a configuration of git holds a password or a token.

/// Parts of the names of keys whose values are given to a server, or are passwords themselves.
const KEYS: [&str; 8] =
    ["extraheader", "password", "passwd", "passphrase", "token", "secret", "apikey", "smtppass"];

/// Whether the text of a configuration of git may hold a password or a token: in the address of a remote
/// (`https://user:password@example.org`), or as the value of a key that is named for one.
///
/// The text is searched for words, which finds more than git would: a comment counts, too. A name alone, as in
/// `ssh://git@example.org`, is none.
pub fn git_config_holds_token(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    // Git joins lines at a backslash, and takes quotes away.
    let text = text.replace("\\\r\n", "").replace("\\\n", "").replace('"', "");
    text.lines().any(|line| {
        let named = line.split_once('=').is_some_and(|(key, value)| {
            let key = key.to_ascii_lowercase();
            !value.trim().is_empty() && KEYS.iter().any(|word| key.contains(word))
        });
        named || line.match_indices("://").any(|(at, mark)| has_token(line, at, at + mark.len()))
    })
}

/// Whether the address whose `://` begins at `at` has more before its host than the name of a user.
fn has_token(line: &str, at: usize, behind: usize) -> bool {
    let (before, behind) = (&line[..at], &line[behind..]);
    let authority = behind.split(['/', '?', '#']).next().unwrap_or_default();
    let Some((user, _)) = authority.rsplit_once('@') else { return false };
    // With a web server, a token may stand alone in the place of a name. To ssh, nobody gives one there.
    let is_ssh = before.ends_with("ssh") || before.ends_with("git");
    user.contains(':') || !(is_ssh || user.is_empty() || user == "git")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_address_says_beyond_a_name_is_a_token() {
        let holds = [
            "[remote \"origin\"]\n\turl = https://ada:hunter2@example.org/x.git\n",
            "[remote \"origin\"]\n\turl = https://x7f9@example.org/x.git\n",
            "[remote.origin]\nurl=https://ada:\\\nhunter2@example.org/x",
            "[remote \"origin\"]\n\turl = \"https://ada:hunter2\"@example.org/x\n",
            "[url \"https://oauth2:x7f9@example.org/\"]\n\tinsteadOf = https://example.org/\n",
            "[http \"https://example.org/\"]\n\textraHeader = AUTHORIZATION: basic eDdmOQ==\n",
            "[http]\n\tproxy = http://ada:pw@proxy:3128\n",
            "[sendemail]\n\tsmtpPass = x7f9\n",
            "[github]\n\toauth-token = x7f9\n",
            "[remote \"o\"]\n\turl = ssh://ada:pw@example.org/x\n",
            "; https://ada:pw@example.org",
        ];
        let open = [
            "",
            "[remote \"origin\"]\n\turl = https://example.org/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "[remote \"origin\"]\n\turl = git@example.org:ada/x.git\n",
            "[remote \"origin\"]\n\turl = ssh://git@example.org:22/ada/x.git\n",
            "[remote \"origin\"]\n\turl = https://git@example.org/x.git\n",
            "[user]\n\temail = ada@example.org\n",
            "[credential]\n\thelper = store\n",
            "[remote \"o\"]\n\turl = https://example.org/@scope/x\n",
        ];
        for text in holds {
            assert!(git_config_holds_token(text.as_bytes()), "{text}");
        }
        for text in open {
            assert!(!git_config_holds_token(text.as_bytes()), "{text}");
        }
    }
}
