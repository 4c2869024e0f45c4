"""What the bench of reading metrics stands on: exporters that are believable, and the kernel's account."""

import os

from bench import exporters, metrics
from bench.exporters import Page, members
from heartbeat_tuner.metrics.conventions import java_metrics, known_conventions, watched_groups
from heartbeat_tuner.metrics.raw import resolver
from heartbeat_tuner.reconcile.series import reading_plan


def test_a_member_exports_sixty_series_of_which_the_operator_finds_its_own() -> None:
    """Under the JMX exporter's names, in the group that the policy names."""
    (member,) = members(1, 10)
    lines = Page([member]).body(1000.0).decode().splitlines()
    assert len(lines) == len(set(lines)) == 60
    for quantity, name in exporters.KNOWN.items():
        labels = {**member.labels(), "__name__": name}
        place = resolver.place_of(labels, known_conventions.CONVENTIONS, {(member.namespace, member.group)})
        assert place is not None
        assert (place.metric.quantity, place.convention) == (quantity, java_metrics.JMX_EXPORTER)


def test_all_that_a_record_needs_is_among_them() -> None:
    """A quantity that nobody exports would cost less than in life; the operator's own are its group watcher's."""
    of_classic = [quantity for quantity in reading_plan.READ if quantity not in reading_plan.OF_CONSUMER_PROTOCOL]
    needed = {quantity for quantity in of_classic if reading_plan.needs("java", quantity)}
    assert needed - watched_groups.GROUP_WATCHER.by_quantity.keys() <= exporters.KNOWN.keys()


def test_what_is_written_for_the_past_is_what_is_scraped_later() -> None:
    """A series that breaks off between the two would be two series."""
    (member,) = members(1, 10)
    name = exporters.OTHERS[0]
    assert name not in member.values(0.0)
    text = Page([member]).body(900.0).decode()
    for name, value in member.values(900.0).items():
        assert f"\n{name}{{" in f"\n{text}"
        assert next(line for line in text.splitlines() if line.startswith(f"{name}{{")).endswith(f" {value}")


def test_snappy_without_compression_says_how_long_it_is() -> None:
    """Literals of 64 KiB, as the block format wants them."""
    content = bytes(range(256)) * 300
    packed = exporters._as_snappy(content)
    assert packed[:3] == b"\x80\xd8\x04"
    assert packed[3:6] == b"\xf4\xff\xff"
    assert packed[6 : 6 + 65536] == content[:65536]
    assert len(packed) == len(content) + 3 + 2 * 3


def test_the_high_water_mark_is_that_of_one_cycle() -> None:
    """Memory that an earlier cycle took and gave back is not this one's."""
    memory = metrics.Memory(os.getpid())
    taken = bytearray(64 * 2**20)
    before_mib = memory.now_mib()
    del taken
    assert memory.begin() < before_mib - 32
    assert memory.peak_mib() < before_mib - 32
    taken = bytearray(64 * 2**20)
    assert memory.peak_mib() > before_mib - 32
    assert taken
