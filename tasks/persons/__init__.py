"""Tables with several records of a person: whom each equivalence class counts, and under which value."""
