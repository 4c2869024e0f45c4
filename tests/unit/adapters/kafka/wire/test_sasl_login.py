"""Logging in: the example of RFC 7677 to the letter, and what a broker may not answer."""

import pytest

from heartbeat_tuner.adapters.kafka.wire import sasl_login
from heartbeat_tuner.adapters.kafka.wire.sasl_login import LoginRefusedError, ScramLogin

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER = rb"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"


def login() -> ScramLogin:
    """Return the RFC's login."""
    return ScramLogin("SCRAM-SHA-256", "user", "pencil", NONCE)


def test_the_example_of_the_standard() -> None:
    """Both messages, and the broker's proof."""
    scram = login()
    assert scram.first == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    proof = b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert scram.final(SERVER) == b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0," + proof
    scram.check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


@pytest.mark.parametrize("answer", [b"", b"v=", b"e=invalid-proof", b"v=AAAA", b"\xff"])
def test_a_broker_that_does_not_prove_itself_is_left(answer: bytes) -> None:
    """Whoever stands in its place does not know the password."""
    scram = login()
    scram.final(SERVER)
    with pytest.raises(LoginRefusedError):
        scram.check(answer)


@pytest.mark.parametrize(
    "answer",
    [
        b"e=other-error",
        SERVER.replace(b"i=4096", b"i=1"),
        SERVER.replace(b"i=4096", b"i=99999999999"),
        SERVER.replace(b"i=4096", b"i=many"),
        SERVER.replace(b"r=rOpr", b"r=xxxx"),
        SERVER.replace(b"%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", b""),
        SERVER.replace(b"W22Z", b"!!!!"),
        SERVER + b"," + b"x" * 9_000,
        b"\xff\xfe",
    ],
)
def test_another_answer_ends_the_login(answer: bytes) -> None:
    """One that asks for a password hashed once, or for hours of work, too."""
    with pytest.raises(LoginRefusedError):
        login().final(answer)


def test_names_are_escaped_and_plain_is_as_the_standard_has_it() -> None:
    """A comma would end the field."""
    assert ScramLogin("SCRAM-SHA-512", "a,b=c", "x", "n").first == b"n,,n=a=2Cb=3Dc,r=n"
    assert sasl_login.plain("user", "pencil") == b"\0user\0pencil"
