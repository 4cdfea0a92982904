import re
from collections import Counter

WORD = re.compile(r"\w+")


def count(text: str) -> Counter[str]:
    """How often each word occurs, whatever its case."""
    return Counter(word.lower() for word in WORD.findall(text))
