"""HTTP services that are described by an OpenAPI document."""
