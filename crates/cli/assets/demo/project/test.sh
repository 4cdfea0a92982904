# Runs each function test_… of the files in tests/.
source ./wordcount.sh
for file in tests/*.sh; do
    source "$file"
done

number=0 failed=0
for name in $(compgen -A function test_); do
    number=$((number + 1))
    if $name; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        failed=1
    fi
done
echo "1..$number"
exit $failed
