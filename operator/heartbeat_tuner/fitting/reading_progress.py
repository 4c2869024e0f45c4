"""How far the reading of days is, and how long it may yet take: values."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Progress:
    """A moment in the reading of days.

    Attributes:
        what: what is being read: a day, or a folder.
        steps_done: days that have been read.
        steps: that are to be read, at least 1.
        slices_done: of the one under way.
        slices: of it; 0 while it is not known.
        elapsed_s: since the reading began, in seconds.
    """

    what: str
    steps_done: int
    steps: int
    slices_done: int
    slices: int
    elapsed_s: float

    @property
    def share(self) -> float:
        """How much of it is done, 0 to 1."""
        within = self.slices_done / self.slices if self.slices else 0.0
        return min((self.steps_done + within) / self.steps, 1.0)

    @property
    def left_s(self) -> float | None:
        """How long it may yet take, in seconds, if days take alike; None while nothing is known."""
        return self.elapsed_s * (1 - self.share) / self.share if self.share > 0 else None
