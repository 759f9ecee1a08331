"""One file for each mistake: wrong loops, marked where a finding or note belongs, and right ones."""
