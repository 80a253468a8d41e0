"""Pages for people at ``/dashboard``: a static bundle over the public HTTP API, with no way of its own into the runtime."""
