"""The vocabulary on one page: frozen value types that every stage shares.

A **cell** is what is asked of whom under which condition, a **run** is one whole
debate (one repeat of a cell), and an **elicitation** is one request for one output.
A **stamp** names one elicitation completely; every request carries it, so that logs,
slots, caches and the simulated population all know the same thing by the same key.
"""

from __future__ import annotations

from offrecord.records._cells import (
    ASKED_FORMS,
    SAMPLING,
    Asked,
    Cell,
    Seat,
    due,
    schedule,
)
from offrecord.records._stamps import (
    FRAME_KEY,
    LINE_KEY,
    RECORD_KEY,
    STAMP_KEY,
    Frame,
    Stamp,
)
from offrecord.records._words import (
    ARM,
    CELL,
    CELL_JSON,
    ENGLISH,
    FACTOR,
    HOLDOUT,
    NO_ARM,
    OBSERVE,
    SCRIPTED,
    STANDARD_DOSE,
    Ended,
    Form,
    Kind,
    OffrecordError,
    Role,
    Status,
    Timing,
    contrastable,
    digest,
    factor_names,
    first_line,
    primary_language,
    split_contrast,
)

__all__ = [
    "ARM",
    "ASKED_FORMS",
    "CELL",
    "CELL_JSON",
    "ENGLISH",
    "FACTOR",
    "FRAME_KEY",
    "HOLDOUT",
    "LINE_KEY",
    "NO_ARM",
    "OBSERVE",
    "RECORD_KEY",
    "SAMPLING",
    "SCRIPTED",
    "STAMP_KEY",
    "STANDARD_DOSE",
    "Asked",
    "Cell",
    "Ended",
    "Form",
    "Frame",
    "Kind",
    "OffrecordError",
    "Role",
    "Seat",
    "Stamp",
    "Status",
    "Timing",
    "contrastable",
    "digest",
    "due",
    "factor_names",
    "first_line",
    "primary_language",
    "schedule",
    "split_contrast",
]
