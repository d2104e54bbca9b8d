"""Why the replies of a study may be no evidence, whole as it may be."""

from __future__ import annotations

import polars as pl

from offrecord.transcript.answered import mixed_answers
from offrecord.transcript.copies import copies_told


def doubts(transcript: pl.DataFrame, *, samples: bool = True) -> str:
    """What casts doubt on the replies, in words; empty where nothing does.

    Args:
        transcript: Rows in `TRANSCRIPT_SCHEMA`.
        samples: Whether further samples count, which the noise floor alone rests on.
    """
    told = mixed_answers(transcript), copies_told(transcript, samples=samples)
    return "; ".join(filter(None, told))
