"""What an execution answers: the report masked, shortened and explained."""
