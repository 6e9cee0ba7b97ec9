# no answer: time, 180 s
