"""The confidence of one piece of evidence, from 0 to 1:

0.95  the scheduler itself waits for the file, or moves it
0.90  a program with known arguments reads or writes it, or it is the standard input of a job
0.80  a redirection in a command
0.70  an option with a suitable name (`--input`, `-o`) passes it to an unknown program
0.40  an argument of an unknown program; the direction is unknown
0.30  the standard output of a job
0.10  the name of a log, whatever the other evidence
"""

SCHEDULER, TOOL, REDIRECTION, OPTION, ARGUMENT, STD_OUT, LOG = 0.95, 0.9, 0.8, 0.7, 0.4, 0.3, 0.1
MIN_CONFIDENCE = 0.2  # of candidates that are kept or listed; lower values are logs
