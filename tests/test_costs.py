"""Costs: hand-worked amounts, unknown is never 0, and what a limit does to a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from offrecord.measures.parsed import pairs_of
from offrecord.records import Ended, OffrecordError
from offrecord.runner.costs import cached_share, costs_of, money, total_of, usage_line
from offrecord.runner.options import split_options
from offrecord.runner.prices import Price, Prices, read_prices
from offrecord.transcript.record import open_record
from offrecord.transcript.schema import TRANSCRIPT_SCHEMA
from offrecord.transcript.usage import Bills, usage_of
from tests.conftest import Offrecord
from tests.fake_server import FakeServer

PRICE = Price(input=2.0, output=10.0, input_cache_read=0.5, input_cache_write=2.5)
PRICES = Prices(name="prices.yaml", models={"a/m": PRICE}, currency="USD")


def transcript(*rows: tuple[str, int | None, int | None, int | None]) -> pl.DataFrame:
    """Rows of model, input, cached and output tokens."""
    names = ("agent_model", "input_tokens", "cached_tokens", "output_tokens")
    return pl.DataFrame(
        [dict(zip(names, row, strict=True)) for row in rows],
        schema={name: TRANSCRIPT_SCHEMA[name] for name in names},
    )


def test_an_amount_by_hand() -> None:
    # 600 fresh at 2, 300 read at 0.5, 100 written at 2.5, 50 out at 10, per million:
    # 1200 + 150 + 250 + 500 = 2100 millionths.
    assert PRICE.cost(600, 300, 100, 50) == pytest.approx(0.0021)
    bills = Bills()
    bills.add("a/m", 100, None)
    bills.add("a/m", None, None)
    used = usage_of(
        transcript(("a/m", 700, 300, 20), ("a/m", 300, 0, 30)), bills.sums()
    )
    [cost] = costs_of(used, PRICES)
    assert cost.amount == pytest.approx(0.0021)
    assert cost.whole
    assert cost.basis == "prices.yaml"
    assert money(cost.amount, cost.currency) == "0.0021 USD"
    assert cached_share(used["a/m"]) == pytest.approx(0.3)


def test_missing_usage_is_unknown_and_never_nothing() -> None:
    used = usage_of(transcript(("a/m", None, None, None)))
    assert used["a/m"]["calls"] == 1
    for name in ("input_tokens", "output_tokens", "cached_tokens", "cost"):
        assert used["a/m"][name] is None
    [cost] = costs_of(used, PRICES)
    assert cost.amount is None
    assert money(cost.amount, "USD") == total_of([cost]) == "unknown"
    assert cached_share(used["a/m"]) is None
    assert "none of which reported" in usage_line(used["a/m"])


def test_what_is_known_in_part_is_a_lower_bound() -> None:
    # One reply of two without usage; of the other one nobody said what was cached, so
    # it is priced in full: 1000 x 2 + 10 x 10 = 2100 millionths.
    used = usage_of(transcript(("a/m", 1000, None, 10), ("a/m", None, None, None)))
    [cost] = costs_of(used, PRICES)
    assert cost.amount == pytest.approx(0.0021)
    assert money(cost.amount, "USD", whole=cost.whole) == "at least 0.0021 USD"
    line = usage_line(used["a/m"])
    assert "cached tokens not reported" in line
    assert "1 of them came without tokens" in line


def test_the_cached_share_is_of_the_replies_that_say_it() -> None:
    used = usage_of(transcript(("a/m", 1000, 600, 1), ("a/m", 9000, None, 1)))
    assert cached_share(used["a/m"]) == pytest.approx(0.6)
    assert "60.0 % from a cache (1 replies do not say)" in usage_line(used["a/m"])


def test_a_model_without_a_price_is_unknown_and_makes_the_total_a_bound() -> None:
    used = usage_of(transcript(("a/m", 1000, 0, 0), ("b/m", 1000, 0, 0)))
    priced, unpriced = costs_of(used, PRICES)
    assert unpriced.amount is None
    assert unpriced.basis == "prices.yaml has no price of it"
    assert total_of([priced, unpriced]) == "at least 0.0020 USD"


def test_costs_of_a_log_are_said_to_be_so() -> None:
    bills = Bills()
    bills.add("a/m", None, 0.25)
    bills.add("a/m", None, 0.50)
    rows = transcript(("a/m", 10, None, 1), ("a/m", 10, None, 1), ("b/m", 10, None, 1))
    with_costs, without = costs_of(usage_of(rows, bills.sums()), None)
    assert with_costs.amount == pytest.approx(0.75)
    assert with_costs.basis == "the prices that Inspect was given"
    assert without.amount is None
    assert "--prices" in without.basis


CACHE = "input_cache_read: 1, input_cache_write: 1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a/m: 3", "field 'a/m': write the model's prices under its name"),
        ("a/m: {input: 1, output: 1, input_cache_read: 1}", "'input_cache_write'"),
        (f"a/m: {{input: -1, output: 1, {CACHE}}}", "model 'a/m': field 'input'"),
        (f"a/m: {{input: '1', output: 1, {CACHE}}}", "model 'a/m': field 'input'"),
        (f"a/m: {{input: .nan, output: 1, {CACHE}}}", "model 'a/m': field 'input'"),
        (f"a/m: {{input: true, output: 1, {CACHE}}}", "model 'a/m': field 'input'"),
        (f"a/m: {{input: 1, output: 1, {CACHE}, cached: 1}}", "field 'cached'"),
        (f"a/m: {{input: 1, output: 1, {CACHE}, currency: euro}}", "field 'currency'"),
        (
            f"a/m: {{input: 1, output: 1, {CACHE}}}\n"
            f"b/m: {{input: 1, output: 1, {CACHE}, currency: EUR}}",
            "model 'b/m': field 'currency': EUR",
        ),
        ("", "names no model"),
        ("a/m: {", "YAML"),
    ],
)
def test_a_bad_price_file_is_named_with_its_field(
    text: str, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(OffrecordError, match=message) as caught:
        read_prices(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_price_file_may_be_json(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    file.write_text(json.dumps({"a/m": PRICE.model_dump()}), encoding="utf-8")
    assert read_prices(file).models == {"a/m": PRICE}


def test_what_changes_the_price_alone_is_no_part_of_the_design() -> None:
    words = [
        "--batch",
        "100",
        "--cache-prompt",
        "auto",
        "--model-cost-config",
        "p.yaml",
    ]
    assert split_options(words) == ((), tuple(words))
    # A limit ends runs, so it belongs to the study.
    assert split_options(["--cost-limit", "0.5"]) == (("--cost-limit", "0.5"), ())


DESIGN = (
    *("--model", "simulated/paper", "--scenario", "promotion"),
    *("--condition", "baseline", "--runs", "1"),
)


def test_a_study_reports_what_the_plan_was_near(
    offrecord: Offrecord, tmp_path: Path
) -> None:
    out, prices = tmp_path / "study", tmp_path / "prices.yaml"
    prices.write_text(f"simulated/paper: {{input: 1, output: 0, {CACHE}}}")
    quiet = ("--", "--display", "none", "--batch", "100", "--cache-prompt", "true")
    done = offrecord("run", *DESIGN, "--out", str(out), *quiet)
    assert done.code == 0, done.err
    study = open_record(out)
    used, rows = study.usage["simulated/paper"], study.transcript
    assert study.facts["usage"] == study.usage
    assert used["calls"] == used["metered"] == rows.height == 60
    assert used["input_tokens"] == rows["input_tokens"].sum() > 0
    assert used["cached_tokens"] is None  # the population has no cache
    assert f"60 requests, {used['input_tokens']:,} tokens in (cached" in done.err
    # Batches are asked for in a call, and no part of the study.
    assert study.design.options == ()
    assert json.loads(rows["settings"][0])["batch"] == 100
    # The plan presumes utterances of 44 words, as published; the population's have 30
    # and stand in every later prompt: the plan is above, by a quarter at most.
    planned = offrecord("plan", *DESIGN, "--prices", str(prices)).out.splitlines()
    line = next(line for line in planned if line.startswith("tokens in"))
    estimate = int(line.split()[3].rstrip(",").replace(",", ""))
    assert used["input_tokens"] <= estimate <= 1.25 * used["input_tokens"]
    assert any(f"about {estimate / 1e6:.4f} USD" in line for line in planned)
    told = offrecord("status", str(out), "--json", "--prices", str(prices)).out
    [found] = json.loads(told)["usage"]
    assert found["amount"] == pytest.approx(used["input_tokens"] / 1e6)
    assert (found["basis"], found["cached_share"]) == ("prices.yaml", None)


def test_a_run_that_a_cost_limit_stops_ends_with_that_reason(
    offrecord: Offrecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai", reason="the extra 'openai' is not installed")
    out, prices, model = tmp_path / "study", tmp_path / "prices.yaml", "openai/gpt-4o"
    prices.write_text(f"{model}: {{input: 1, output: 1, {CACHE}, currency: USD}}")
    quiet = ("--", "--display", "none", "--model-cost-config", str(prices))
    limit = 0.01  # a request has some 900 tokens: the run is stopped at its turn 2 or 3
    with FakeServer(latency=0.02) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "none-needed")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        done = offrecord(
            *("run", "--model", model, "--scenario", "promotion"),
            *("--condition", "baseline", "--runs", "1", "--out", str(out)),
            *(*quiet, "--cost-limit", str(limit)),
        )
        assert done.code == 0, done.err
        asked = len(server.bodies)
        assert 6 < asked < 30
        again = offrecord("run", "--out", str(out), *quiet)
        assert again.code == 0, again.err
        assert len(server.bodies) == asked  # it is final: nothing is asked twice
        raised = offrecord("run", "--out", str(out), *quiet, "--cost-limit", "1")
        assert raised.code == 2
        assert "options" in raised.err
    study = open_record(out)
    assert set(study.transcript["ended"]) == {Ended.COST_LIMIT}
    assert study.ended_runs == 1
    assert pairs_of(study).height == 10
    absent = pairs_of(study).filter(pl.col("round") == 5)
    assert set(absent["left_status"]) == {Ended.COST_LIMIT}
    used: dict[str, Any] = study.usage[model]
    assert used["costed"] == used["metered"] > 0
    assert used["cost"] >= limit
    tokens = used["input_tokens"] + used["output_tokens"]
    assert used["cost"] == pytest.approx(tokens / 1e6)
    printed = offrecord("status", str(out)).out
    assert "by the prices that Inspect was given" in printed
