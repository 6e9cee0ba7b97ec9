# no answer: time, 180 s
# other processes used 65% of the computer meanwhile
