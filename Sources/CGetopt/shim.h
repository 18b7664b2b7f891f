// getopt_long(3), whose results glibc leaves in global variables that Swift 6 doesn't let anybody read.
#ifndef VIDFETCH_CGETOPT_H
#define VIDFETCH_CGETOPT_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <getopt.h>
#include <stddef.h>

// One step of a parse: what getopt_long returned, and the globals as it left them.
typedef struct {
  int code;
  int next;       // optind: the word after those that were taken
  int option;     // optopt: the option that an error is about, 0 for an unknown long one
  char *argument; // optarg: points into the words
} vf_getopt_step;

// Forgets an earlier parse; 0 makes glibc read POSIXLY_CORRECT and the leading ':' anew.
static inline void vf_getopt_begin(void) {
  optind = 0;
  opterr = 0;
}

static inline vf_getopt_step vf_getopt_next(int count, char **words, const char *short_options,
                                            const struct option *long_options) {
  vf_getopt_step step;
  optarg = NULL;
  optopt = 0;
  step.code = getopt_long(count, words, short_options, long_options, NULL);
  step.next = optind;
  step.option = optopt;
  step.argument = optarg;
  return step;
}
#endif
