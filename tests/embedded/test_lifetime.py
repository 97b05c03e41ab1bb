"""The server starts with its first user, serves all of them, and stops with the last, however anyone ends."""

import os
from pathlib import Path

import psycopg

from schema.embedded import attach
from tests.embedded.users import User, alive, is_down, keeper_of, kill, users, wait_until
from tests.services.postgres import plain


def test_a_second_process_attaches_and_the_last_one_stops_it(home: Path) -> None:
    with User(home) as first:
        server = first.server()
        with User(home) as second:
            assert second.server() == server
            first.leave()
            assert alive(server)
            second.leave()
            assert is_down(home)
            assert not alive(server)


def test_parallel_first_starts_share_one_server(home: Path) -> None:
    with users(home, 4) as four:
        assert len({user.server() for user in four}) == 1
        for user in four:
            user.leave()
    assert is_down(home)


def test_it_stops_when_its_last_user_is_killed(home: Path) -> None:
    with User(home) as user:
        server = user.server()
        user.kill()
    wait_until(lambda: is_down(home))
    assert not alive(server)


def test_a_killed_user_does_not_keep_it_from_stopping(home: Path) -> None:
    with User(home) as killed, User(home) as last:
        assert killed.server() == last.server()
        killed.kill()
        last.leave()
    assert is_down(home)


def test_the_last_user_stops_it_itself_when_its_keeper_is_gone(home: Path) -> None:
    with User(home) as user:
        server = user.server()
        kill(keeper_of(server))
        user.leave()
    assert is_down(home)
    assert not alive(server)


def test_a_killed_server_is_started_again_with_what_was_committed(home: Path) -> None:
    with attach(home, durable=False) as before:
        with psycopg.connect(plain(before.owner_url), autocommit=True) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        kill(int((before.place.data / "postmaster.pid").read_text().split()[0]))
        with attach(home, durable=False) as after, psycopg.connect(plain(after.owner_url)) as connection:
            assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)


def test_a_stale_pid_that_now_is_another_program_is_recovered(home: Path) -> None:
    with attach(home, durable=False) as before:
        pid_file = before.place.data / "postmaster.pid"
        lines = pid_file.read_text().splitlines()
    # This very process stands for the program that got the dead server's pid.
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")
    if before.place.user:
        os.chown(pid_file, before.place.user.uid, before.place.user.gid)
    with attach(home, durable=False):
        assert int(pid_file.read_text().split()[0]) != os.getpid()


def test_a_start_that_was_killed_half_way_is_done_again(home: Path) -> None:
    with attach(home, durable=False) as whole:
        data = whole.place.data
    (data / "PG_VERSION").unlink()  # initdb writes it early; a cluster without it never was one
    (data.parent / "data.partial").mkdir()
    with attach(home, durable=False) as again, psycopg.connect(plain(again.owner_url)) as connection:
        assert connection.execute("SELECT count(*) FROM jobs").fetchone() == (0,)


def test_the_socket_outlives_a_terminal(home: Path) -> None:
    """Ctrl-C reaches every process of a terminal's group; the server is in none of them."""
    with User(home) as user:
        server = user.server()
        assert os.getpgid(server) != os.getpgid(os.getpid())
        assert os.getsid(server) != os.getsid(os.getpid())
        user.leave()
