"""The one boundary: what comes from strangers is read here, or refused in one line.

Scenarios, studies, logs and published runs may come from anyone, and a model or its
provider may send any text. Whatever of ours reads a file or shows a text goes through
these modules; `docs/security.md` has the promises and the test of each.

| module | from what it defends | how |
|---|---|---|
| `files` | pipes, devices, files of any size, odd JSON, links that lead out of a folder | plain files alone, read up to a bound; a link is followed inside its folder only |
| `yaml` | code in tags, aliases that multiply, deep nesting, a key given twice | plain values, no alias, 50 levels, each key once |
| `tables` | a Parquet file that says more than its bytes can hold | its rows are set against its size before it is unpacked |
| `archives` | logs that unpack without bound or to other places | names and sizes are looked at first |
| `secrets` | keys in options, errors, replies and records | told by value and by shape; taken out when something is written or imported, **never on reading** |
| `shown` | text that steers a terminal, hides, or computes in a spreadsheet | visible escapes; an apostrophe before a formula |
"""  # noqa: E501
