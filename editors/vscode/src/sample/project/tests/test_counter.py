from unittest import TestCase

from wordcount.counter import count


class CountTest(TestCase):
    def test_case_does_not_matter(self):
        self.assertEqual(count("To be or not to be")["to"], 2)
