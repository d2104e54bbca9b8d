"""`offrecord models`: the models that are known by name."""

from __future__ import annotations

import click


@click.group(name="models")
def models() -> None:
    """Weights of the embedded models and of the measures."""


@models.command(name="list")
def list_models() -> None:
    """List the known models: size, licence, speed, and whether they are downloaded.

    The speed is that of the first call of a debate on two cores; later ones take less.
    """
    from offrecord.providers.weights import known_models

    for model in known_models().values():
        here = model.place.exists()
        size = f"{model.size / 1e6:.0f} MB"
        state = "fetched" if here else "not fetched"
        speed = f"{model.seconds:g} s" if model.seconds else ""
        line = f"{model.name:<20}  {size:>7}  {model.licence}  {speed:>5}  {state}"
        click.echo(line)
        click.echo(f"    {model.good_for}")


@models.command()
@click.argument("name")
def fetch(name: str) -> None:
    """Fetch the model NAME from the Hugging Face Hub and check its SHA-256."""
    from offrecord.providers.weights import fetch

    click.echo(fetch(name))
