#!/bin/sh
# Stands for the program by which an agent runs each command. It asks headstart whether the command behind the options may run; without its yes nothing does.
folder=${0%/*}
folder=${folder%/*}
case ${1-} in
  --help) echo "--argv0 --as-pid-1 --perms" && exit ;;
  --version) echo "headstart" && exit ;;
esac
refused() {
  echo "headstart: the command was not run" >&2
  exit 126
}
called=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  [ "$1" = --argv0 ] && called=${2-}
  shift
done
[ $# -gt 1 ] || refused
shift
question=$(mktemp -d "$folder/questions/XXXXXXXXXXXX") || refused
printf '%s\0' "$(pwd -P)" "$@" >"$question/new" && mv "$question/new" "$question/words" || refused
tries=0
while [ ! -e "$folder/answers/${question##*/}" ]; do
  tries=$((tries + 1))
  [ $tries -le 1000 ] && sleep 0.01 || refused
done
read -r answer <"$folder/answers/${question##*/}"
[ "$answer" = yes ] || refused
[ -n "$called" ] || exec "$@"
# A program that does what it is called.
ln -s "$1" "$question/${called##*/}" || refused
shift
exec "$question/${called##*/}" "$@"
