"""What the commands do; `keras_bert_lite_command.py` has their arguments."""
