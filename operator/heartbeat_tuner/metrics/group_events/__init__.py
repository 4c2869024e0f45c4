"""What successive descriptions of a classic group show: members that joined, left, or came back under a new id.

Pure: descriptions and pods in, events with their certainty out. Who describes groups, and when, is not decided here.
"""
