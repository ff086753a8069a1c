"""Self-contained HTML pages about answers, rankings and ratings, for managers of annotators."""
