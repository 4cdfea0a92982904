test_case_does_not_matter() {
    echo "To be or not to be" | count | grep -q "2 to"
}
