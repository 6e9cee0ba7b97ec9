# no answer: time, 180 s
# other processes used 61% of the computer meanwhile
