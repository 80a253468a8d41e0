"""What is shipped to run the service: checked by its validators, and tried out as far as one machine can."""
