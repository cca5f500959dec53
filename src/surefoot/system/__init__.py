"""What the operating system and Python give: memory, whole files, text, code of the user."""
