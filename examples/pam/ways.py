"""Distances on the globe, as roads make them."""

import math

ROAD = 1.25
"""Roads wind: miles driven per mile as the crow flies."""
MILES_PER_HOUR = 52.0


def miles(lat: float, lon: float, other_lat: float, other_lon: float) -> float:
    """Miles to drive between two places."""
    first, second, between = math.radians(lat), math.radians(other_lat), math.radians(other_lon - lon)
    cosine = math.sin(first) * math.sin(second) + math.cos(first) * math.cos(second) * math.cos(between)
    return round(3958.8 * math.acos(max(-1.0, min(1.0, cosine))) * ROAD, 1)
