//! Texts that take a reader the most time. Each family grows to any size, to find work that grows with the square of
//! the size.

/// The name of a family, and a function that makes a text of about so many bytes.
pub(crate) type Family = (&'static str, fn(usize) -> String);

/// Repeats `unit` as often as it fits.
fn fill(unit: &str, size: usize) -> String {
    unit.repeat(size / unit.len())
}

/// Nests `open`, `middle` and `close` as deep as fits.
fn nest(open: &str, middle: &str, close: &str, size: usize) -> String {
    let depth = size / (open.len() + close.len());
    format!("{}{middle}{}", open.repeat(depth), close.repeat(depth))
}

/// Nests `open` and `close` to at most this depth, around a body that fills the rest.
fn shallow(open: &str, close: &str, depth: usize, body: &str, size: usize) -> String {
    let rest = size.saturating_sub(depth * (open.len() + close.len()));
    format!("{}{}{}", open.repeat(depth), fill(body, rest), close.repeat(depth))
}

/// Joins the pieces for the numbers from 0 on, as many as fit.
fn numbered(size: usize, piece: impl Fn(usize) -> String) -> String {
    let mut text = String::with_capacity(size);
    for number in 0.. {
        let next = piece(number);
        if size < text.len() + next.len() {
            break;
        }
        text.push_str(&next);
    }
    text
}

/// Every family.
pub(crate) const FAMILIES: &[Family] = &[
    // Nesting that is left open, and nesting that is closed.
    ("$( open", |size| fill("$(", size)),
    ("$( closed", |size| nest("$(", "ls", ")", size)),
    ("(( open", |size| fill("((", size)),
    ("$(( closed", |size| format!("echo {}", nest("$((", "1", "))", size))),
    ("( in arithmetic", |size| format!("echo $(({}))", nest("(", "1", ")", size))),
    ("( closed", |size| nest("( ", "ls", " )", size)),
    ("{ open", |size| fill("{ ", size)),
    ("{ closed", |size| nest("{ ", "ls;", " };", size)),
    ("[[ ( open", |size| format!("[[ {}", fill("( ", size))),
    ("[[ ( closed", |size| format!("[[ {} ]]", nest("( ", "-f a", " )", size))),
    ("\"$( open", |size| format!("echo {}", fill("\"$(", size))),
    ("\"$( closed", |size| format!("echo {}", nest("\"$(echo ", "a", ")\"", size))),
    ("${x:- open", |size| format!("echo {}", fill("${x:-", size))),
    ("${x:- closed", |size| format!("echo {}", nest("${x:-", "a", "}", size))),
    ("<( open", |size| format!("cat {}", fill("<(cat ", size))),
    ("backquotes", |size| fill("`", size)),
    ("backquoted commands", |size| format!("echo {}", fill("`pwd` ", size))),
    ("if chains", |size| format!("{}; fi", fill("if ls; then ls; el", size))),
    ("elif chain", |size| format!("if ls; then ls; {}fi", fill("elif ls; then ls; ", size))),
    ("nested if", |size| nest("if ls; then ", "ls;", " fi;", size)),
    ("nested for", |size| nest("for x in a; do ", "ls;", " done;", size)),
    ("nested while", |size| nest("while read -r x; do ", "ls;", " done;", size)),
    ("nested case", |size| nest("case a in b) ", "ls", ";; esac", size)),
    // Here-documents.
    ("here-document unclosed", |size| format!("cat <<A{}", fill("\nline", size))),
    ("here-documents on one line", |size| format!("cat {}", fill("<<A ", size))),
    ("here-documents, all closed", |size| {
        let count = size / 8;
        format!("cat{}\n{}", " <<A".repeat(count), "x\nA\n".repeat(count))
    }),
    ("many here-documents", |size| fill("cat <<A\nx\nA\n", size)),
    ("huge here-document", |size| format!("cat <<'A'\n{}\nA", fill("a line of text\n", size))),
    ("expansions in a here-document", |size| format!("x=a\ncat <<A\n{}\nA", fill("$x ", size))),
    ("expansions in long lines of a here-document", |size| {
        format!("x=a\ncat <<A\n{}\nA", fill("$x and a good deal of text after it\n", size))
    }),
    ("lines like a delimiter", |size| format!("cat <<AAAA\n{}\nAAAA", fill("AAA\n", size))),
    // Words.
    ("one long word", |size| fill("a", size)),
    ("one long quoted word", |size| format!("echo '{}'", fill("a", size))),
    ("one long path", |size| format!("cat {}a", fill("a/", size))),
    ("many words", |size| format!("echo {}", fill("a ", size))),
    ("many files", |size| format!("cat {}", numbered(size, |number| format!("f{number} ")))),
    ("many globs", |size| format!("ls {}", fill("* ", size))),
    ("globs in many folders", |size| format!("ls {}", numbered(size, |number| format!("d{number}/* ")))),
    ("one long glob", |size| format!("ls {}", fill("*?[a]", size))),
    ("strings with gaps", |size| format!("echo {}", fill("\" \" ", size))),
    ("expansions in one string", |size| format!("x=a; echo \"{}\"", fill("$x ", size))),
    ("expansions in strings", |size| format!("x=a; echo {}", fill("\"$x\" ", size))),
    ("braces of lists", |size| format!("echo {}", fill("{a,b}", size))),
    ("braces of numbers", |size| format!("echo {}", fill("{1..9}", size))),
    ("braces inside braces", |size| format!("echo {}", fill("{a,{b,", size))),
    ("braces, one after another", |size| format!("cat {}", fill("{a,b,c,d,e,f,g,h,i,j} ", size))),
    ("braces of 64 files", |size| {
        let list: Vec<String> = (0..64).map(|number| format!("{number}")).collect();
        let word = |place| format!("d{place}/{{{}}} ", list.join(","));
        format!("cat {}", numbered(size, word))
    }),
    ("braces around a long text", |size| {
        let half = size / 2;
        format!("echo {{{}}}{}", fill("a,", half.min(120)) + "b", fill("c", half))
    }),
    ("concatenations", |size| format!("echo {}", fill("a'b'\"c\"", size))),
    ("$'…' escapes", |size| format!("echo $'{}'", fill("\\x41\\101", size))),
    ("tildes", |size| format!("cat {}", fill("~ ", size))),
    ("unicode", |size| format!("echo {}", fill("é漢🦀", size))),
    ("carriage returns", |size| fill("ls\r\n", size)),
    ("NUL", |size| fill("\0", size)),
    ("continued lines", |size| fill("\\\n", size)),
    ("a continued word", |size| format!("ec{}ho", fill("\\\n", size))),
    ("continued letters", |size| format!("echo {}", fill("a\\\n\\\n\\\n", size))),
    ("backslashes", |size| format!("echo {}", fill("\\a", size))),
    ("blanks", |size| fill(" ", size)),
    ("comments", |size| format!("ls\n{}", fill("# no command\n", size))),
    ("newlines", |size| format!("ls{}", fill("\n", size))),
    ("parameters", |size| format!("echo {}", fill("${#}${?}$$", size))),
    ("cut parameters", |size| format!("x=a; echo {}", fill("${x%.*} ", size))),
    // Lists.
    ("long pipeline", |size| format!("ls{}", fill("|cat", size))),
    ("commands", |size| fill("ls;", size)),
    ("commands on lines", |size| fill("cat a\n", size)),
    ("and-list", |size| format!("ls{}", fill("&&ls", size))),
    ("or-list of folders", |size| format!("ls{}", numbered(size, |number| format!("||cd d{number}")))),
    ("background", |size| fill("ls&", size)),
    ("redirections", |size| format!("ls {}", fill("2>/dev/null ", size))),
    ("redirections to files", |size| format!("ls {}", numbered(size, |number| format!(">f{number} ")))),
    ("redirections from files", |size| format!("cat {}", numbered(size, |number| format!("<f{number} ")))),
    ("here-strings", |size| format!("cat {}", fill("<<<a ", size))),
    ("case arms", |size| format!("case a in {} esac", fill("b) ls;; ", size))),
    ("case patterns", |size| format!("case a in {}c) ls;; esac", fill("b|", size))),
    ("[[ && chain", |size| format!("[[ -f a {}]]", fill("&& -f a ", size))),
    ("[ -a chain", |size| format!("[ -f a {}]", fill("-a -f a ", size))),
    ("[[ =~ pattern", |size| format!("[[ a =~ {} ]]", fill("(a|b)*", size))),
    ("arithmetic", |size| format!("echo $((1{}))", fill("+1", size))),
    ("(( ; ; ))", |size| format!("for ((i=0;i<9;i++{})); do ls; done", fill(",i++", size))),
    // Variables.
    ("doubling", |size| format!("a=aaaaaaaaaaaaaaaa;{}cat \"$a\"", fill("a=$a$a;", size))),
    ("doubling, quoted", |size| format!("a=aaaa;{}cat \"$a\"", fill("a=\"$a$a\";", size))),
    ("doubling by two names", |size| format!("a=aaaa;{}cat \"$a\"", fill("b=$a$a a=$b$b;", size))),
    ("doubling in a default", |size| format!("a=aaaa;{}ls", fill("a=${b:-$a$a};", size))),
    ("assignments", |size| numbered(size, |number| format!("a{number}= ")) + "; ls"),
    ("assignments, then use", |size| {
        let half = numbered(size / 2, |number| format!("a{number}=b "));
        format!("{half}; cat {}", numbered(size / 2, |number| format!("$a{number} ")))
    }),
    ("assignments, then lists", |size| {
        let half = numbered(size / 2, |number| format!("a{number}= "));
        format!("{half}; ls{}", fill(" && ls", (size / 2).min(3_000)))
    }),
    ("assignments, then pipelines", |size| {
        let half = numbered(size / 2, |number| format!("a{number}= "));
        format!("{half}; ls{}", fill(" | ls", (size / 2).min(2_500)))
    }),
    ("assignments, then loops", |size| {
        let half = numbered(size / 2, |number| format!("a{number}= "));
        let body = fill("ls && ls; ", (size / 2).min(2_000));
        format!("{half}; for x in a; do for y in b; do {body} done; done")
    }),
    ("assignments, then case arms", |size| {
        let half = numbered(size / 2, |number| format!("a{number}= "));
        format!("{half}; case a in {} esac", fill("b) ls;; ", (size / 2).min(4_000)))
    }),
    ("long values, joined", |size| {
        let half = fill("b", size / 2);
        format!("a={half}; {}", fill("ls \"$a\" && a=\"${a}c\"; ", (size / 2).min(5_000)))
    }),
    ("one long value, used", |size| {
        let half = fill("b", size / 2);
        format!("a={half}; cat {}", fill("\"$a\" ", size / 2))
    }),
    ("array", |size| format!("a=({}); echo \"${{a[@]}}\"", fill("b ", size))),
    ("array of files", |size| format!("a=({}); ls", numbered(size, |number| format!("f{number} ")))),
    ("loop over many", |size| format!("for x in {}; do cat $x; done", fill("a ", size))),
    ("environment prefixes", |size| format!("{}ls", fill("LC_ALL=C ", size))),
    // Loops, which are analysed again and again until nothing new is found.
    ("loops, nested as deep as is read", |size| {
        shallow("for x in a b; do ", " done;", 12, "cat $x;", size.min(3_000))
    }),
    ("loops, nested, that change", |size| {
        shallow("for x in a b; do y=$x; x=$y$y; ", " done;", 11, "y=$x$y;x=$y;", size.min(3_000))
    }),
    ("loops, nested, over many words", |size| {
        let words = fill("a ", (size / 2).min(4_000));
        shallow("for x in a b; do ", " done;", 12, &format!("echo {words};"), words.len() + 400)
    }),
    ("loops, nested, over a long text", |size| {
        let text = fill("a", size.saturating_sub(400));
        shallow("for x in a b; do y=$x;", " done;", 12, &format!("x='{text}';"), text.len() + 400)
    }),
    ("while loops, nested", |size| {
        shallow("while read -r x; do y=$x; ", " done;", 12, "cat \"$y\";", size.min(3_000))
    }),
    ("while loops, nested, that test", |size| {
        shallow("while [ \"$x\" != a ]; do ", " done;", 12, "x=b;y=$x;", size.min(3_000))
    }),
    ("loops beside loops", |size| fill("for x in a; do ls; done; ", size)),
    ("loops that read the same list", |size| {
        let unit = "ls | while read -r x; do y=$x; cat \"$y\"; done; ";
        fill(unit, size)
    }),
    // Texts on which the second reader tries every repair.
    ("[[ with )", |size| format!("[[ a {} ]]", fill(")", size))),
    ("[[ with &&", |size| format!("[[ a {} ]]", fill("&& ", size))),
    ("quoted here-document, continued lines", |size| format!("cat <<'A'\n{}\nA", fill("\\\n>", size))),
    ("operators in arithmetic", |size| format!("echo $((1{}))", fill("&<<<", size))),
    ("| in arithmetic", |size| format!("echo $((1{}))", fill("|", size))),
    ("shifts in arithmetic", |size| format!("echo $((1{}))", fill("<<A", size))),
    ("operands in arithmetic", |size| format!("echo $((1{}))", fill("-f a ", size))),
    ("| in a default", |size| format!("echo ${{x:-{}}}", fill("ls|-", size))),
    ("continued lines in a default", |size| format!("echo ${{x:-{}}}", fill("\\\nls|*", size))),
    // Programs that have a language of their own.
    ("sed commands", |size| format!("sed -n '{}' a", fill("s/a/b/;p;", size))),
    ("sed braces", |size| format!("sed '{}' a", nest("{", "p", "}", size))),
    ("sed backslashes", |size| format!("sed 'a {}' a", fill("\\\\", size))),
    ("sed text over lines", |size| format!("sed 'a\\\n{}x' a", fill("\\\\\\\n", size))),
    ("sed brackets", |size| format!("sed 's/{}a/b/' a", fill("[[:alpha:]]", size))),
    ("sed scripts", |size| format!("sed {} a", fill("-e p ", size))),
    ("awk parentheses", |size| format!("awk '{{ print {} }}' a", nest("(", "1", ")", size))),
    ("awk functions", |size| {
        let half = numbered(size / 2, |number| format!("function f{number}(a){{}} "));
        let last = half.matches("function").count().saturating_sub(1);
        format!("awk '{half}{}' a", fill(&format!("{{f{last}(1)}} "), size / 2))
    }),
    ("awk statements", |size| format!("awk '{}' a", fill("{ x = substr($1, 2) } ", size))),
    ("awk patterns", |size| format!("awk '{}' a", fill("/[[:alpha:]]/ ", size))),
    ("awk print >", |size| format!("awk '{{ print {} }}' a", fill("(1>2) ", size))),
    ("find tests", |size| format!("find . {}", fill("-name a ", size))),
    ("find parentheses", |size| format!("find . {}", nest("\\( ", "-name a", " \\)", size))),
    ("find -exec", |size| format!("find . {}", fill("-exec cat {} + ", size))),
    ("find -exec of many", |size| {
        let starts = fill("a ", size / 3);
        format!("find {starts} {}", fill("-exec cat {} + ", size / 3 * 2))
    }),
    ("grep patterns", |size| format!("grep {} f", fill("-e a ", size))),
    ("git options", |size| format!("git {} log", fill("-C a ", size))),
    ("git commands", |size| fill("git log; ", size)),
    ("git paths", |size| format!("git log -- {}", numbered(size, |number| format!("f{number} ")))),
    ("xargs of xargs", |size| format!("ls | {} ls", fill("xargs ", size))),
    ("env of env", |size| format!("{} ls", fill("env ", size))),
    ("env without variables", |size| format!("env {} ls", fill("-u a ", size))),
    ("stdbuf of time", |size| format!("{} ls", fill("stdbuf -o0 time ", size))),
    ("timeout of timeout", |size| format!("{} ls", fill("timeout 5 ", size))),
    ("nice of nice", |size| format!("{} ls", fill("nice ", size))),
    ("command of command", |size| format!("{} ls", fill("command ", size))),
    ("printf formats", |size| format!("printf '{}' a", fill("%s\\n", size))),
    ("printf arguments", |size| format!("printf '%s' {}", fill("a ", size))),
    ("jq program", |size| format!("jq '{}' a.json", nest("[", ".a", "]", size))),
    ("refused options", |size| format!("sort {}", numbered(size, |number| format!("--o{number} ")))),
    ("refused programs", |size| numbered(size, |number| format!("p{number};"))),
    ("bundled options", |size| format!("ls -{}", fill("l", size))),
];
