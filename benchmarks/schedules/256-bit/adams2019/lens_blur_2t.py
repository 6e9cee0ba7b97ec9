# no answer: time, 180 s
# other processes used 83% of the computer meanwhile
