//! Programs that tell about the machine, its users and the time.

use crate::EffectKind::{NonTerminating, WritesOutside, WritesWorkspace};
use crate::shell::Span;
use crate::shell::analyse::Judge;
use crate::shell::names::listed;
use crate::shell::options::{Operands, Spec, parse};
use crate::shell::value::Arg;

pub(super) const PROGRAMS: &[Spec] = &[
    Spec {
        flags: "aHhiklmPTv",
        values: "Btx",
        long: "all block-size= human-readable si inodes local no-sync output? portability total type= print-type exclude-type= help version",
        ..Spec::new(&["df"], Operands::Data)
    },
    Spec { flags: "as", tame: true, ..Spec::new(&["which"], Operands::Data) },
    Spec {
        flags: "asnrvmpio",
        long: "all kernel-name nodename kernel-release kernel-version machine processor hardware-platform operating-system help version",
        tame: true,
        ..Spec::new(&["uname"], Operands::None)
    },
    Spec { long: "all ignore= help version", tame: true, ..Spec::new(&["nproc"], Operands::None) },
    Spec {
        flags: "agGnruzZ",
        long: "groups group name real user zero context help version",
        tame: true,
        ..Spec::new(&["id"], Operands::Data)
    },
    Spec { long: "help version", tame: true, ..Spec::new(&["whoami", "arch", "logname"], Operands::None) },
    Spec { flags: "s", long: "silent quiet help version", tame: true, ..Spec::new(&["tty"], Operands::None) },
    Spec { long: "help version", tame: true, ..Spec::new(&["groups"], Operands::Data) },
    Spec { flags: "Is", ..Spec::new(&["hostname"], Operands::None) },
    Spec {
        flags: "ps",
        long: "pretty since help version",
        tame: true,
        ..Spec::new(&["uptime"], Operands::None)
    },
    Spec {
        flags: "abBJyxrVhcH",
        attached: "epC",
        long: "all bytes json online offline hex physical output-all raw hierarchic? caches? extended? parse? help version",
        ..Spec::new(&["lscpu"], Operands::None)
    },
    Spec {
        flags: "bkmghtlwv",
        long: "bytes kilo mega giga tera human si total wide help version",
        refuses: &[("s c seconds count", NonTerminating, "free repeats")],
        ..Spec::new(&["free"], Operands::None)
    },
    Spec { flags: "13jmywh", values: "ABCHd", ..Spec::new(&["cal", "ncal"], Operands::Data) },
    Spec { long: "version help", ..Spec::new(&["locate"], Operands::None) },
    Spec {
        flags: "abfiJlmMnpPrsSthVyzAdDO",
        values: "oEIewx",
        long: "all ascii bytes discard fs inverse json list merge nodeps noempty noheadings output= output-all paths pairs perms raw \
               scsi shell sort= topology tree? width= zoned include= exclude= dedup= help version",
        abbreviates: false,
        ..Spec::new(&["lsblk"], Operands::None)
    },
    Spec {
        flags: "ackmv",
        long: "all-locales category-name charmaps keyword-name verbose help version",
        ..Spec::new(&["locale"], Operands::Data)
    },
    Spec { flags: "a", ..Spec::new(&["getconf"], Operands::Data) },
    Spec { flags: "bms", ..Spec::new(&["whereis"], Operands::Data) },
    Spec {
        flags: "abdHlmpqrsTtuw",
        long: "all boot dead heading login process count runlevel short time mesg message users writable help version",
        ..Spec::new(&["who", "users"], Operands::None)
    },
    Spec {
        flags: "abJnrv",
        long: "all bytes json noheadings raw summary? help version",
        abbreviates: false,
        ..Spec::new(&["lsmem"], Operands::None)
    },
    Spec { long: "help version", ..Spec::new(&["runlevel"], Operands::None) },
    // It only mounts something if it has operands.
    Spec {
        flags: "lhV",
        long: "show-labels help version",
        abbreviates: false,
        ..Spec::new(&["mount"], Operands::None)
    },
    Spec {
        flags: "aAbcDfiJklnPrRsuUvh",
        values: "otOM",
        long: "all ascii bytes canonicalize df fstab json kernel list noheadings output= pairs raw real shadowed-only tree \
               types= options= mountpoint= notruncate nofsroot help version",
        refuses: &[("p poll w timeout", NonTerminating, "findmnt waits for changes")],
        abbreviates: false,
        ..Spec::new(&["findmnt"], Operands::Data)
    },
    Spec {
        flags: "afhmsV",
        long: "help version",
        abbreviates: false,
        ..Spec::new(&["vmstat"], Operands::None)
    },
];

pub(super) const SYSCTL: Spec = Spec {
    flags: "nNebq",
    long: "values names ignore binary",
    abbreviates: false,
    ..Spec::new(&["sysctl"], Operands::Custom)
};

/// `sysctl`, if it shows settings of the kernel by name.
pub(super) fn sysctl(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let named = |operand: &Arg| operand.text().is_some_and(|text| !text.contains('='));
    let operands = parse(judge, &SYSCTL, args).operands;
    if operands.is_empty() || !operands.iter().all(named) {
        judge.refuse(WritesOutside, "sysctl may change a setting of the kernel", span);
    }
}

/// Capabilities that only print, and neither start nor reset the terminal.
const CAPABILITIES: &str =
    "cols lines colors bold dim rev smul rmul smso rmso sitm ritm sgr0 setaf setab el ed cr longname";

/// `tput`, if it prints the sequences that control a terminal.
pub(super) fn tput(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    let known = args.first().and_then(Arg::text).is_some_and(|name| listed(CAPABILITIES, name));
    if !known || !args[1..].iter().all(|arg| arg.number) {
        judge.unknown("a capability of the terminal that is not understood", span);
    }
}

pub(super) const DATE: Spec = Spec {
    flags: "uR",
    values: "d",
    attached: "I",
    long: "date= debug iso-8601? rfc-email rfc-3339= utc universal help version",
    reads: "r reference f file",
    refuses: &[("s set", WritesWorkspace, "sets the system's clock")],
    ..Spec::new(&["date"], Operands::Custom)
};

/// Whether a date names its time zone, which may be the path of a file.
pub(super) fn names_a_zone(date: &[u8]) -> bool {
    date.windows(3).any(|part| part == b"TZ=")
}

/// `date`, if it is not told to set the time.
pub(super) fn date(judge: &mut Judge<'_>, args: &[Arg]) {
    // A date may name a file, that of its time zone.
    let zone = |arg: &Arg| match arg.bytes() {
        Some(bytes) => names_a_zone(bytes),
        None => !arg.number && !matches!(arg.prefix.first(), Some(b'+' | b'@' | b'0'..=b'9')),
    };
    if let Some(arg) = args.iter().find(|arg| zone(arg)) {
        return judge.unknown("a date that may name a file as its time zone", arg.span);
    }
    // A value that is only known when the command runs counts as a date, even if it may look like an option.
    let known: Vec<Arg> = match args {
        [option, date, rest @ ..]
            if (option.is("-d") || option.is("-ud") || option.is("--date")) && !date.many =>
        {
            rest.to_vec()
        }
        args => args.to_vec(),
    };
    for operand in parse(judge, &DATE, &known).operands {
        if operand.many || !operand.prefix.starts_with(b"+") {
            judge.refuse(WritesWorkspace, "sets the system's clock", operand.span);
        }
    }
}
