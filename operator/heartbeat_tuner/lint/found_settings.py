"""What stands in files, before anybody says what it means: keys with texts, as adapters find them."""

import dataclasses
import enum
from collections.abc import Sequence


class Framework(enum.Enum):
    """Who reads the keys of one place, as far as the place itself says it."""

    PLAIN = "an application"
    CONNECT_IMAGE = "the image of a Connect worker"
    WORKER = "a Connect worker"
    CONNECTOR = "a connector"
    STREAMS = "Kafka Streams"
    DAPR = "Dapr"
    BROKER = "a broker"


@dataclasses.dataclass(frozen=True, slots=True)
class FileEntry:
    """A key and its text.

    Attributes:
        key: with those that lead to it, separated by dots.
        text: as it is written; None where it stands elsewhere, such as in a Secret.
        line: of the file; 0 where nobody knows.
        field: the field of the pod that it is taken from, such as `metadata.name`; empty for other sources.
        missing: where it should come from and is not, as part of a sentence; empty where all is well.
    """

    key: str
    text: str | None
    line: int = 0
    field: str = ""
    missing: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class WorkloadFacts:
    """What a manifest says of the pods.

    Attributes:
        replicas: how many there are; None where nobody knows.
        surges: whether an update starts a new pod before the old one has ended.
    """

    kind: str
    replicas: int | None
    surges: bool


@dataclasses.dataclass(frozen=True, slots=True)
class FoundSettings:
    """The keys of one place: an env file, a container, a document.

    Attributes:
        title: what sentences call the place.
        file: that it stands in.
        entries: of several with one key the last one counts.
        image: of the container; empty where there is none.
        unseen_prefixes: of variables that come from where nobody can look: `""` may be any.
        workload: of the container; None elsewhere.
        framework: where the kind of the object says who reads it.
        overlay: which of several kustomizations deploys it; empty where there are not several.
    """

    title: str
    file: str
    entries: Sequence[FileEntry]
    image: str = ""
    unseen_prefixes: Sequence[str] = ()
    workload: WorkloadFacts | None = None
    framework: Framework | None = None
    overlay: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class FileProblem:
    """A file of which nothing could be read, and why, as a sentence."""

    file: str
    message: str
