"""Lists words that are certainly not personal: words of field names, and words for states."""

import re

_FIELD_WORDS = frozenset(
    """
    id ids uid uuid guid key keys name names title label labels tag tags type kind class category status state
    code codes url uri href link links path paths file files folder dir directory filename extension mime size
    bytes length width height count total sum avg average min max mean median limit offset page pages cursor
    next previous prev first last has more created updated modified deleted published started finished completed
    expires at on date time timestamp datetime day days month year hour hours minute minutes second seconds ms
    duration start end begin until since timezone zone description summary text body content message messages
    comment comments note notes subject value values default data email phone address street city country region
    zip postal lat lon latitude longitude location user users owner author account customer company organization
    org team group groups member members role roles person full given family nick price amount cost currency
    quantity qty unit units tax discount rate score rank rating percent percentage balance version revision hash
    sha ref branch commit repo repository project issue issues number index position order row rows column
    columns table schema database query result results item items entry entries list records record node nodes
    edge parent child children root source target from to input output request response headers header method
    params options config settings metadata meta info details error errors warning warnings reason success ok
    valid enabled disabled active public private is was can read write open closed locked archived visible level
    priority severity color format language locale lang model token tokens session host port domain ip server
    client device platform os browser agent image images icon avatar thumbnail video audio media width alt
    caption
    """.split()
)
_STATE_WORDS = frozenset(
    """
    open opened closed merged active inactive pending done todo doing complete completed incomplete failed
    failure success succeeded successful error running queued waiting blocked canceled cancelled skipped started
    stopped paused resumed finished new draft published archived deleted removed enabled disabled online offline
    up down available unavailable ready busy idle unknown none default other in out progress review approved
    rejected accepted declined resolved unresolved confirmed invalid valid expired sent received delivered read
    unread paid unpaid refunded partial partially not on off yes no true false ok low medium normal high higher
    highest lower lowest critical urgent major minor trivial info warning debug trace fatal notice public
    private internal external protected shared hidden visible file directory folder symlink link text image
    audio video json xml html csv markdown string integer number boolean array object null float date datetime
    user bot organization team group admin owner member guest asc desc ascending descending get post put patch
    delete head options read write create update issue pull request commit branch tag
    """.split()
)
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def has_field_word(name: str) -> bool:
    """Returns whether ``name`` contains a word that is common in field names; ``alice`` and ``bob`` do not."""
    return any(part.lower() in _FIELD_WORDS for part in _PARTS.findall(name))


def is_state_text(value: str) -> bool:
    """Returns whether ``value`` consists only of words for states and kinds, such as ``in_progress``."""
    parts = re.split(r"[ _-]", value)
    return len(value) <= 40 and all(part.isascii() and part.lower() in _STATE_WORDS for part in parts)
