# no answer: memory, 16 GB
# other processes used 73% of the computer meanwhile
