/* Runs a SavedModel on strings with TensorFlow's C++ runtime, without Python.

     run_saved_model DIRECTORY INPUT OUTPUT [LIBRARY ...] < TEXTS

   INPUT and OUTPUT name tensors (serving_default_text:0), each LIBRARY is a shared
   object with further operations. Reads one text a line, prints one row a line. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

enum { MOST_TEXTS = 10000 };

static TF_Status *status;

static void check(const char *what) {
  if (TF_GetCode(status) == TF_OK) return;
  fprintf(stderr, "%s: %s\n", what, TF_Message(status));
  exit(1);
}

static TF_Output find(TF_Graph *graph, const char *name) {
  const char *colon = strrchr(name, ':');
  char *operation = strndup(name, colon ? colon - name : strlen(name));
  TF_Output output = {TF_GraphOperationByName(graph, operation),
                      colon ? atoi(colon + 1) : 0};
  free(operation);
  if (output.oper) return output;
  fprintf(stderr, "no tensor %s\n", name);
  exit(1);
}

static TF_Tensor *read_texts(void) {
  static TF_TString texts[MOST_TEXTS];
  int64_t count = 0;
  char *line = NULL;
  size_t room = 0;
  ssize_t length;
  while (count < MOST_TEXTS && (length = getline(&line, &room, stdin)) >= 0) {
    if (length && line[length - 1] == '\n') length--;
    TF_StringInit(&texts[count]);
    TF_StringCopy(&texts[count++], line, length);
  }
  free(line);
  TF_Tensor *tensor =
      TF_AllocateTensor(TF_STRING, &count, 1, count * sizeof(TF_TString));
  /* The tensor takes over what the strings hold. */
  memcpy(TF_TensorData(tensor), texts, count * sizeof(TF_TString));
  return tensor;
}

static void print_rows(const TF_Tensor *tensor) {
  int64_t rows = TF_Dim(tensor, 0), values = TF_TensorElementCount(tensor);
  for (int64_t i = 0; i < values; i++) {
    if (TF_TensorType(tensor) == TF_STRING) {
      const TF_TString *text = (const TF_TString *)TF_TensorData(tensor) + i;
      fwrite(TF_StringGetDataPointer(text), 1, TF_StringGetSize(text), stdout);
    } else {
      printf("%.9g", ((const float *)TF_TensorData(tensor))[i]);
    }
    putchar((i + 1) % (values / rows) ? ' ' : '\n');
  }
}

int main(int count, char **arguments) {
  if (count < 4) {
    fprintf(stderr, "%s DIRECTORY INPUT OUTPUT [LIBRARY ...]\n", arguments[0]);
    return 2;
  }
  status = TF_NewStatus();
  for (int i = 4; i < count; i++) {
    TF_LoadLibrary(arguments[i], status);
    check(arguments[i]);
  }
  const char *tags[] = {"serve"};
  TF_Graph *graph = TF_NewGraph();
  TF_Session *session =
      TF_LoadSessionFromSavedModel(TF_NewSessionOptions(), NULL, arguments[1], tags, 1,
                                   graph, NULL, status);
  check(arguments[1]);
  TF_Output input = find(graph, arguments[2]), output = find(graph, arguments[3]);
  TF_Tensor *texts = read_texts(), *answer = NULL;
  TF_SessionRun(session, NULL, &input, &texts, 1, &output, &answer, 1, NULL, 0, NULL,
                status);
  check(arguments[3]);
  print_rows(answer);
  return 0;
}
