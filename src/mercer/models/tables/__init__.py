"""Features of tables: columns of any kind as numbers, codes and words."""
