//! Programs that look at files and at the system.

use crate::EffectKind::{Executes, ReadsOutside, Unknown, WritesOutside, WritesWorkspace};
use crate::shell::Span;
use crate::shell::analyse::Judge;
use crate::shell::options::{self, FILES, Operands, Spec};
use crate::shell::value::Arg;

pub(super) const PROGRAMS: &[Spec] = &[
    Spec {
        flags: "aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1",
        values: "ITw",
        long: "all almost-all author escape block-size= ignore-backups color? directory dired classify? file-type format= full-time \
               group-directories-first no-group human-readable si dereference-command-line dereference hide= hyperlink? \
               indicator-style= inode ignore= kibibytes literal numeric-uid-gid hide-control-chars show-control-chars \
               quote-name quoting-style= reverse recursive size sort= time= time-style= tabsize= width= context zero help version",
        tame: true,
        ..Spec::new(&["ls", "dir", "vdir"], Operands::Names)
    },
    Spec {
        flags: "Lft",
        values: "c",
        long: "dereference file-system cached= format= printf= terse help version",
        tame: true,
        ..Spec::new(&["stat"], FILES)
    },
    Spec {
        flags: "0abchklmPsSx",
        values: "Btd",
        long: "null all apparent-size block-size= bytes total max-depth= human-readable inodes \
               no-dereference separate-dirs si summarize threshold= time? time-style= exclude= one-file-system help version",
        reads: "X exclude-from",
        refuses: &[
            ("files0-from", ReadsOutside, "reads the folders that a list names"),
            (
                "L D H dereference dereference-args",
                ReadsOutside,
                "follows links, which may lead out of the workspace",
            ),
        ],
        tame: true,
        ..Spec::new(&["du"], Operands::Names)
    },
    Spec {
        flags: "bcdEhiIklLnNrsSv0",
        values: "eFP",
        long: "apple checking-printout debug exclude-quiet= list no-dereference parameter= no-sandbox brief mime mime-type mime-encoding extension keep-going dereference no-dereference no-pad no-buffer raw \
               special-files print0 separator= exclude= help version",
        refuses: &[
            ("f files-from", ReadsOutside, "reads the files that a list names"),
            ("C compile", WritesWorkspace, "file compiles a magic file"),
            ("z uncompress Z uncompress-noreport", Executes, "file runs programs to decompress"),
            ("m magic-file", Unknown, "a magic file of the command's own"),
            ("p preserve-date", WritesWorkspace, "file sets the time of access"),
        ],
        ..Spec::new(&["file"], FILES)
    },
    Spec {
        flags: "az",
        values: "s",
        long: "multiple suffix= zero help version",
        tame: true,
        ..Spec::new(&["basename"], Operands::Data)
    },
    Spec { flags: "z", long: "zero help version", tame: true, ..Spec::new(&["dirname"], Operands::Data) },
    Spec {
        flags: "emLPqsz",
        long: "canonicalize-existing canonicalize-missing logical physical quiet strip no-symlinks zero relative-to= \
               relative-base= help version",
        tame: true,
        ..Spec::new(&["realpath"], FILES)
    },
    Spec {
        flags: "femnqsvz",
        long: "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero help version",
        tame: true,
        ..Spec::new(&["readlink"], FILES)
    },
    Spec {
        flags: "aAcCdDfFghiJnNpqQrsStuUvxX",
        values: "HILPT",
        long: "nolinks dirsfirst filesfirst noreport prune du si inodes device gitignore ignore-case matchdirs metafirst sort? timefmt= \
               filelimit= charset= help version",
        refuses: &[
            ("o output R", WritesWorkspace, "tree writes its output to a file"),
            ("l", ReadsOutside, "follows links, which may lead out of the workspace"),
        ],
        ..Spec::new(&["tree"], Operands::Names)
    },
    Spec { flags: "ABGdotx", long: "format= common totals help version", ..Spec::new(&["size"], FILES) },
    Spec {
        flags: "lahrRT1dgiSFmuUH",
        values: "IsLt",
        long: "long all header reverse recurse tree oneline git-ignore group-directories-first icons? no-icons level= sort= \
               ignore-glob= time= time-style= color= colour= only-dirs only-files no-permissions no-user no-time no-filesize",
        abbreviates: false,
        ..Spec::new(&["eza", "exa"], Operands::Names)
    },
    Spec {
        flags: "lmnovx",
        long: "modes mountpoints owners vertical nosymlinks long help version",
        abbreviates: false,
        ..Spec::new(&["namei"], FILES)
    },
    Spec { flags: "pP", long: "portability help version", ..Spec::new(&["pathchk"], Operands::Data) },
    Spec { flags: "adlpRvV", ..Spec::new(&["lsattr"], Operands::Names) },
];

pub(super) const BAT: Spec = Spec {
    // `-P`, and what is the default without a terminal: no pager.
    flags: "pAnufPLS",
    values: "lrHm",
    long: "plain show-all number unbuffered language= line-range= highlight-line= style= color= decorations= wrap= tabs= theme= \
           file-name= force-colorization italic-text= list-languages list-themes map-syntax= nonprintable-notation= squeeze-blank \
           squeeze-limit= terminal-width= chop-long-lines version help",
    abbreviates: false,
    refuses: &[
        ("pager paging", Executes, "runs a pager"),
        ("d diff diff-context", Unknown, "looks at the repository's changes"),
    ],
    ..Spec::new(&["bat", "batcat"], FILES)
};

/// `bat`, without a pager.
pub(super) fn bat(judge: &mut Judge<'_>, args: &[Arg], span: Span) {
    if args.iter().any(|arg| arg.is("cache")) {
        return judge.refuse(WritesOutside, "bat changes its cache", span);
    }
    let options_end = args.iter().position(|arg| arg.is("--")).unwrap_or(args.len());
    let mut kept = Vec::with_capacity(args.len());
    let mut place = 0;
    while let Some(arg) = args.get(place) {
        let never = args.get(place + 1).is_some_and(|next| next.is("never"));
        let without = place < options_end && (arg.is("--paging=never") || (arg.is("--paging") && never));
        place += if without && arg.is("--paging") { 2 } else { 1 };
        if !without {
            kept.push(arg.clone());
        }
    }
    options::judge(judge, &BAT, &kept, span);
}
