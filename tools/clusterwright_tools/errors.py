"""Errors that the user can mend. Anything else that escapes is a bug and shows its traceback."""


class CannotRun(Exception):
    """The measurement cannot be made here. The message is one line and says how to fix it. Exit code 2."""


class BadParameter(CannotRun):
    """A parameter is unknown, of the wrong type or out of its bounds."""
