# Reference answers of lesson 00. Read as text by solution(); lessons and checks never import this file.

# %% bytes-per-number
bytes_per_number = 2
