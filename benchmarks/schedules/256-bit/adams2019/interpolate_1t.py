# no answer: time, 180 s
# other processes used 85% of the computer meanwhile
