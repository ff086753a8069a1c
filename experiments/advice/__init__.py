"""What advice on the next answers brings."""
