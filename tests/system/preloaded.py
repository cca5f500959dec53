"""What the server of forked.py does once for all its children."""

import threading

from surefoot.report.page import template_environment
from tests.worlds import study

_pages = template_environment("surefoot.report")
for _name in _pages.list_templates():
    _pages.get_template(_name)  # compiled
_result = study().run(workers=1)
str(_result), _result.to_json()  # what reads and writes records, and puts them into words
assert threading.active_count() == 1, "a process with threads must not be forked"
