"""Groups of the consumer protocol (KIP-848): session and heartbeat are the group's, at the broker. Pure.

`group_values` says which session such a group should have, `write_holds` why it may not be written now, and
`last_write` what became of a write. The steps and gates that ask are where all others are.
"""
