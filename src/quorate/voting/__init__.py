"""Skills or confusion matrices -> scores -> posterior, labels and ties; the models that are fitted by EM."""
