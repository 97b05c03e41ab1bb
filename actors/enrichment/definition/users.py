"""Which operations use which part of a document: a text written to a shared component speaks for all of them (D11)."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Any

from actors.enrichment.definition.refs import References, reference, step
from actors.enrichment.definition.walking import operation_id, operations_of
from schema.enrichment.inventory import operation_key


class Users:
    """The operations below whose references a place can be reached. Sets of operations are bits of one integer."""

    def __init__(self, root: dict[str, Any], references: References) -> None:
        self._references = references
        self._bits: dict[str, int] = {}
        self._using: dict[str, int] = defaultdict(int)
        self._referred: dict[str, frozenset[str]] = {}
        for operation in operations_of(root, references):
            bit = 1 << len(self._bits)
            self._bits[operation_key(operation.method, operation.path, operation_id(operation.node))] = bit
            self._using[operation.pointer] |= bit
            self._follow(operation.node, bit)
            for item, pointer in operation.items:
                self._using[step(pointer, "parameters")] |= bit
                self._follow(item.get("parameters"), bit)
        self._spread()

    def mask(self, keys: Collection[str]) -> int:
        """The bits of these operations."""
        bits = 0
        for key in keys:
            bits |= self._bits.get(key, 0)
        return bits

    def of(self, pointer: str, *, beside: int = 0) -> list[str]:
        """The keys of the operations that use what stands at `pointer`, but those in `beside`, in document order."""
        using = self._using_of(pointer) & ~beside
        return [key for key, bit in self._bits.items() if using & bit] if using else []

    def _using_of(self, pointer: str) -> int:
        using, end = 0, len(pointer)
        while end > 0:
            using |= self._using.get(pointer[:end], 0)
            end = pointer.rfind("/", 0, end)
        return using

    def _follow(self, node: Any, bit: int) -> None:
        for target in self._targets(node):
            self._using[target] |= bit

    def _spread(self) -> None:
        """What is referred to from a used place is used too, until nothing changes."""
        waiting = list(self._using)
        while waiting:
            place = waiting.pop()
            bits = self._using[place]
            for target in self._referred_from(place):
                if self._using[target] | bits != self._using[target]:
                    self._using[target] |= bits
                    waiting.append(target)

    def _referred_from(self, pointer: str) -> frozenset[str]:
        if pointer not in self._referred:
            target = self._references.resolve(f"#{pointer}")
            self._referred[pointer] = self._targets(target.node) if target else frozenset()
        return self._referred[pointer]

    def _targets(self, node: Any) -> frozenset[str]:
        resolved = (self._references.resolve(ref) for ref in _references_in(node))
        return frozenset(target.pointer for target in resolved if target)


def _references_in(node: Any) -> Iterator[str]:
    stack = [node]
    while stack:
        here = stack.pop()
        if isinstance(here, dict):
            ref = reference(here)
            if ref is not None:
                yield ref
            stack += here.values()
        elif isinstance(here, list):
            stack += here
