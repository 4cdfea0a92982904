//! Recognises commands of PowerShell and of `cmd.exe`, so that the verdict can say what they are.
//!
//! The gate reads bash. A text for another shell is a boundary, whatever bash would make of it.

use crate::EffectKind::{self, Executes, Unknown};
use crate::shell::names::listed_in_any_case as listed;

const POWERSHELL: &str = "this is PowerShell, and the gate reads bash only";
const CMD: &str = "this is for cmd.exe, and the gate reads bash only";
const WINDOWS: &str = "this runs a program of Windows, and the gate reads bash only";

/// Verbs of PowerShell's cmdlets, as in `Get-ChildItem`.
const VERBS: &str = "add clear close compare compress convert convertfrom convertto copy disable enable enter exit expand export find foreach \
    format get import install invoke join measure move new open out pop push read receive register remove rename resolve restart \
    restore resume save select send set show sort split start stop submit suspend switch tee test trace unblock uninstall \
    unregister update use wait watch where write";
/// Aliases of cmdlets that are not also programs elsewhere.
const ALIASES: &str = "gci gcm gal gjb gps gsv gwmi iex ihy ii ipmo irm iwr ndr ni nsn oss rni rnp rvpa rwmi sajb saps sasv sls spps spsv pwsh powershell";
/// Commands of `cmd.exe`, and programs with names that exist only on Windows.
const COMMANDS: &str = "assoc attrib bcdedit certutil chkdsk cls cmd color copy del diskpart endlocal erase findstr forfiles ftype icacls \
    ipconfig md mklink move net netsh pushd popd rd reg rem ren robocopy sc schtasks setlocal setx sfc start systeminfo takeown taskkill \
    tasklist tree ver vol vssadmin wevtutil wmic wscript cscript xcopy";
/// Commands whose names may also mean a builtin of bash or a program of Unix. They only count with a switch such as
/// `/s`.
const SHARED: &str = "move net pushd popd start tree color dir sc";
/// Variables of Windows that are written between percent signs.
const VARIABLES: &str = "allusersprofile appdata cd commonprogramfiles computername comspec date errorlevel homedrive homepath localappdata \
    os path pathext programdata programfiles public random systemdrive systemroot temp time tmp userdomain username userprofile windir";

/// The most commands that are looked at, because the first ones show which shell a text is for.
const PARTS: usize = 16;

/// Says for which other shell a text is. It is only asked about a text in which something else is wrong, so a mistake
/// costs little.
pub(crate) fn recognise(text: &str) -> Option<(EffectKind, &'static str)> {
    if let Some(found) = marks(text) {
        return Some(found);
    }
    // Searching for one byte first is much cheaper than searching for the sign.
    let has = |first: char, sign: &str| text.contains(first) && text.contains(sign);
    if has('`', "`\n") && text.matches('`').count() % 2 == 1 {
        return Some((Unknown, POWERSHELL));
    }
    if has('$', "$PSVersionTable") || has('$', "$PSScriptRoot") || has(']', "]::") {
        return Some((Unknown, POWERSHELL));
    }
    text.split(['\n', ';', '|', '&', '(', '{']).take(PARTS).find_map(|part| {
        let mut words = part.split_ascii_whitespace();
        let name = words.next()?;
        let rest: Vec<&str> = words.take(PARTS).collect();
        let switched = rest.iter().any(|word| is_switch(word));
        match (name, rest.as_slice()) {
            (name, ["=", ..]) if name.starts_with('$') => return Some((Unknown, POWERSHELL)),
            ("if", ["exist", ..] | ["not", "exist", ..]) => return Some((Unknown, CMD)),
            ("for", [variable, ..]) if variable.starts_with('%') => return Some((Unknown, CMD)),
            ("call" | "start", [program, ..]) if is_windows_program(program) => return Some((Unknown, CMD)),
            _ if is_drive(name.trim_start_matches('"')) => return Some((Executes, WINDOWS)),
            _ => {}
        }
        let base = name.rsplit(['\\', '/']).next().unwrap_or(name);
        let (stem, ending) = base.rsplit_once('.').unwrap_or((base, ""));
        if listed("powershell pwsh", stem) {
            return Some((Executes, POWERSHELL));
        }
        if stem.eq_ignore_ascii_case("cmd") && (switched || ending.eq_ignore_ascii_case("exe")) {
            return Some((Executes, CMD));
        }
        if is_windows_program(base) {
            return Some((Executes, WINDOWS));
        }
        if listed(ALIASES, name) || is_cmdlet(name) {
            return Some((Unknown, POWERSHELL));
        }
        let shared = listed(SHARED, name);
        ((shared && switched) || (!shared && listed(COMMANDS, name))).then_some((Unknown, CMD))
    })
}

/// `x.exe`
fn is_windows_program(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, ending)| listed("exe bat cmd ps1", ending))
}

/// `C:\`
fn is_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', b'\\', ..] if letter.is_ascii_alphabetic())
}

/// `/s`, `/a:d`
fn is_switch(word: &str) -> bool {
    let Some(rest) = word.strip_prefix('/') else { return false };
    let letters = rest.split(':').next().unwrap_or_default();
    !letters.is_empty()
        && letters.len() < 3
        && letters.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'?')
}

/// `Get-ChildItem`
fn is_cmdlet(name: &str) -> bool {
    let Some((verb, noun)) = name.split_once('-') else { return false };
    let capital = noun.starts_with(|first: char| first.is_ascii_uppercase());
    let known = listed(
        "childitem content item itemproperty location object process service command help host output",
        noun,
    );
    (capital || known) && noun.bytes().all(|byte| byte.is_ascii_alphanumeric()) && listed(VERBS, verb)
}

/// Spellings that bash would take for something harmless: `$env:PATH`, `%PATH%` and `C:\folder` outside quotes.
pub(crate) fn marks(text: &str) -> Option<(EffectKind, &'static str)> {
    let bytes = text.as_bytes();
    if !bytes.iter().any(|byte| matches!(byte, b'%' | b'\\' | b'$')) {
        return None;
    }
    let mut quote = None;
    for (at, byte) in bytes.iter().enumerate() {
        match (*byte, quote) {
            (b'\'' | b'"', None) => quote = Some(*byte),
            (byte, Some(open)) if byte == open => quote = None,
            (b'$', None | Some(b'"')) => {
                let after = bytes.get(at + 1..at + 5).unwrap_or_default();
                if after.eq_ignore_ascii_case(b"env:") {
                    return Some((Unknown, POWERSHELL));
                }
            }
            (b'%', None) => {
                let rest = &bytes[at + 1..];
                let length = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
                let name = std::str::from_utf8(&rest[..length]).unwrap_or_default();
                if rest.get(length) == Some(&b'%') && listed(VARIABLES, name) {
                    return Some((Unknown, CMD));
                }
            }
            (b'\\', None) => {
                let before = at.checked_sub(3).and_then(|place| bytes.get(place));
                let starts = at == 2 || before.is_some_and(|byte| b" \t\n=;|&(".contains(byte));
                let drive = bytes.get(at.wrapping_sub(2)).is_some_and(u8::is_ascii_alphabetic);
                let after = bytes
                    .get(at + 1)
                    .is_none_or(|byte| byte.is_ascii_alphanumeric() || b"\\ \n".contains(byte));
                if starts && drive && after && bytes.get(at.wrapping_sub(1)) == Some(&b':') {
                    return Some((Unknown, CMD));
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_other_shells_are_told_from_bash() {
        for text in [
            "Get-ChildItem -Recurse",
            "get-content a.txt",
            "ls | Where-Object { $_.Length }",
            "gci",
            "powershell -c ls",
            "pwsh -File x.ps1",
            "echo $env:PATH",
            "echo \"$Env:USERPROFILE\"",
            "Get-Item x `\n  -Force",
            "$x = Get-Content a.txt",
        ] {
            assert!(recognise(text).is_some_and(|(_, detail)| detail == POWERSHELL), "{text}");
        }
        for text in [
            "dir /s",
            "dir /a:d",
            "del x",
            "cmd /c dir",
            "type C:\\a\\b",
            "dir C:\\",
            "echo %PATH%",
            "cd %TEMP% && dir",
            "findstr /s x *.rs",
            "copy a b",
            "if exist a del a",
        ] {
            assert!(recognise(text).is_some_and(|(_, detail)| detail == CMD), "{text}");
        }
        for text in ["C:\\Windows\\x.exe", "\"C:\\Program Files\\x\"", "./build.ps1", "notepad.exe a"] {
            assert!(recognise(text).is_some(), "{text}");
        }
        for text in [
            "dir -l",
            "dir src/a",
            "apt-get update",
            "git log --format='%H%n%PATH%'",
            "date +%H%M%S",
            "printf '%s%d%s' a 1 b",
            "grep 'C:\\\\x' a",
            "sed s/a:\\n/x/ a",
            "start-stop-daemon -S",
            "tree src",
            "echo `ls`",
            "awk '{print $env}' a",
            "[[ a =~ b ]]",
        ] {
            assert_eq!(recognise(text), None, "{text}");
        }
    }
}
