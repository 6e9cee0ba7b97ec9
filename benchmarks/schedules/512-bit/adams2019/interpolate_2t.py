# no answer: time, 180 s
# other processes used 86% of the computer meanwhile
