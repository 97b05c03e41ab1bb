"""Who types, for the rows that say by whom something was done."""

import getpass


def person() -> str:
    """The user at the command line, by name where it has one."""
    try:
        return f"{getpass.getuser()} at the command line"
    except (OSError, KeyError):  # a user without a name, as containers have them
        return "the command line"
