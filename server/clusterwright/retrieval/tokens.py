"""Words for the lexical index. Identifiers and flags are kept whole and also split.

    NCCL_IB_GID_INDEX  ->  ncclibgidindex nccl ib gid index
    Xid 79             ->  xid 79 xid79
    8xH100, 80 GB      ->  8x h100 80 gb 80gb

"Whole" means without separators, so that `sm_90`, `sm-90` and `sm90`, or all-reduce and allreduce, are one term.
"""

import functools
import re
from collections.abc import Iterator

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a about all also am an and any are arent as at be because been but by can cannot cant could did
        didnt do does doesnt doing done dont for from get gets got had has have how i if in into is isnt it
        its just like me my no not of off on only or our out should so some still than that the their them
        then there these they this those to too up use used using very via was we were what when where which
        while who why will with wont would you your
        """,
    )
)

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_CJK_RUN = re.compile(f"[{_CJK}]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_TIMES = re.compile(r"(?<![A-Za-z0-9])([1-9]\d*)\s?[x×]\s?(?=[A-Z0-9])")
_APOSTROPHE = re.compile(r"(?<=[a-z])['’](?=(?:[stdm]|re|ll|ve)\b)")
_COMPOUND = re.compile(r"[A-Za-z0-9_]+(?:[-.:+]+[A-Za-z0-9_]+)*")
_SEPARATORS = re.compile(r"[-_.:+]+")
_HUMPS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_PLURAL_MODEL = re.compile(r"[a-z]+\d+s")
_UNITS = frozenset(re.findall(r"\w+", "b kb mb gb tb kib mib gib tib gbps gbit mhz ghz ms us ns s w kw tflops pflops"))
_GAPS = frozenset((" ", "#", "\u00a0"))
_LETTER = re.compile("[a-z]")
_VOWEL = re.compile("[aeiouy]")


def has_cjk(text: str) -> bool:
    """Whether the text holds Chinese, Japanese or Korean characters."""
    return _CJK_RUN.search(text) is not None


def without_cjk(text: str) -> str:
    """The text without Chinese, Japanese and Korean characters."""
    return " ".join(_CJK_RUN.sub(" ", text).split())


def estimate(text: str) -> int:
    """About how many tokens a language model reads: technical English has 3.6 characters a token, CJK about one."""
    cjk = sum(len(run) for run in _CJK_RUN.findall(text))
    return round((len(text) - cjk) / 3.6 + cjk)


def stem(word: str) -> str:
    """Take off the plural, `-ing`, `-ed` and a final `e` of a lower-case English word. Anything else is left alone."""
    if len(word) <= 3 or not (word.isascii() and word.isalpha()):
        return word[:-1] if _PLURAL_MODEL.fullmatch(word) else word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("sses", "shes", "ches", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "is")) and (word.endswith("pus") or not word.endswith("us")):
        word = word[:-1]
    for suffix in ("ing", "ed"):
        root = word.removesuffix(suffix)
        if root != word and len(root) >= 3 and _VOWEL.search(root):
            word = root[:-1] if root[-1] == root[-2] and root[-1] not in "lsz" else root
            break
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def terms(text: str) -> list[str]:
    """The terms of a text, in order and with repetitions. Stop words are left out."""
    text = _TIMES.sub(r"\1x ", _THOUSANDS.sub("", _APOSTROPHE.sub("", text)))
    found: list[str] = []
    before, end = "", -1
    for match in _COMPOUND.finditer(text):
        compound = match.group()
        found += _split(compound)
        word = compound.strip("_").lower()
        if text[end : match.start()] in _GAPS and _belong_together(before, word):
            found.append(before + word)
        before, end = word, match.end()
    for run in _CJK_RUN.findall(text):
        found += (run[at : at + 2] for at in range(max(1, len(run) - 1)))
    return found


def _belong_together(before: str, word: str) -> bool:
    """`Xid 79`, `signal 9`; `80 GB`."""
    if word.isdigit():
        return before.isalpha() and before not in STOP_WORDS and len(before) <= 8
    return word in _UNITS and before.replace(".", "").isdigit()


@functools.lru_cache(maxsize=1 << 16)
def _split(compound: str) -> tuple[str, ...]:
    """A word, or the whole and the parts of an identifier, without stop words and single letters, stemmed."""
    lowered = (part.lower() for part in _whole_and_parts(compound))
    return tuple(stem(part) for part in lowered if part not in STOP_WORDS and not _LETTER.fullmatch(part))


def _whole_and_parts(compound: str) -> Iterator[str]:
    parts = [part for part in _SEPARATORS.split(compound) if part]
    if len(parts) > 1 and all(part.isdigit() for part in parts):
        yield compound
        return
    if 1 < len(parts) <= 8:
        yield "".join(parts)
    for part in parts:
        yield part
        humps = _HUMPS.findall(part)
        if len(humps) > 1 and min(map(len, humps)) >= 3:
            yield from humps
