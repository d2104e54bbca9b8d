"""What texts are coded as, by word lists, models, judges and people."""
