"""Errors that the user can mend: shown as one line, exit code 2. Anything else is a bug and shows its traceback."""


class UserError(Exception):
    """Something the user can fix; the message is one line and says how."""
