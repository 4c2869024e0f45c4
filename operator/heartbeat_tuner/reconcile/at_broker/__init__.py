"""What a decision asks for at the broker, carried out and reported: `group_writer` writes, `group_reports` says it."""
