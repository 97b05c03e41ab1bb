"""How work reaches a worker, and how a step runs there."""
