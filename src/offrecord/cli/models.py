"""`offrecord models`: the models that are known by name."""

from __future__ import annotations

import click


@click.group(name="models")
def models() -> None:
    """Weights of the embedded models and of the measures."""


@models.command(name="list")
def list_models() -> None:
    """List the known models and whether they are downloaded."""
    from offrecord.providers.folders import KnownFolder, known_folders
    from offrecord.providers.weights import KnownModel, known_models, models_folder

    places: list[tuple[KnownModel | KnownFolder, str]] = [
        *((model, model.file) for model in known_models().values()),
        *((model, model.name) for model in known_folders().values()),
    ]
    for model, place in places:
        here = (models_folder() / place).exists()
        size = f"{model.size / 1e6:.0f} MB"
        state = "fetched" if here else "not fetched"
        click.echo(f"{model.name:<20}  {size:>7}  {model.licence}  {state}")
        click.echo(f"    {model.good_for}")


@models.command()
@click.argument("name")
def fetch(name: str) -> None:
    """Fetch the model NAME from the Hugging Face Hub and check its SHA-256."""
    from offrecord.providers.folders import fetch_folder, known_folders
    from offrecord.providers.weights import fetch

    click.echo(fetch_folder(name) if name in known_folders() else fetch(name))
