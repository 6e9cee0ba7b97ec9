# no answer: time, 180 s
# other processes used 80% of the computer meanwhile
