"""Language models: one protocol, an OpenAI-compatible client and an offline model."""
