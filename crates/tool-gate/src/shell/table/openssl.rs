//! `openssl`, if it shows certificates and checksums. Its options have one dash and whole names.

use crate::EffectKind::{Unknown, WritesWorkspace};
use crate::shell::Span;
use crate::shell::analyse::Judge;
use crate::shell::names::listed;
use crate::shell::value::Arg;

/// A command of `openssl`.
pub(super) struct Command {
    pub(super) names: &'static str,
    /// Options without a value.
    pub(super) flags: &'static str,
    /// Options with a value that is data.
    pub(super) values: &'static str,
    /// Options whose value is a file to read.
    pub(super) reads: &'static str,
    /// Whether operands are files to read.
    files: bool,
}

/// What the gate knows. Left out are options that write (`-out`, `-CAcreateserial`), load code (`-engine`,
/// `-provider`) or ask for a password, and commands that make keys or connect.
pub(super) const COMMANDS: &[Command] = &[
    Command { names: "version", flags: "a v b d e f o p r c", values: "", reads: "", files: false },
    Command {
        names: "list",
        flags: "commands digest-commands digest-algorithms cipher-commands cipher-algorithms public-key-algorithms disabled",
        values: "",
        reads: "",
        files: false,
    },
    Command { names: "ciphers", flags: "v V s tls1_2 tls1_3 stdname", values: "", reads: "", files: false },
    Command {
        names: "dgst md5 sha1 sha224 sha256 sha384 sha512 blake2b512 blake2s256",
        flags: "c r hex binary list md5 sha1 sha224 sha256 sha384 sha512 sha3-256 sha3-512 blake2b512 blake2s256",
        values: "hmac",
        reads: "",
        files: true,
    },
    Command { names: "base64", flags: "e d A a", values: "", reads: "in", files: false },
    Command {
        names: "x509",
        flags: "noout text dates startdate enddate subject issuer serial fingerprint hash subject_hash issuer_hash email pubkey modulus \
                purpose ocsp_uri ocspid alias nocert sha1 sha256 md5",
        values: "inform nameopt certopt dateopt checkend checkhost checkip checkemail ext",
        reads: "in",
        files: false,
    },
    Command {
        names: "crl",
        flags: "noout text issuer lastupdate nextupdate hash fingerprint crlnumber",
        values: "inform nameopt",
        reads: "in",
        files: false,
    },
    Command {
        names: "asn1parse",
        flags: "i dump noout",
        values: "inform offset length dlimit strparse",
        reads: "in",
        files: false,
    },
    Command {
        names: "pkcs7",
        flags: "noout text print print_certs",
        values: "inform",
        reads: "in",
        files: false,
    },
    Command {
        names: "req",
        flags: "noout text subject verify pubkey modulus",
        values: "inform nameopt reqopt",
        reads: "in",
        files: false,
    },
    Command {
        names: "verify",
        flags: "verbose show_chain partial_chain x509_strict check_ss_sig no-CAfile no-CApath no-CAstore",
        values: "attime nameopt purpose verify_depth verify_hostname verify_email verify_ip",
        reads: "CAfile CRLfile trusted untrusted",
        files: true,
    },
];

pub(super) fn judge(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let Some((name, mut rest)) = args.split_first() else {
        return judge.refuse(Unknown, "openssl that waits for commands", span);
    };
    let command = name.text().and_then(|name| COMMANDS.iter().find(|command| listed(command.names, name)));
    let Some(command) = command else {
        return judge.refuse(WritesWorkspace, "openssl may make keys, write or connect", name.span);
    };
    while let Some((arg, after)) = rest.split_first() {
        rest = after;
        let option = match arg.text() {
            Some(text) => text.strip_prefix('-'),
            None if arg.dash || arg.many => {
                return judge.unknown("an argument that could be an option", arg.span);
            }
            None => None,
        };
        let Some(option) = option else {
            if !command.files {
                return judge.unknown("an operand of openssl that is not understood", arg.span);
            }
            if command.names == "verify" && may_be_an_address(arg) {
                return judge.unknown("openssl reads an address that is not a plain file", arg.span);
            }
            judge.read_file(arg);
            continue;
        };
        if listed(command.flags, option) {
            continue;
        }
        let reads = listed(command.reads, option);
        let Some((value, after)) = rest.split_first().filter(|_| reads || listed(command.values, option))
        else {
            return judge.unknown(format!("openssl -{option} is not understood"), arg.span);
        };
        if value.many || (value.dash && reads) {
            return judge.unknown("a value of openssl that is not known before it runs", value.span);
        }
        if reads && may_be_an_address(value) {
            return judge.unknown("openssl reads an address that is not a plain file", value.span);
        }
        if reads {
            judge.read_file(value);
        }
        rest = after;
    }
}

/// Whether openssl may take a name for the address of a store: letters before a colon.
fn may_be_an_address(name: &Arg) -> bool {
    let folder = name.prefix.iter().position(|byte| *byte == b'/').unwrap_or(name.prefix.len());
    name.prefix[..folder].contains(&b':') || (!name.exact && folder == name.prefix.len())
}
