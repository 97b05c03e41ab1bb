"""The chat completions protocol as servers really speak it; `clients.llm.openai` is its only user."""
