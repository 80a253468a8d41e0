"""The identity of a store: a random text that is made once, by which a folder knows the store that it belongs to."""

import uuid

from gristmill.store.base import Store, Transaction

_NAME = "identity"


async def read_store_id(store: Store) -> str:
    """Returns the identity of ``store``, made if it has none yet."""

    def work(step: Transaction) -> str:
        rows = step.run("SELECT fact FROM store_facts WHERE name = ?", _NAME)
        if rows:
            return str(rows[0][0])
        made = uuid.uuid4().hex
        step.run("INSERT INTO store_facts (name, fact) VALUES (?, ?)", _NAME, made)
        return made

    return await store.change(work)
