"""Removes folders of control groups: the kernel lets a folder go once the last process in it has ended."""

import os
from collections.abc import Iterable


def remove_groups(folders: Iterable[str]) -> bool:
    """Removes empty groups; returns False when one still holds processes."""
    done = True
    for folder in dict.fromkeys(folders):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            continue
        except OSError:
            done = False
    return done


def remove_group_trees(folders: Iterable[str]) -> bool:
    """Removes groups and the groups in them; returns False when one still holds processes."""
    done = True
    for folder in folders:
        try:
            inner = [entry.path for entry in os.scandir(folder) if entry.is_dir()]
        except FileNotFoundError:
            continue
        done = remove_groups([*inner, folder]) and done
    return done
