"""The counts of `python -m tests.house` fall, and never rise."""

from tests.house import LIMITS, Source, counts, exceeded, sources


def test_no_count_is_above_its_limit() -> None:
    found = counts(sources())
    assert found.keys() == LIMITS.keys()
    assert exceeded(found) == []


def test_what_is_counted() -> None:
    text = (
        "import os\nfrom a import (\n    b,\n)\n# why\nif TYPE_CHECKING:\n    import x  # noqa: F401\n"
        'def document():\n    import json\n    x = {"schema": SCHEMA}\n'
        "    try:\n        os.replace(b, b)\n    except (KeyError, UndefinedError):\n        pass\n"
    )
    source = Source("absint.api", text)
    assert (source.room, source.lines, source.comments, source.import_lines) == ("absint", 14, 1, 6)
    assert (source.lazy, source.for_types) == (1, 1)
    found = counts([source])
    assert found["files that write documents by hand"] == found["files that replace files"] == 1
    assert found["files that catch what is undefined"] == 1
