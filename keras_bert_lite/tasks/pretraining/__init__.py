"""Models of the pretraining objectives: BERT's, ALBERT's and ELECTRA's."""
