"""Reference apps: real tool servers over generated records, and the tasks that are measured on them. Not part of the wheel."""
