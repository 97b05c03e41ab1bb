"""How errors become sentences and exit codes."""

import errno

import pytest
import typer

from base.errors import BadInput, Conflict, ContextLost, HandOver, Misconfigured, NotFound, Permanent, Transient
from base.terminal.exits import Exit
from cli.failures import exit_of, present, sentence


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BadInput("x"), Exit.USAGE),
        (NotFound("x"), Exit.USAGE),
        (Misconfigured("x"), Exit.USAGE),
        (typer.BadParameter("x"), Exit.USAGE),
        (Conflict("x", open_id="1"), Exit.IN_THE_WAY),
        (Transient("x"), Exit.FAILED),
        (Permanent("x"), Exit.FAILED),
        (ContextLost("x"), Exit.FAILED),
        (OSError(errno.ENOSPC, "No space left on device"), Exit.FAILED),
        (ValueError("x"), Exit.FAILED),
        (KeyboardInterrupt(), Exit.INTERRUPTED),
        (HandOver(), Exit.INTERRUPTED),
    ],
)
def test_each_error_has_its_exit_code(error: BaseException, code: Exit) -> None:
    assert exit_of(error) is code


def test_our_own_words_are_shown_as_they_are() -> None:
    assert sentence(BadInput("No such file: x. Check the path.")) == "No such file: x. Check the path."


def test_no_message_commands_the_terminal() -> None:
    assert "\x1b" not in sentence(BadInput("\x1b[2Jgone"))
    assert "\x1b" not in sentence(ValueError("\x1b[2Jgone"))


def test_a_full_disk_says_which_path_and_what_to_do() -> None:
    said = sentence(OSError(errno.ENOSPC, "No space left on device", "/out/a.json"))
    assert said == (
        "The system refused /out/a.json: No space left on device. "
        "Free some space on that disk and run the command again."
    )


def test_an_error_of_our_own_says_so_in_one_line_and_points_to_debug() -> None:
    said = sentence(ValueError("first line\nsecond line"))
    assert "ValueError: first line." in said
    assert "second" not in said
    assert "--debug" in said


def test_a_message_of_a_page_is_cut() -> None:
    assert len(sentence(ValueError("x" * 10_000))) < 1_000


def test_a_traceback_is_shown_only_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ValueError("x")  # noqa: TRY301
    except ValueError as error:
        present(error)
        assert "Traceback" not in capsys.readouterr().err
        present(error, debug=True)
        assert "Traceback" in capsys.readouterr().err
