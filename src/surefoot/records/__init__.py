"""What is kept of a study: its spec, its record, requirements and examples, and their JSON."""
