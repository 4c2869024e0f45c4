"""Files of all formats: what stands in them, and that nobody's file ends in a traceback."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from heartbeat_tuner.adapters.files import compose_files, kustomize, settings_files, text_entries, tree_entries
from heartbeat_tuner.adapters.files.settings_files import SettingsFile
from heartbeat_tuner.lint.found_settings import FileEntry

NAMES = st.sampled_from(
    ["a.env", "a.properties", "a.yaml", "a.json", "a.toml", "Dockerfile", "compose.yaml", "kustomization.yaml", "a"]
)
PIECES = st.sampled_from(
    [
        *("kind: Pod\n", "metadata: {name: a}\n", "spec:\n", "  containers:\n", "    - name: app\n", "      env:\n"),
        *("data:\n", "  a.yaml: |\n", "services:\n", "  a: {image: b}\n", "  b: {environment: [X=1, 5, {a: b}]}\n"),
        *("KAFKA_SESSION_TIMEOUT_MS=1\n", "KAFKA_SESSION_TIMEOUT_MS: 1\n", '"', "'", "ENV A=1 \\\n", "---\n", "[x]\n"),
        *(
            "configMapGenerator:\n",
            "  - {name: a, literals: [A=1, 3], envs: [x], files: [y, k=z]}\n",
            "- a\n",
            "{",
            "}",
        ),
        *("apiVersion: dapr.io/v1\n", "SPRING_APPLICATION_JSON={\n", "JAVA_OPTS=-Da=1 '\n", "a.b=c\\\n", "\t", "\x00"),
    ]
)


@given(NAMES, st.lists(PIECES | st.text(max_size=8), max_size=12).map("".join))
def test_whatever_stands_in_a_file_it_is_read_or_named(name: str, text: str) -> None:
    """A sentence for the file at worst."""
    read = settings_files.read([SettingsFile(name, text)])
    assert all(problem.message for problem in read.problems)
    assert all(entry.line >= 0 for place in read.places for entry in place.entries)


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    ["services", "environment", "env_file", "configMapGenerator", "name", "value", "image", "envs"]
                ),
                inner,
            )
        ),
    )
)
def test_whatever_a_document_is_it_is_walked(document: object) -> None:
    """Compose and Kustomize files are anybody's, too."""
    list(tree_entries.flattened(document))
    if compose_files.is_compose(document):
        assert isinstance(document, dict)
        list(compose_files.services(document, "a", lambda _: None))
    if isinstance(document, dict):
        list(kustomize.config_maps(document, lambda _: None))
        kustomize.resources(document)


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("a=1\n# b=2\n! c=3\nd : 4", [("a", "1", 1), ("d", "4", 4)]),
        ("a=b,\\\n  c\nd=e", [("a", "b,c", 1), ("d", "e", 3)]),
        ("[section]\nx = 'y'", [("x", "y", 2)]),
        ("a=c\\\\\nd=e", [("a", "c\\\\", 1), ("d", "e", 2)]),
        ("", []),
    ],
)
def test_properties(text: str, entries: list[tuple[str, str, int]]) -> None:
    """Comments, sections and lines that go on are those of Java and of INI files."""
    read = [(entry.key, entry.text, entry.line) for entry in text_entries.property_entries(text)]
    assert read == entries


@pytest.mark.parametrize(
    ("arguments", "entries"),
    [
        (["-Da.b=1", "--c=2", "--d", "3", "-jar", "x"], {"a.b": "1", "c": "2", "d": "3", "jar": "x"}),
        (["sh", "-c", "exec java -Da=1 -jar b"], {"a": "1", "jar": "b", "c": "exec"}),
        (["--flag", "--other=1"], {"other": "1"}),
        (["it's -Da=1"], {"a": "1"}),
        ([], {}),
    ],
)
def test_arguments(arguments: list[str], entries: dict[str, str]) -> None:
    """A shell's line is taken apart; a quote that is never closed is no reason to stop."""
    assert {entry.key: entry.text for entry in text_entries.argument_entries(arguments)} == entries


def test_dockerfiles() -> None:
    """Both forms of ENV, and lines that go on."""
    text = "FROM a\nENV A=1 \\\n    B=2\nENV C three four\nRUN X=1 make\n"
    assert {entry.key: entry.text for entry in text_entries.dockerfile_entries(text)}.items() >= {
        "A": "1",
        "B": "2",
        "C": "three four",
    }.items()


def test_a_secret_of_many_lines_is_no_assignment() -> None:
    """What stands between quotes belongs to the variable before it."""
    text = 'KEY="-----BEGIN\nA=1\n-----END"\nB=2\nC\n'
    assert list(text_entries.env_entries(text)) == [FileEntry("B", "2", 4), FileEntry("C", None, 5)]


def test_lines_are_those_of_the_keys() -> None:
    """A finding is shown where it stands."""
    text = "kafka:\n  consumer:\n    session.timeout.ms: 1\n"
    (entry,) = tree_entries.placed(tree_entries.flattened(yaml.safe_load(text)), text)
    assert (entry.key, entry.line) == ("kafka.consumer.session.timeout.ms", 3)


def test_env_files_of_a_kustomization_are_read_once(tmp_path: Path) -> None:
    """They are the workload's, and no place of their own."""
    (tmp_path / "app.env").write_text("KAFKA_SESSION_TIMEOUT_MS=1\n")
    path = tmp_path / "kustomization.yaml"
    path.write_text("configMapGenerator: [{name: a, envs: [app.env]}]\n")
    files = [SettingsFile(str(each), each.read_text(), each) for each in (path, tmp_path / "app.env")]
    assert [place.title for place in settings_files.read(files).places] == ["ConfigMap a"]


@pytest.mark.parametrize(
    ("name", "looked_at"),
    [
        (".env", True),
        (".env.production", True),
        ("app.env", True),
        ("application-prod.yml", True),
        ("Dockerfile.web", True),
        ("package-lock.json", False),
        ("package.json", False),
        ("main.py", False),
        ("environment.ts", False),
    ],
)
def test_a_folder_is_searched_for_settings(name: str, *, looked_at: bool) -> None:
    """Programs and locks are none."""
    assert settings_files.is_settings_file(Path(name)) is looked_at


@pytest.mark.parametrize("name", ["src/consumer.ts", "Consumer.java", "main.go"])
def test_source_code_is_not_called_broken_yaml(name: str) -> None:
    """A person who names it wants to know how to check what stands in it."""
    read = settings_files.read([SettingsFile(name, "const consumer = kafka.consumer({ groupId: 'x' })")])
    (problem,) = read.problems
    assert problem.message.startswith(f"{name} is source code, and `check` reads settings alone; give the values with")
