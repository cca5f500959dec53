"""From evidence and what is known of a study to claims, requirements and verdicts."""
