# ruff: noqa
# Wrong answers that learners write, each with what the verdict must say. Read as text by the tests.

# %% bytes-per-number: bytes-of-fp32
# says: You answered 4
# mistake: bytes-of-fp32
bytes_per_number = torch.tensor(1.0).element_size()

# %% bytes-per-number: bits
# says: You answered 16
# mistake: bits-not-bytes
bytes_per_number = torch.finfo(torch.float16).bits

# %% bytes-per-number: half-a-byte
# says: You answered 0.5
bytes_per_number = 8 / 16

# %% bytes-per-number: text
# says: '2 bytes'
bytes_per_number = "2 bytes"
