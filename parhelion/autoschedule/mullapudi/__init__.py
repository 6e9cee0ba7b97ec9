"""The scheduler of the 2016 paper (Mullapudi et al.), and the paper's comparisons."""
