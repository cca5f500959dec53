"""When an estimate stops and what it costs."""
