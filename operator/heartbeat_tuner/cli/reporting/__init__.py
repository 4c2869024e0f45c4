"""What `report` gathers: `fleet_members` reads the sources and knows each group's facts, the others make its values.

`group_entries` puts a group's values together, of its model (`model_curves`), its metrics (`metric_timelines`), its
policy (`policy_entries`) and what to paste (`snippets`).
"""
