"""The intermediate representation: nodes, how to build, walk and print them."""
