"""Who met whom, how often they agreed, and what that determines."""
