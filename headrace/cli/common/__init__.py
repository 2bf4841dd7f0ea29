"""What commands share: arguments, output, errors, launching."""
