"""The commands; `keras_bert_lite_command.py` defines their arguments."""
