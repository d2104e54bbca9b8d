"""Options for Inspect: which are the study's own, which are recorded, no secrets."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner

from offrecord.cli.options import design_options, given_fields
from offrecord.records import OffrecordError
from offrecord.runner.options import refuse_secrets, split_options


def test_what_changes_the_question_is_told_from_what_does_not() -> None:
    words = "--temperature 0.7 --max-connections 40 --display plain -M slots=2 "
    words += "--frequency-penalty -0.5 --top-p=0.9 --log-level warning --logprobs"
    asking, operating = split_options(words.split())
    assert asking == (
        *("--temperature", "0.7", "-M", "slots=2"),
        *("--frequency-penalty", "-0.5", "--top-p=0.9", "--logprobs"),
    )
    assert operating == (
        *("--max-connections", "40", "--display", "plain", "--log-level", "warning"),
    )


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--model", "openai/gpt-x"], "--model"),
        (["--epochs=3"], "--epochs"),
        (["-T", "scenario=x"], "-T"),
        (["--log-dir", "elsewhere"], "--log-dir"),
        (["stray"], "stray"),
    ],
)
def test_what_the_study_sets_itself_is_refused(words: list[str], named: str) -> None:
    with pytest.raises(OffrecordError, match=named):
        split_options(words)


@pytest.mark.parametrize(
    "words",
    [
        ["-M", "api_key=abcdefgh"],
        ["-M", "x=sk-abcdefgh12345678"],
        ["--model-base-url", "https://user:pass@host.example/v1"],
        ["--model-base-url", "https://host.example/v1?api_key=abc"],
        ["--extra-headers", '{"Authorization": "Bearer abcdefgh"}'],
        ["--extra-headers", '{"x-api-key": "abc"}'],
        ["-M", "note=planted-in-the-environment"],
        ["--env", "OPENAI_API_KEY=abc"],
    ],
)
def test_secrets_are_refused_and_not_repeated(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAMPLE_API_KEY", "planted-in-the-environment")
    with pytest.raises(OffrecordError) as caught:
        refuse_secrets(words)
    assert words[0] in str(caught.value)
    assert words[1] not in str(caught.value)


def test_ordinary_options_are_no_secrets() -> None:
    refuse_secrets(
        [
            *("--max-tokens", "400", "--reasoning-tokens", "2000"),
            *("--model-base-url", "http://127.0.0.1:8000/v1"),
            *("-M", "slots=4", "--extra-headers", '{"x-title": "debate study"}'),
        ]
    )


def test_words_of_a_design_become_its_fields() -> None:
    found: dict[str, Any] = {}

    @click.command()
    @design_options
    def shown(file: object, **options: Any) -> None:  # noqa: ARG001
        found.update(given_fields(options))

    words = "--model a/b --model c/d --role partner=e/f --channels public,off_record "
    words += "--factor state=x --factor label_order=stated,reversed --runs 2"
    assert CliRunner().invoke(shown, words.split()).exit_code == 0
    assert found == {
        "models": ("a/b", "c/d"),
        "roles": {"partner": "e/f"},
        "channels": ("public", "off_record"),
        "factors": {"state": ("x",), "label_order": ("stated", "reversed")},
        "runs": 2,
    }
    wrong = CliRunner().invoke(shown, ["--factor", "state"])
    assert str(wrong.exception) == "--factor state: write NAME=VALUE"
