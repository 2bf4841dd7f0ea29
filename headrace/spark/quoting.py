"""Names and texts in Spark's SQL."""


def quoted(name: str) -> str:
    """Quote a column name so that Spark reads it as one name."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Return SQL for a text by its bytes, since the meaning of backslashes in quotation marks depends on a Spark
    setting."""
    return f"CAST(X'{text.encode().hex()}' AS STRING)"
