#ifndef VIDFETCH_CCURL_H
#define VIDFETCH_CCURL_H
#include <curl/curl.h>
#endif
