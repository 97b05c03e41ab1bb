"""How anything is shown to a person at a terminal or to a script behind it: results on stdout, the rest on stderr.

It stands on the ground floor because the pipelines bring their own commands and may not import `cli`.
"""
