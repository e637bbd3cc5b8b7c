from keras_bert_lite._progress_bar import progress_bar


def test_a_log_file_shows_the_end_of_a_known_total_alone(capsys):
    for total in (2, None):
        bar = progress_bar(total)
        bar.update(1)
        bar.update(2, finalize=True)
    assert capsys.readouterr().out.count("2/2") == 1
