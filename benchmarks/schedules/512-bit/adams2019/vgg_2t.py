# no answer: memory, 16 GB
