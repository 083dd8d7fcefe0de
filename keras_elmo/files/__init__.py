"""In and out of files."""
