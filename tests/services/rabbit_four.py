"""RabbitMQ 4.0 for tests, beside whatever the machine has: Debian 13's package in a folder of its own.

Made once, as root on Debian or Ubuntu, by debootstrap. Each node runs in that folder with mounts that are its own and
gone with it, so that any number of nodes share the folder.
"""

import os
import shutil
import subprocess
from pathlib import Path

from tests.services.rabbit import Node, Unavailable

GET_IT = "./longhaul test, as root on Debian or Ubuntu, or name one with --rabbitmq4 URL"

_RELEASE = "trixie"
_MIRROR = "http://deb.debian.org/debian"
_SEEN = Path("/longhaul")
#: $0 is the folder with the system, $1 the node's own, the rest the command.
_ENTER = (
    'mount --rbind /dev "$0/dev"; mount --rbind /proc "$0/proc"; '
    f'mount --bind "$1" "$0{_SEEN}"; shift; exec chroot "$0" "$@"'
)


def folder() -> Path:
    """The system that holds it, made or to be made."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"  # noqa: TID251  the tests' own cache
    return Path(cache) / "longhaul" / "rabbitmq-4.0"


def is_made() -> bool:
    """Whether nodes can be started."""
    return folder().is_dir()


def may_be_made() -> bool:
    """Whether this user on this system can make it."""
    return shutil.which("apt-get") is not None and os.geteuid() == 0


def make() -> None:
    """Make it; takes a minute or two. Raises Unavailable with what went wrong."""
    half = folder().with_suffix(".making")
    shutil.rmtree(half, ignore_errors=True)
    half.parent.mkdir(parents=True, exist_ok=True)
    if shutil.which("debootstrap") is None:
        _run("apt-get", "update", "-qq")
        quietly = ("env", "DEBIAN_FRONTEND=noninteractive")
        needed = ("debootstrap", "debian-archive-keyring")
        _run(*quietly, "apt-get", "install", "--yes", "-qq", "--no-install-recommends", *needed)
    keys = "--keyring=/usr/share/keyrings/debian-archive-keyring.gpg"
    _run("debootstrap", "--variant=minbase", keys, "--include=rabbitmq-server", _RELEASE, str(half), _mirror())
    shutil.rmtree(half / "var/cache/apt", ignore_errors=True)
    (half / _SEEN.name).mkdir()
    half.rename(folder())


class FourNode(Node):
    """A node of RabbitMQ 4.0."""

    def command(self, name: str) -> tuple[str, ...]:
        """The program, entered through mounts of its own."""
        if not is_made():
            raise Unavailable("RabbitMQ 4.0 was not made here")
        places = ("usr/lib/rabbitmq/bin", "usr/bin")
        program = next(f"/{place}/{name}" for place in places if (folder() / place / name).exists())
        private = ("unshare", "--mount", "--propagation", "private")
        return (*private, "sh", "-euc", _ENTER, str(folder()), str(self.folder), program)

    def seen_folder(self) -> Path:
        """Where it is mounted."""
        return _SEEN


def _mirror() -> str:
    """The mirror this machine uses, where it is one of Debian's; Ubuntu's have no Debian."""
    for source in sorted(Path("/etc/apt").glob("sources.list*")):
        files = sorted(source.iterdir()) if source.is_dir() else [source]
        for file in files:
            for word in file.read_text(errors="replace").split():
                if word.startswith(("http://", "https://")) and word.rstrip("/").endswith("/debian"):
                    return word
    return _MIRROR


def _run(*command: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise Unavailable(f"RabbitMQ 4.0 could not be made: {said[-1] if said else command[0]}")
