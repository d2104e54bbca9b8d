"""What texts are like: similarity, entailment, markers."""
