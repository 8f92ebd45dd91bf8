"""From two prepared samples to models: scores, the choice among them, curves, distances and their noise."""
