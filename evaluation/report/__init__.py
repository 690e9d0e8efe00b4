"""What is shown of an evaluation: the page, its tables and rankings, and tables for terminals and papers."""
