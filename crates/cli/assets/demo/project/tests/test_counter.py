from wordcount.counter import count


def test_case_does_not_matter():
    assert count("To be or not to be")["to"] == 2
