"""What deployed agents said elsewhere, read into the table of our own runs.

A container gives the entries of a file, a map says where a message's parts stand in
them, and messages become rows (docs/design/transcripts.md).
"""

from offrecord.transcript.deployed.entry import Entry, Fault, Reader
from offrecord.transcript.deployed.mapping import Map, read_map
from offrecord.transcript.deployed.preview import guessed
from offrecord.transcript.deployed.table import import_transcripts

__all__ = [
    "Entry",
    "Fault",
    "Map",
    "Reader",
    "guessed",
    "import_transcripts",
    "read_map",
]
