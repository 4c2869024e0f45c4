"""No further change of values begins where those before it harmed many groups, until a person resumes."""
