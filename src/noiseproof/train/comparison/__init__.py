"""Several runs side by side: their configs, the processes or streams that train them, their table."""
