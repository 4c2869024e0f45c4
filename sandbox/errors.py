"""What can go wrong in the sandbox, as sentences for the person at the terminal."""


class SandboxError(Exception):
    """Something a person can act on; the command line prints it without a traceback."""


class PartNotReadyError(SandboxError):
    """A part did not answer in time, or ended before it did."""


class PrerequisiteMissingError(SandboxError):
    """Programs that only the machine's owner can install are not there."""


class ChecksumMismatchError(SandboxError):
    """A download is not what was pinned."""
