# no answer: time, 180 s
# other processes used 68% of the computer meanwhile
