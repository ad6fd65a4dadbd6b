"""The ways of capturing a program: each gives a Graph and knows no back-end."""
