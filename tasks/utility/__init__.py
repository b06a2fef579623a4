"""What a user of the data keeps: figures of the input against the same figures of what is published."""
