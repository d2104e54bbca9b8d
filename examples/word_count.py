"""A number of one's own, without a package: words in public and off the record."""

import polars as pl

import offrecord
from offrecord.estimates.frames.splits import split_rows
from offrecord.transcript.ended import first_ended

study = offrecord.load_study("words-study")
turn = ["run", "agent", "turn"]

# 1. One number for every committed utterance of the attempts that count.
texts = first_ended(study.transcript).filter(
    pl.col("form") == "utterance", pl.col("draw") == 0, pl.col("status") == "ok"
)
words = texts.select(*turn, "channel", words=pl.col("text").str.split(" ").list.len())

# 2. Set beside the pairs that were planned: a text that is missing stays missing.
pairs = study.pairs.drop("left", "right")
for side in ("left", "right"):
    channel = {"words": side, "channel": f"{side}_channel"}
    pairs = pairs.join(words.rename(channel), on=[*turn, f"{side}_channel"], how="left")

# 3. The same estimator as for surveys: levels, gap, split, with the run as cluster.
for row in split_rows(pairs, ["condition"], numeric=True):
    gap = row.estimates["gap"]
    print(
        f"{row.keys['condition']:<17} {row.keys['agent']:<6}"
        f"{gap.value:+5.1f} words [{gap.low:+.1f}, {gap.high:+.1f}]"
        f"  {gap.runs} runs, {gap.turns} turns, {gap.missing} missing"
    )
