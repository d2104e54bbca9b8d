"""A scenario: a question with two decision labels, roles and relational contexts."""
