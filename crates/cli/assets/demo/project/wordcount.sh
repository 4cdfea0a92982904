# Words of a text on standard input.

# How often each word occurs, whatever its case.
count() {
    tr '[:upper:]' '[:lower:]' | tr -cs '[:alnum:]' '\n' | sort | uniq -c
}
