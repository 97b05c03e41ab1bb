"""JSON pointers, and where the references of one document lead."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

#: References that only lead to references; real documents chain two or three.
_MAX_HOPS = 20


def step(pointer: str, *keys: str | int) -> str:
    """The pointer of a value below `pointer` (RFC 6901)."""
    return pointer + "".join(f"/{str(key).replace('~', '~0').replace('/', '~1')}" for key in keys)


def keys_of(pointer: str) -> list[str]:
    """The keys a pointer leads through."""
    return [key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:]]


def below(value: Any, key: str) -> Any:
    """What stands under `key` in an object or list; None where nothing does."""
    if isinstance(value, dict):
        return value.get(key)
    if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
        return value[int(key)]
    return None


def at(root: Any, pointer: str) -> Any:
    """What stands at a pointer; None where nothing does."""
    for key in keys_of(pointer):
        root = below(root, key)
    return root


def reference(node: Any) -> str | None:
    """The `$ref` of a node, if it is one; a property named `$ref` is none."""
    target = node.get("$ref") if isinstance(node, dict) else None
    return target if isinstance(target, str) else None


def component_of(pointer: str) -> str:
    """`Pet` for everything in `/components/schemas/Pet` or `/definitions/Pet`, empty for what stands inline."""
    match keys_of(pointer):
        case ["components", _, name, *_] | ["definitions" | "parameters" | "responses", name, *_]:
            return name
        case _:
            return ""


@dataclass(frozen=True, slots=True)
class Target:
    """A node, and the pointer of where it is written."""

    node: dict[str, Any]
    pointer: str


@dataclass
class References:
    """Resolves what points into the document, and remembers what does not."""

    root: dict[str, Any]
    outside: dict[str, None] = field(default_factory=dict)
    broken: dict[str, None] = field(default_factory=dict)
    _known: dict[str, Target | None] = field(default_factory=dict)

    def resolve(self, ref: str) -> Target | None:
        """Where a reference leads in one step; None when that is outside the document or no object."""
        if ref not in self._known:
            self._known[ref] = self._look_up(ref)
        return self._known[ref]

    def follow(self, node: Any, pointer: str) -> Target | None:
        """The first node on the way that is no reference; None where the way ends, or never does."""
        *_, last = self.trail(node, pointer)
        return last

    def trail(self, node: Any, pointer: str) -> Iterator[Target | None]:
        """Every node on the way of references, the given one first; None last where the way does not arrive."""
        here = Target(node, pointer) if isinstance(node, dict) else None
        yield here
        for _ in range(_MAX_HOPS):
            ref = reference(here.node) if here else None
            if ref is None:
                return
            here = self.resolve(ref)
            yield here
        yield None

    def _look_up(self, ref: str) -> Target | None:
        if not ref.startswith("#"):
            self.outside[ref] = None
            return None
        for keys in (keys_of(ref), [unquote(key) for key in keys_of(ref)], keys_of(unquote(ref))):
            node: Any = self.root
            for key in keys:
                node = below(node, key)
            if isinstance(node, dict) and (keys or ref == "#"):
                return Target(node, step("", *keys))
        self.broken[ref] = None
        return None
