"""The tables of the store, as numbered migrations. A new store runs all of them, an older one those that it lacks.

A migration that was released never changes. One that changes what a column means renames the column: a process of an older
version that still runs then gets an error, and does not misread the store.
"""
