"""A content-addressed cache of results, to make no run twice."""
