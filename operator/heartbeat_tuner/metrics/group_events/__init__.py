"""What successive descriptions of a group show: members that joined, left, or came back.

Pure: descriptions and pods in, events with their certainty out. Who describes groups, and when, is not decided here.
"""
