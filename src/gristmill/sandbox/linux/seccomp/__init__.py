"""System-call filters: policy files, assembly, installation."""
