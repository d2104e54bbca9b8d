"""What a reply states: stances and survey answers. No polars."""
