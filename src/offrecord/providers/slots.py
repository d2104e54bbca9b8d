"""Which agent speaks in which slot of the engine.

An engine keeps the tokens of the last prompt in each slot, so an agent that comes back
to its own slot is charged for what is new only. llama.cpp takes a slot number that is
out of range without a word and picks some other slot; numbers therefore come from here
and from nowhere else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

import anyio


class SlotTable:
    """Gives each key one slot while slots last, then the slot that idled longest.

    A key's requests run one after the other in its slot: they share their prefix, and
    an engine on few cores decodes several slots hardly faster than one.

    Args:
        count: Number of slots, numbered from 0.
    """

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError("an engine has at least one slot")
        self._locks = [anyio.Lock() for _ in range(count)]
        self._users = [0] * count  # requests that hold a slot or wait for it
        self._by_use = list(range(count))  # the slot that idled longest first
        self._slot_of: dict[Hashable, int] = {}
        self._idle = anyio.Event()

    @asynccontextmanager
    async def hold(self, key: Hashable) -> AsyncIterator[int]:
        """Hold the key's slot alone; waits while every slot is another key's and busy.

        Args:
            key: Who asks, e.g. (run, agent).
        """
        slot = self._find(key)
        while slot is None:
            await self._idle.wait()
            slot = self._find(key)
        self._users[slot] += 1
        try:
            async with self._locks[slot]:
                self._by_use.remove(slot)
                self._by_use.append(slot)
                yield slot
        finally:
            self._users[slot] -= 1
            if not self._users[slot]:
                self._idle.set()
                self._idle = anyio.Event()

    def _find(self, key: Hashable) -> int | None:
        if key in self._slot_of:
            return self._slot_of[key]
        slot = next((slot for slot in self._by_use if not self._users[slot]), None)
        if slot is not None:
            self._slot_of = {k: s for k, s in self._slot_of.items() if s != slot}
            self._slot_of[key] = slot
        return slot
